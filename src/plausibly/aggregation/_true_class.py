r"""Models of labels under which every case has one true class: their posterior, and what cases share in it.

Under such a model annotators differ because some of them err, not because the case is ambiguous. The plausibility of a
class is the probability that it is the true one, given the labels of the case and one draw of what cases share (how
common classes are, how each annotator errs). It tends to 0 or 1 as labels are added, also where annotators go on
disagreeing. The attribute ``assumes`` of the posterior says so.

What cases share is sampled once, from all of them. Given its draws, cases are independent, so they come in shards.
"""

import json
from dataclasses import replace
from typing import Any

from plausibly._arviz import Posterior, from_groups, to_groups
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.aggregation._arguments import Settled
from plausibly.aggregation._shared_draws import Keeper, SharedDraws, labels_of_cases, names_of, sample_shared
from plausibly.annotations import Annotations, Slots
from plausibly.diagnostics import convergence
from plausibly.inference import class_probabilities
from plausibly.model import TrueClass
from plausibly.posterior import ONE_TRUE_CLASS, build_posterior


def draw_shared(
    settled: Settled,
    sampler: TrueClass,
    annotations: Annotations,
    *,
    seed: int,
    progress: bool,
    scheduler: Any = None,
    keeper: Keeper | None = None,
) -> SharedDraws:
    """Sample what all cases share; arguments as of :func:`sample_shared`."""
    settings = {name: settled.arguments[name] for name in ("draws", "chains", "warmup")}
    evidence = settled.evidence
    labels, names = labels_of_cases(annotations.annotated, sampler, evidence), names_of(annotations, evidence)
    with Progress(progress) as bars:
        settings |= {"seed": seed, "progress": bars, "scheduler": scheduler, "keeper": keeper}
        found = sample_shared(settled.model, sampler, labels, names, engine=settled.engine, **settings)
    return replace(found, evidence=evidence, log_prevalence=labels.log_prevalence)


def infer_true_class(
    annotations: Annotations,
    settled: Settled,
    sampler: TrueClass,
    shared: SharedDraws,
    *,
    seed: int,
    quantities: int,
    progress: bool,
) -> Posterior:
    """Infer the true class of cases, all or some of those that ``shared`` was sampled from.

    ``quantities`` is the number of plausibilities that are judged together.
    """
    labels, slots = shared.labels_of(annotations), Slots.of_every_class(annotations.n_cases, annotations.n_classes)
    described = settled.describe(seed) | {"assumes": ONE_TRUE_CLASS}
    if settled.evidence is not None:
        described["evidence"] = json.dumps(settled.evidence.describe() | {"method": settled.engine})
    found, log_probability = class_probabilities(sampler, labels, shared.values)
    plausibility = found.reshape(*found.shape[:2], -1)
    with Progress(progress) as bars:
        diagnosed = convergence(plausibility, slots, None, quantities=quantities, progress=bars)
    diagnosed["converged"] &= shared.converged_cases(labels)
    diagnosed.attrs["shared"] = "shared parameters"
    described["converged"] = f"{int(diagnosed['converged'].sum())} of {annotations.n_cases} cases"
    described["thinning"] = sampler.thinning if settled.engine == "gibbs" else 1
    posterior = build_posterior(
        plausibility,
        annotations,
        slots,
        point=plausibility.mean((0, 1)),
        concentration=0.0,
        sample_stats={"lp": log_probability},
        convergence=diagnosed,
        attrs=described,
    )
    release_memory()
    return from_groups(
        to_groups(posterior) | {"shared_convergence": shared.judged.drop_vars("annotator")}, posterior.attrs
    )


def with_shared(posterior: Posterior, shared: SharedDraws) -> Posterior:
    """Add the draws of what cases share to a posterior in memory."""
    groups = to_groups(posterior)
    variables = {name: (("chain", "draw", *shared.dims[name]), values) for name, values in shared.values.items()}
    used = {dim for dims in shared.dims.values() for dim in dims}
    names = {dim: values for dim, values in shared.names.items() if dim in used}
    groups["posterior"] = groups["posterior"].assign(variables).assign_coords(names)
    return from_groups(groups, posterior.attrs)

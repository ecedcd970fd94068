r"""Models of labels under which every case has one true class: their posterior, and what cases share in it.

Under such a model annotators differ because some of them err, not because the case is ambiguous. The plausibility of a
class is the probability that it is the true one, given the labels of the case and one draw of what cases share (how
common classes are, how each annotator errs). It tends to 0 or 1 as labels are added, also where annotators go on
disagreeing. The attribute ``assumes`` of the posterior says so.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from plausibly._arviz import Posterior, from_groups, to_groups
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.aggregation._arguments import ASSUMES, Settled
from plausibly.annotations import Annotations, Slots
from plausibly.case import LabelledCases
from plausibly.diagnostics import convergence, judge
from plausibly.inference import class_probabilities, sample_shared
from plausibly.model import Model
from plausibly.posterior import build_posterior


def every_class(annotations: Annotations) -> Slots:
    """Slots of all classes in every case, since an unnamed class may be the true one and is not exchangeable."""
    n, k = annotations.n_cases, annotations.n_classes
    case, class_index = np.divmod(np.arange(n * k, dtype=np.int64), k)
    return Slots(case.astype(np.int32), class_index.astype(np.int32), np.ones(n * k, np.int32), k * np.arange(n + 1))


def infer_true_class(annotations: Annotations, settled: Settled, *, seed: int, progress: bool) -> Posterior:
    """What :func:`aggregate` does to labels by a model of one true class."""
    model, arguments = settled.model, settled.arguments
    labels, slots = LabelledCases.of(annotations), every_class(annotations)
    settings = {name: arguments[name] for name in ("draws", "chains", "warmup")}
    described = settled.describe(seed) | {"assumes": ASSUMES}
    assert model.true_class is not None
    with Progress(progress) as bars:
        shared, trajectories = sample_shared(
            model, labels, engine=settled.engine, **settings, seed=int(seed), progress=bars
        )
        found, log_probability = class_probabilities(model, labels, shared)
        plausibility = found.reshape(*found.shape[:2], -1)
        judged = judge_shared(model, shared, annotations, trajectories, bars)
        diagnosed = convergence(plausibility, slots, None, progress=bars)
    good = judged["converged"].values
    by_annotator = judged["annotator"].values
    diagnosed["converged"] &= good[by_annotator < 0].all()
    of_annotator = np.ones(len(annotations.annotators), bool)
    np.logical_and.at(of_annotator, by_annotator[by_annotator >= 0], good[by_annotator >= 0])
    each = of_annotator[annotations.annotation_annotator]
    diagnosed["converged"] &= np.logical_and.reduceat(each, annotations.case_start[:-1])
    diagnosed.attrs["shared"] = "what cases share"
    described["converged"] = f"{int(diagnosed['converged'].sum())} of {annotations.n_cases} cases"
    described["thinning"] = model.true_class.thinning if settled.engine == "gibbs" else 1
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
    groups = to_groups(posterior)
    variables = {
        name: (("chain", "draw", *dims), shared[name].astype(np.float32))
        for name, dims in model.true_class.sites.items()
    }
    groups["posterior"] = groups["posterior"].assign(variables).assign_coords(_names(annotations))
    groups["shared_convergence"] = judged.drop_vars("annotator")
    release_memory()
    return from_groups(groups, posterior.attrs)


def _names(annotations: Annotations) -> dict[str, np.ndarray]:
    classes = annotations.classes
    return {"annotator": annotations.annotators, "true_class": classes, "named_class": classes}


def judge_shared(
    model: Model,
    shared: Mapping[str, np.ndarray],
    annotations: Annotations,
    trajectories: Mapping[str, np.ndarray],
    progress: Progress,
) -> xr.Dataset:
    """Convergence of what cases share; of the confusion matrices of single annotators, the diagonals.

    ``annotator`` is whose a quantity is, −1 if it is everybody's.
    """
    assert model.true_class is not None
    names, quantities, columns, whose = _names(annotations), [], [], []
    for site, dims in model.true_class.sites.items():
        draws = shared[site]
        if len(dims) == 3:
            draws = np.diagonal(draws, axis1=-2, axis2=-1)
        for at in np.ndindex(draws.shape[2:]):
            place = (*at, at[-1]) if len(dims) == 3 else at
            of = ", ".join(str(names[dim][i]) for dim, i in zip(dims, place, strict=True))
            quantities.append(f"{site} of {of}" if of else site)
            whose.append(at[dims.index("annotator")] if "annotator" in dims else -1)
        columns.append(draws.reshape(*draws.shape[:2], -1))
    joined = np.concatenate(columns, axis=-1)
    r_hat, bulk, tail, good = judge(joined, progress=progress, what="shared quantities")
    values: dict[str, Any] = {"r_hat": r_hat, "ess_bulk": bulk, "ess_tail": tail, "annotator": np.array(whose)}
    if trajectories:
        diverging = int(trajectories["diverging"].sum())
        values["n_diverging"] = np.full(len(good), diverging)
        good = good & (diverging == 0)
    values["converged"] = good
    return xr.Dataset(
        {name: ("quantity", column) for name, column in values.items()},
        {"quantity": np.array(quantities, str)},
        {"chains": joined.shape[0], "quantities": len(quantities)},
    )

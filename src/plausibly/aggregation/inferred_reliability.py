r"""Reliability inferred, for the data set or for every annotator, together with the plausibilities of all cases.

Under ``mode="temper"`` annotators draw with weights :math:`\lambda^\gamma`, and :math:`\gamma` can have a prior; the
program is :func:`plausibly.models.tempered_plackett_luce`. Under ``mode="power"`` it cannot: the likelihood to a power
is not a probability of the annotations, and what it lacks to one depends on :math:`\gamma`.

What is identified
------------------
Annotations show :math:`\lambda^\gamma`, not :math:`\lambda` and :math:`\gamma`. The level of :math:`\gamma` therefore
rests on the prior of the plausibilities: with concentration :math:`\alpha`, they are known to be spread so far and no
further, and :math:`\gamma` says how much further the annotators' choices are. Double the concentration, and the
reliability inferred rises. Ratios of annotators' reliabilities rest on the annotations alone: an annotator is the more
reliable, the more she agrees with what the others find plausible; one who ranks at random has a reliability near 0.

How much an annotator's own annotations decide is her **shrinkage**: the posterior variance of her deviation
:math:`(\log \gamma_r - \log \gamma) / \tau`, whose prior variance is 1. At 1, nothing is known of her but that she is
an annotator; at 0, all annotators' reliability tells nothing about hers.
"""

import json
from inspect import signature
from numbers import Real
from typing import Literal

import numpy as np
from jaxtyping import Float

from plausibly.aggregation._arguments import check_kind, check_setting
from plausibly.aggregation._judged import judged
from plausibly.aggregation.layout import point_estimate
from plausibly.aggregation.registry import AnyModel, find_model
from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.base.checks import check_seed
from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.base.fingerprint import versions_text
from plausibly.base.memory import release_memory
from plausibly.base.progress import Progress
from plausibly.base.random_streams import case_keys
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.annotations.by_case import check_annotated
from plausibly.families import SharedDraws
from plausibly.families.model import Model
from plausibly.families.settled import declaration
from plausibly.inference import LEAPS, Prior, Program, bucket_cases, log_likelihood, plan_shapes, sample_jointly
from plausibly.models import MODELS
from plausibly.posterior import build_posterior
from plausibly.posterior.diagnostics import convergence

_PER, _UNRANKED = ("dataset", "annotator"), ("lumped", "exact", "ignore")
_OPTIONS = ("per", "unranked", "concentration", "prior", "spread")  # that tell posteriors apart
WORTH = 2e4  #: padding that compiling for one shape less is worth, see :mod:`plausibly.inference._shapes`


@judged
def infer_reliability(
    annotations: Annotations,
    model: AnyModel = "plackett-luce",
    *,
    per: Literal["dataset", "annotator"] = "dataset",
    mode: Literal["temper"] = "temper",
    unranked: Literal["lumped", "exact", "ignore"] = "lumped",
    concentration: float = 1.0,
    prior: tuple[float, float] = (0.0, 1.5),
    spread: float = 1.0,
    same_positions: bool = False,
    draws: int = 250,
    chains: int = 4,
    warmup: int = 1000,
    seed: int = 0,
    progress: bool = True,
) -> Posterior:
    r"""Infer how reliable annotators are, together with the plausibilities of every case.

    Parameters
    ----------
    annotations
        N cases over K classes; annotators may tie classes, and may be missing in cases.
    model
        Model whose annotators draw with weights :math:`\lambda^\gamma`; only Plackett-Luce is available.
    per
        One reliability for the data set, or one for each annotator, pooled partially:
        :math:`\log \gamma_r \sim \mathrm{Normal}(\log \gamma, \tau)`.
    mode
        Meaning of reliability: ``"temper"``, the only one in which reliability can have a prior.
    unranked
        Prior for the unnamed classes of a case, which compete as one class with weight :math:`\lambda^\gamma`: the
        prior of one class (``"lumped"``) or of all of them (``"exact"``). With ``"ignore"`` they are left out.
    concentration
        Prior concentration :math:`\alpha` of each class. The inferred level of reliability depends on it; see
        :mod:`plausibly.aggregation.inferred_reliability`.
    prior
        Mean and standard deviation of :math:`\log \gamma`. By default 90 % of the prior is between 0.08 and 12. The
        prior is cut off at 1,000, above which single precision cannot distinguish reliabilities.
    spread
        Scale of the half-normal prior of :math:`\tau`.
    same_positions
        Whether unnamed annotators at the same position are the same person in every case: the first annotator of one
        case is the first of every other case, and so on.
    draws, chains, warmup
        Number of draws kept per chain, number of chains, and number of warm-up rounds per chain. A round is one
        trajectory for every case and a few moves of the reliabilities; every eighth round is kept, or every tenth with
        a reliability per annotator.
    seed
        Random seed.
    progress
        Whether to show progress.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        Posterior as from :func:`plausibly.aggregate`, which :func:`plausibly.evaluate` accepts, with the additional
        variable ``reliability`` (chain, draw) and, with a reliability per annotator, ``annotator_reliability`` (chain,
        draw, annotator) and ``spread``, :math:`\tau`. A case has converged if its plausibilities, the reliability and
        the reliabilities of its annotators have converged; the group ``reliability_convergence`` has the diagnostics of
        the reliabilities.

    Raises
    ------
    ArgumentError
        If an argument is out of range.
    AnnotationError
        If ``per="annotator"``, but the annotations do not name their annotators.

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 2.3, for
    reliability; Yu & Meng (2011), To center or not to center, Journal of Computational and Graphical Statistics 20, for
    the sampler.

    Examples
    --------
    >>> from plausibly.datasets import simulate_annotators
    >>> annotations = simulate_annotators(8, [2.0] * 4, n_classes=3).annotations
    >>> posterior = infer_reliability(annotations, draws=10, chains=2, warmup=0, progress=False)
    >>> dict(posterior["posterior"]["reliability"].sizes)
    {'chain': 2, 'draw': 10}
    """
    declared = check_inferable(model, mode)
    check_kind(declared, annotations)
    check_annotated(annotations)
    _check(per, unranked, concentration, prior, spread)
    settings = {"draws": draws, "chains": chains, "warmup": warmup}
    settings = {name: check_setting(name, value) for name, value in settings.items()}
    check_seed(seed)
    by_annotator = per == "annotator"
    if by_annotator and annotations.anonymous and not same_positions:
        raise AnnotationError(
            "per='annotator' needs to know who gave each annotation, but the annotators of these are anonymous: '1' "
            "of one case need not be '1' of another. Name them in the file, or pass same_positions=True if annotators "
            "with the same name are the same person."
        )
    slots = Slots.of(annotations, remainder=unranked != "ignore")
    shape = np.where(slots.is_remainder & (unranked == "exact"), slots.n_classes, 1) * float(concentration)
    keys = case_keys(int(seed), annotations.cases)
    annotators = annotations.annotators
    with Progress(progress) as bars:
        layout = {"pooled": not by_annotator, "fit": "apart" if by_annotator else "merged"}
        shapes = plan_shapes(annotations, slots, worth=WORTH, **layout)
        buckets = bucket_cases(annotations, slots, shape, shapes=shapes, **layout)
        found = sample_jointly(
            declared.joint,
            buckets,
            annotations.annotation_annotator if by_annotator else None,
            len(annotators) if by_annotator else 0,
            Prior(*map(float, prior), float(spread)),
            seed=int(seed),
            progress=bars,
            **settings,
        )
        by_chain = settings["chains"], settings["draws"]
        plausibility = np.empty((*by_chain, len(slots)), np.float32)
        likelihood = np.empty((*by_chain, annotations.n_annotations), np.float32)
        kinds = {"diverging": bool, "energy": np.float32, "acceptance_rate": np.float32}
        statistics = {name: np.empty((*by_chain, annotations.n_cases), kind) for name, kind in kinds.items()}
        for place, bucket in enumerate(buckets):
            case, slot = np.nonzero(bucket.slots >= 0)
            for chain, kept in enumerate(found):
                plausibility[chain][:, bucket.slots[case, slot]] = kept.plausibility[place][:, slot, case]
                likelihood[chain][:, bucket.annotations] = kept.log_likelihood[place][:, bucket.row, bucket.case]
                for name, values in zip(kinds, (kept.diverging, kept.energy, kept.acceptance), strict=True):
                    statistics[name][chain][:, bucket.cases] = values[place][:, : len(bucket.cases)]
        statistics["n_steps"] = np.full((*by_chain, annotations.n_cases), LEAPS, np.int32)
        dims: dict[str, tuple[str, ...]] = {"reliability": ()}
        if by_annotator:
            dims |= {"spread": (), "annotator_reliability": ("annotator",)}
        sites = {"reliability": "mean", "spread": "spread", "annotator_reliability": "each"}
        sampled = {name: np.exp(np.stack([getattr(kept.shared, sites[name]) for kept in found])) for name in dims}
        del found
        release_memory()
        titles = {"annotator_reliability": "reliability"}
        shared = SharedDraws.of(sampled, dims, {"annotator": annotators}, titles=titles, progress=bars)
        diagnosed = convergence(plausibility, slots, statistics["diverging"], progress=bars)
        who = annotations.annotation_case, annotations.annotation_annotator
        diagnosed["converged"] &= shared.converged(*who, annotations.n_cases)
        diagnosed.attrs["shared"] = "reliability"
        point = point_estimate(declared, annotations, slots, declared.arguments, keys, bars)
        if not by_annotator:
            weights = _tempered(plausibility, sampled["reliability"], slots)
            program = Program(declared.program, tuple(declared.static(declared.arguments).items()))
            likelihood = log_likelihood(
                annotations, slots, program, {"reliability": 1.0}, shape, weights, keys, progress=bars
            )
    arguments = {"per": per, "unranked": unranked, "concentration": float(concentration), "mode": "temper"}
    arguments |= {"prior": list(map(float, prior)), "spread": float(spread)} | settings
    converged = f"{int(diagnosed['converged'].sum())} of {annotations.n_cases} cases"
    name = str(getattr(declared.joint, "__name__", declared.name)).replace("_", "-")
    attrs = {"model": name, "engine": "gibbs", "seed": int(seed), "mode": "temper", "per": per}
    attrs |= {"arguments": json.dumps(arguments, sort_keys=True), "converged": converged}
    # The power by which annotators choose is among the draws.
    defaults = {name: one.default for name, one in signature(infer_reliability).parameters.items() if name in _OPTIONS}
    kept = declaration(declared, None) | {"shares": False, "defaults": defaults}
    attrs |= {"versions": versions_text(), "declaration": json.dumps(kept)}
    posterior = build_posterior(
        plausibility,
        annotations,
        slots,
        point=point,
        concentration=float(concentration),
        sample_stats=statistics,
        log_likelihood=likelihood,
        convergence=diagnosed,
        attrs=attrs,
    )
    groups = to_groups(shared.added_to(posterior))
    return from_groups(groups | {"reliability_convergence": shared.judged}, posterior.attrs)


def check_inferable(model: AnyModel, mode: str | None) -> Model:
    """Refuse a model without a program of all cases, and modes in which reliability has no posterior."""
    declared = find_model(model)
    if declared.joint is None:
        able = ", ".join(name for name, other in MODELS.items() if other.joint)
        raise ArgumentError(
            f"reliability can be inferred under model={able!r} alone, but {declared.name!r} was given: choose that, or "
            "choose among reliabilities by held-out density, see plausibly.compare_models."
        )
    if mode not in (None, "temper"):
        raise ArgumentError(
            f"reliability can be inferred by mode='temper' alone, but {mode!r} was given, under which a likelihood to "
            "the power of γ is not a probability of the annotations, so that a prior on γ has no posterior: leave mode "
            "out, or choose among reliabilities by held-out density, see plausibly.compare_models."
        )
    return declared


def _check(per: str, unranked: str, concentration: float, prior: object, spread: float) -> None:
    """Refuse what is out of range."""
    for name, value, choices in (("per", per, _PER), ("unranked", unranked, _UNRANKED)):
        if value not in choices:
            raise ArgumentError(f"{name} must be one of {', '.join(choices)}, but {value!r} was given.")
    for name, number in (("concentration", concentration), ("spread", spread)):
        if not _is_number(number) or not 1e-6 <= number <= 1e6:
            raise ArgumentError(f"{name} must be between 1e-6 and 1e6, but {number!r} was given.")
    pair = prior if isinstance(prior, tuple | list) else ()
    if len(pair) != 2 or not all(map(_is_number, pair)) or not abs(pair[0]) <= 5 or not 1e-3 <= pair[1] <= 5:
        raise ArgumentError(
            "prior must be the mean (within ±5) and standard deviation (0.001 to 5) of the logarithm of reliability, "
            f"but {prior!r} was given: write for example (0.0, 1.5)."
        )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(value))


def _tempered(
    plausibility: Float[np.ndarray, "chain draw slot"], reliability: Float[np.ndarray, "chain draw"], slots: Slots
) -> Float[np.ndarray, "chain draw slot"]:
    """The weights that annotators draw with, as shares of a case."""
    logs = reliability[..., None] * np.log(np.maximum(plausibility, 1e-37))
    logs -= np.maximum.reduceat(logs, slots.start[:-1], axis=-1)[..., slots.case]
    weights = np.exp(logs)
    return (weights / np.add.reduceat(weights, slots.start[:-1], axis=-1)[..., slots.case]).astype(np.float32)

"""Making a posterior of draws and annotations, and taking it apart again, once its parts fit each other."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from plausibly.base.arviz import Posterior, from_groups, is_posterior, to_groups
from plausibly.base.errors import ArgumentError, PlausiblyError, reason, show
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.data.annotations.by_case import check_annotated
from plausibly.posterior.on_demand import LIKELIHOOD, Draws, with_names
from plausibly.posterior.on_demand import REMAINDER_NAME as REMAINDER_NAME

GROUPS = ("posterior", "constant_data", "observed_data")
_ATTRIBUTES = ("n_classes", "concentration")
_VARIABLES = {
    "posterior": ("plausibility",),
    "constant_data": ("case_index", "class_index", "n_classes", "point_plausibility", "class_names"),
    "observed_data": ("case",),
}


def build_posterior(
    plausibility: Float[np.ndarray, "chain draw slot"] | Draws,
    annotations: Annotations,
    slots: Slots,
    *,
    point: Float[np.ndarray, " slot"],
    concentration: float,
    sample_stats: Mapping[str, np.ndarray] | None = None,
    log_likelihood: Float[np.ndarray, "chain draw annotation"] | None = None,
    likelihood: str = LIKELIHOOD,
    convergence: xr.Dataset | None = None,
    by_case: Mapping[str, np.ndarray] | None = None,
    sites: xr.Dataset | None = None,
    scores: Scores | None = None,
    certainty: Float[np.ndarray, " case"] | None = None,
    prior_share: Float[np.ndarray, " slot"] | None = None,
    attrs: Mapping[str, Any] | None = None,
    named: bool = True,
) -> Posterior:
    """Join draws and annotations into an ArviZ container.

    Parameters
    ----------
    plausibility
        Draws, or what makes them when they are read; the slots of a case sum to one. A point estimate has one chain and
        one draw.
    annotations
        Annotations that the draws were conditioned on.
    slots
        Cases and classes of the slots.
    point
        The model's point estimate.
    concentration
        Concentration, per class, of the Dirichlet distribution that splits the remainder.
    sample_stats
        Arrays (chain, draw, case) by name, if the engine has any.
    log_likelihood
        Log likelihood of every annotation.
    likelihood
        Name of its group.
    convergence
        Diagnostics by case, see :mod:`plausibly.diagnostics`.
    by_case
        Draws (chain, draw, case) of further quantities of each case by name, such as the mean of its scores.
    sites
        Draws of further sites of a program, as ``plausibly.posterior.sites`` makes them.
    scores
        Scores from which a threshold made the annotations; None for other annotations.
    certainty
        For cases of scores, the probability, averaged over the posterior, that a score is at most the threshold, or
        that it is above, whichever is greater.
    prior_share
        Share of the prior of each slot in the posterior concentration of its case, where it is known.
    attrs
        Attributes of the posterior: strings and numbers as they are, everything else as JSON.
    named
        Whether slots and annotations have names, which are looked up when they are read.

    Raises
    ------
    ArgumentError
        If an array's shape does not fit the slots, the cases or the annotations.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.5, 0.4, 0.1]]], np.float32)
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=draws[0, 0], concentration=1.0)
    >>> posterior["posterior"]["plausibility"].sizes["draw"]
    2
    """
    on_demand = isinstance(plausibility, Draws)
    plausibility = plausibility if on_demand else np.asarray(plausibility, np.float32)
    n_chains, n_draws = _check_shape("plausibility", plausibility, (None, None, len(slots.case)))[:2]
    point = np.asarray(point, np.float32)
    _check_shape("point", point, (len(slots.case),))
    chain_draw = {"chain": np.arange(n_chains), "draw": np.arange(n_draws)}
    slot_coords = {"slot": np.arange(len(slots.case))}  # without an index, ArviZ 1 does not rank
    slot_coords |= {"class_index": ("slot", slots.class_index), "n_classes": ("slot", slots.n_classes)}
    dims = "chain", "draw", "slot"
    groups = {
        "posterior": xr.Dataset(
            {"plausibility": plausibility.variable(*dims) if isinstance(plausibility, Draws) else (dims, plausibility)},
            coords=chain_draw | slot_coords,
        )
    }
    sizes = (n_chains, n_draws, annotations.n_cases)
    if by_case:
        # Along the slots "case" is a coordinate, so the dimension needs another name.
        for name, values in by_case.items():
            _check_shape(name, values, sizes)
            groups["posterior"][name] = ("chain", "draw", "scored_case"), np.asarray(values, np.float32)
        groups["posterior"] = groups["posterior"].assign_coords(scored_case=annotations.cases)
    if sites is not None:
        groups["posterior"] = groups["posterior"].assign(sites.data_vars).assign_coords(sites.coords)
    if sample_stats:
        for name, values in sample_stats.items():
            _check_shape(name, values, sizes)
        groups["sample_stats"] = xr.Dataset(
            {name: (("chain", "draw", "case"), values) for name, values in sample_stats.items()},
            coords=chain_draw | {"case": annotations.cases},
        )
    if log_likelihood is not None:
        log_likelihood = np.asarray(log_likelihood, np.float32)
        _check_shape("log_likelihood", log_likelihood, (n_chains, n_draws, annotations.n_annotations))
        groups[likelihood] = xr.Dataset(
            {"ranking" if scores is None else "score": (("chain", "draw", "annotation"), log_likelihood)},
            coords=chain_draw,
        )
    if convergence is not None:
        groups["convergence"] = convergence.assign_coords(case=annotations.cases)
    groups["observed_data"] = xr.Dataset(
        {
            "rank": ("entry", annotations.entry_block + 1),
            "entry_annotation": ("entry", annotations.entry_annotation),
            "entry_class": ("entry", annotations.entry_class),
            "annotation_case": ("annotation", annotations.annotation_case),
            "annotation_annotator": ("annotation", annotations.annotation_annotator),
        },
        coords={"case": annotations.cases, "annotator": annotations.annotators},
        attrs={"anonymous": int(annotations.anonymous)} | ({"ordered": 1} if annotations.ordered else {}),
    )
    if annotations.annotation_order is not None:
        groups["observed_data"]["annotation_order"] = "annotation", annotations.annotation_order
    if scores is not None:
        groups["observed_data"]["score"] = "annotation", scores.score
    groups["constant_data"] = xr.Dataset(
        {
            "point_plausibility": ("slot", point),
            "case_index": ("slot", slots.case),
            "class_names": ("class_id", annotations.classes),
        },
        coords=slot_coords,
    )
    if certainty is not None:
        _check_shape("certainty", certainty, (annotations.n_cases,))
        groups["constant_data"]["score_certainty"] = "scored_case", np.asarray(certainty, np.float32)
    if prior_share is not None:
        _check_shape("prior_share", prior_share, (len(slots.case),))
        groups["constant_data"]["prior_share"] = "slot", np.asarray(prior_share, np.float32)
    described = {name: _attribute(value) for name, value in (attrs or {}).items()}
    described |= {"concentration": float(concentration), "n_classes": int(annotations.n_classes)}
    return from_groups(with_names(groups) if named else groups, described)


def check_posterior(posterior: object, *, of_plausibilities: bool = True) -> None:
    """Refuse anything that is not a posterior from :func:`build_posterior`, or that lacks a group every posterior has.

    Raises
    ------
    ArgumentError
        If it is not a posterior, or lacks a group or an attribute.
    """
    if not is_posterior(posterior):
        raise ArgumentError(
            f"a posterior of plausibly.aggregate or plausibly.load is needed, but {show(posterior)} was given: "
            "aggregate annotations, or load a file of plausibly.save."
        )
    groups = to_groups(posterior)
    lost = [name for name in GROUPS if name not in groups]
    lost += [name for name in _ATTRIBUTES if of_plausibilities and name not in posterior.attrs]
    if of_plausibilities and not lost and (name := lost_variable(groups)):
        lost.append(name)
    if lost:
        raise ArgumentError(
            f"a posterior of plausibly.aggregate or plausibly.load is needed, but this one has no {lost[0]!r}: keep "
            "its groups and attributes when you change it."
        )


def remainder_concentration(posterior: Posterior) -> float | Float[np.ndarray, " class"]:
    """Return the shapes of the Dirichlet distribution that splits a remainder: one for all classes, or one for each.

    Under a prior that is learned, classes are not equally likely; the shapes are those of a case without annotations.
    """
    if "class_prior_shape" in posterior.attrs:
        return np.array(json.loads(str(posterior.attrs["class_prior_shape"])))
    return float(posterior.attrs["concentration"])


def slots_of(posterior: Posterior) -> Slots:
    """Recover the slots of the plausibilities of a posterior.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior, or the slots do not match its draws, cases and classes.
    """
    check_posterior(posterior)
    groups = to_groups(posterior)
    constants = groups["constant_data"]
    case = np.asarray(constants["case_index"].values, np.int32)
    n_cases = groups["observed_data"].sizes["case"]
    slots = Slots(
        case=case,
        class_index=np.asarray(constants["class_index"].values, np.int32),
        n_classes=np.asarray(constants["n_classes"].values, np.int32),
        start=np.searchsorted(case, np.arange(n_cases + 1)).astype(np.int64),
    )
    check_fit(groups, posterior.attrs, slots)
    return slots


def annotations_of(posterior: Posterior, *, every: bool = True) -> Annotations:
    """Recover the annotations that a posterior was conditioned on.

    Parameters
    ----------
    posterior
        Posterior from :func:`build_posterior` or :func:`load`.
    every
        Whether every case must have annotations. Otherwise, some may have predictions only.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior, or annotations are missing.
    AnnotationError
        If the stored annotations break a rule, or a case has none although every case must.
    """
    check_posterior(posterior)
    try:
        observed = posterior["observed_data"]
        order = observed.get("annotation_order")
        annotations = Annotations(
            cases=case_names(posterior),
            classes=np.asarray(posterior["constant_data"]["class_names"].values, dtype=str),
            annotators=np.asarray(observed["annotator"].values, dtype=str),
            anonymous=bool(observed.attrs["anonymous"]),
            annotation_case=np.asarray(observed["annotation_case"].values, np.int32),
            annotation_annotator=np.asarray(observed["annotation_annotator"].values, np.int32),
            entry_annotation=np.asarray(observed["entry_annotation"].values, np.int32),
            entry_class=np.asarray(observed["entry_class"].values, np.int32),
            entry_block=np.asarray(observed["rank"].values - 1, np.int16),
            ordered=bool(observed.attrs.get("ordered", False)),
            annotation_order=None if order is None else np.asarray(order.values, np.int32),
        )
        if every:
            check_annotated(annotations)
        return annotations
    except PlausiblyError:
        raise
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"this posterior has lost some of its annotations ({reason(error)}): load the file that was saved, or "
            "aggregate again."
        ) from error


def scores_of(posterior: Posterior) -> Scores:
    """Recover the scores that a posterior was conditioned on.

    Raises
    ------
    ArgumentError
        If the posterior was conditioned on annotations of another kind.
    """
    annotations = annotations_of(posterior)
    observed = posterior["observed_data"]
    if "score" not in observed:
        raise ArgumentError(
            f"a posterior of scores is needed, but this one, of {posterior.attrs.get('model')}, is of partial "
            "rankings: aggregate scores, with a threshold."
        )
    return Scores(
        annotations.cases,
        annotations.annotators,
        annotations.anonymous,
        annotations.annotation_case,
        annotations.annotation_annotator,
        np.asarray(observed["score"].values, np.float64),
        annotations.classes if annotations.n_classes == 2 else None,  # else the values are classes
    )


def case_names(posterior: Posterior) -> np.ndarray:
    """Names of the cases, in order."""
    return np.asarray(posterior["observed_data"]["case"].values, dtype=str)


def model_of(posterior: Posterior) -> str:
    """Name the model of a posterior as the command line does, with its reliability and options other than the defaults.

    Such as "prirn@30:ties=full"; empty if the posterior does not say.
    """
    found = posterior.attrs
    if "model" not in found:
        return ""
    reliability = f"@{found['reliability']:g}" if isinstance(found.get("reliability"), float) else ""
    defaults = json.loads(str(found.get("declaration", "{}"))).get("defaults", {})
    used = json.loads(str(found.get("arguments", "{}")))
    options = {name: used[name] for name in defaults if used.get(name, defaults[name]) != defaults[name]}
    options.pop("reliability", None)
    if "class_prior" in options:
        options.pop("unranked", None)  # a prior that is learned settles it
        if "evidence" in found or "learned_prior" in found:
            options["class_prior"] = str(options["class_prior"]).partition(" ")[0]
    return ":".join([f"{found['model']}{reliability}", *map(_option, options.items())])


def _option(option: tuple[str, Any]) -> str:
    """Write an option and its value.

    Examples
    --------
    >>> _option(("ties", "full")), _option(("prior", [0.0, 1.5])), _option(("class_prior", "predictions f3a9"))
    ('ties=full', 'prior=0,1.5', 'class_prior=predictions f3a9')
    """
    name, value = option
    values = value if isinstance(value, list) else [value]
    return f"{name}={','.join(f'{one:g}' if isinstance(one, float) else str(one) for one in values)}"


def _attribute(value):
    """NetCDF attributes are strings and numbers."""
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if plain else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _check_shape(name, values, expected):
    shape = np.shape(values)
    fits = len(shape) == len(expected) and all(
        size > 0 if want is None else size == want for size, want in zip(shape, expected, strict=True)
    )
    if not fits:
        wanted = tuple("any" if want is None else want for want in expected)
        raise ArgumentError(f"{name} must have the shape {wanted}, but has {shape}: it does not fit these annotations.")
    return shape


def lost_variable(groups: Mapping[str, xr.Dataset]) -> str | None:
    """Name a variable that every posterior of plausibilities has, and this one has not."""
    wanted = ((group, name) for group, names in _VARIABLES.items() for name in names)
    return next((name for group, name in wanted if name not in groups[group].variables), None)


def check_fit(groups: Mapping[str, xr.Dataset], attrs: Mapping[Any, Any], slots: Slots) -> None:
    """Refuse slots, draws and attributes that no cases and classes have together; draws themselves are not read."""
    what = _misfit(groups, attrs, slots)
    if what:
        raise ArgumentError(
            f"the parts of this posterior do not fit each other ({what}): keep slots, cases and classes as they are "
            "when you change it, or aggregate again."
        )


def _misfit(groups: Mapping[str, xr.Dataset], attrs: Mapping[Any, Any], slots: Slots) -> str | None:
    n_classes, concentration = (_number(attrs[name]) for name in ("n_classes", "concentration"))
    if n_classes is None or not 1 <= n_classes < np.inf or n_classes % 1:
        return f"n_classes is {attrs['n_classes']!r}"
    if concentration is None or not 0 <= concentration < np.inf:
        return f"the concentration is {attrs['concentration']!r}"
    named = groups["constant_data"]["class_names"].size
    if named != n_classes:
        return f"n_classes is {int(n_classes)}, and {named} classes have names"
    draws = groups["posterior"]["plausibility"]
    if set(draws.dims) != {"chain", "draw", "slot"} or not draws.size:
        return f"plausibility has the dimensions {dict(draws.sizes)} instead of chain, draw and slot"
    if draws.dtype.kind != "f" or groups["constant_data"]["point_plausibility"].dtype.kind != "f":
        return "plausibilities are not floating-point numbers"
    if draws.sizes["slot"] != len(slots.case):
        return f"there are {draws.sizes['slot']} slots with draws, and {len(slots.case)} with a case"
    return _misfit_of_slots(slots, int(n_classes))


def _misfit_of_slots(slots: Slots, n_classes: int) -> str | None:
    case, class_index = slots.case.astype(np.int64), slots.class_index.astype(np.int64)
    sizes = np.diff(slots.start)
    if slots.start[0] or slots.start[-1] != len(case) or (np.diff(case) < 0).any() or (sizes < 1).any():
        return f"slots are not those of the cases 1 to {len(sizes)} in their order"
    if ((class_index < -1) | (class_index >= n_classes)).any():
        return f"a slot is of a class beyond the {n_classes} there are"
    rest = slots.is_remainder
    place = np.where(rest, n_classes, class_index)
    if ((np.diff(case) == 0) & (np.diff(place) <= 0)).any():
        return "the classes of a case are not in order, the remainder last"
    named = np.bincount(case[~rest], minlength=len(sizes))
    if (slots.n_classes != np.where(rest, n_classes - named[case], 1)).any():
        return "n_classes is not 1 for a class, or not the number of unnamed classes for the remainder"
    return None


def _number(value: Any) -> float | None:
    array = np.asarray(value)
    return float(array.item()) if array.size == 1 and array.dtype.kind in "iuf" else None

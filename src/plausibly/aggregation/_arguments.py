"""Whether a model, its arguments and annotations go together, before anything is computed."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from plausibly.aggregation._infer import INDEPENDENT
from plausibly.aggregation.registry import SETTINGS, AnyModel, accepted, find_model
from plausibly.base.checks import check_seed, check_whole
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning, show
from plausibly.base.fingerprint import data_digest
from plausibly.base.names import some
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.by_case import check_annotated
from plausibly.data.annotations.scores import GREATEST, check_threshold
from plausibly.data.annotations.usual_models import check_annotations
from plausibly.data.groups import OTHERS, check_clusters, codes_of_annotators, columns_of, read_annotator_groups
from plausibly.data.predictions import named_predictions
from plausibly.families import Facts, Family, Settled
from plausibly.families.model import Model
from plausibly.families.priors import ClassPrior, Evidence
from plausibly.models import MODELS
from plausibly.posterior import REMAINDER_NAME

LEARNED = "learned", "predictions"  #: priors that a NumPyro program of few parameters learns from labels
_MOST = 250_000_000  # numbers of one kind that are held, a gigabyte
_DIMENSIONS = (  # of posteriors, and names that ArviZ does not take
    *("annotator", "annotation", "case", "chain", "draw", "slot", "scored_case", "class_name", "class_id", "quantity"),
    *("cutpoint", "rating_value", "label", "variable", "column", "summary", "severity", "typical", "entry", "shared"),
    "annotator_group",
)
GIBBS_UP_TO = 10  #: reliability up to which "auto" means Gibbs; beyond, its sweeps mix too slowly


def family_of(model: Model) -> Family:
    """Family that a model names, or that of independent cases."""
    return model.family or INDEPENDENT


def settle(
    annotations: Annotations | Scores, model: AnyModel, *, engine: str = "auto", seed: int = 0, **given: Any
) -> Settled:
    """Check everything that :func:`aggregate` checks, without computing anything."""
    known = find_model(model, isinstance(annotations, Scores)).given(given)
    check_kind(known, annotations)
    case_groups = _case_groups(known, given.pop("case_groups", None), annotations)
    if engine != "auto" and engine not in known.engines:
        raise ArgumentError(f"{known.name} has the engines auto, {', '.join(known.engines)}, but {engine!r} was given.")
    used = known.engines[0] if engine == "auto" else engine
    family = family_of(known)
    says, class_prior, evidence = family.says(known), given.get("class_prior"), None
    predictions, prior_kappa = (given.pop(name, None) for name in ("predictions", "prior_kappa"))
    annotator_groups = given.pop("annotator_groups", None)
    prior: ClassPrior | None = class_prior if hasattr(class_prior, "lay_out") else None
    predictions = None if predictions is None else named_predictions(predictions)
    if prior is not None and not says.takes_prior:
        raise ArgumentError(
            f"{known.name} has {says.assumes or 'parameters'} in each case and no prior of plausibilities, but a "
            f"{type(prior).__name__} was given as class_prior: pass predictions={{'A': scores}} instead."
        )
    if prior is not None:
        given["class_prior"] = prior.kind
    elif predictions is not None and class_prior is None:
        given["class_prior"] = "predictions"
    arguments = _arguments(known, used, given)
    if case_groups is not None:
        arguments["case_groups"] = f"{', '.join(case_groups)} {data_digest(case_groups)}"
    if prior is not None:
        arguments |= prior.arguments()
        evidence = prior.evidence
    elif arguments.get("class_prior") in LEARNED or predictions is not None:
        evidence = _evidence(arguments, predictions, annotations)
    if evidence is None or not evidence.classifiers:
        check_annotated(annotations)
    if prior_kappa is not None:
        if evidence is None or prior is not None or not says.takes_prior:
            raise ArgumentError(
                f"prior_kappa={prior_kappa!r} is for a prior of plausibilities that is learned from these cases, but "
                f"{known.name} with class_prior={str(arguments.get('class_prior')).partition(' ')[0]!r} has none: "
                "leave it out, or write class_prior='learned' or 'predictions'."
            )
        arguments["prior_kappa"] = _positive("prior_kappa", prior_kappa, False)
    if annotator_groups is not None:
        if not says.groups:
            raise ArgumentError(
                f"annotator_groups are of annotators who may err together in a case, but {known.name} does not tell "
                "annotators' errors from what is true: take the model 'dawid-skene' or 'one-coin', or raters='differ' "
                "for scores, or leave it out."
            )
        if given.get("difficulty") == "same":
            raise ArgumentError(
                "annotator_groups err together in cases that are hard, but difficulty='same' was given: leave one out."
            )
        if "difficulty" in arguments:
            arguments["difficulty"] = "by-case"
        arguments["annotator_groups"] = read_annotator_groups(annotator_groups, annotations.annotators)
        _warn_of_members_apart(annotations, arguments["annotator_groups"])
    if known.of_scores and arguments["threshold"] is None and not says.grades:
        raise ArgumentError(
            f"{known.name} needs a threshold that separates two classes, but none was given: write for example "
            "threshold=0 (--threshold 0)"
            + (", or let ratings be classes, with raters='differ' (--raters differ)." if _grades(known) else ".")
        )
    power, count = known.choice_power(arguments), known.count(arguments)
    if engine == "auto" and used == "nuts" and known.gibbs and power is None and count <= GIBBS_UP_TO:
        used = "gibbs" if float(count).is_integer() else "nuts"
    elif engine == "gibbs":
        if power is not None:
            raise ArgumentError(
                "the Gibbs sampler needs annotators who choose in proportion to the plausibilities, but here they "
                f"choose by the power {power:g} of them (mode={arguments.get('mode')!r}): choose engine='nuts'."
            )
        if not (1 <= count < 2**24 and float(count).is_integer()):
            raise ArgumentError(
                "the Gibbs sampler repeats every annotation reliability times, a whole number, but "
                f"{count!r} was given: round it, or choose engine='nuts'."
            )
    check_seed(seed)
    if says.takes_prior and arguments.get("class_prior", "uniform") != "uniform":
        _check_borrowing(arguments, given)
    if isinstance(annotations, Annotations):
        _check_annotations(known, says, annotations)
    found = {"evidence": evidence, "case_groups": case_groups}
    settled = Settled(known, family, used, engine == "auto", arguments, int(seed), prior, **found)
    return replace(settled, coded=family.check(annotations, settled))


def _grades(model: Model) -> bool:
    """Whether ratings may be classes, without a threshold, under another value of an option."""
    return any(family_of(other).says(other).grades for other in model.instead.values())


def _case_groups(model: Model, given: Any, observed: Annotations | Scores) -> dict[str, Any] | None:
    """Read groups of cases, for models in which they have effects: names of groups by name, and that of each case."""
    if given is None:
        return None
    if "case_groups" not in model.arguments:
        raise ArgumentError(
            f"case_groups are for ratings by raters who differ, but {model.name} was named without raters='differ': "
            "add it (--raters differ), or leave case_groups out."
        )
    found = {}
    for name, values in columns_of(given, "case_groups").items():
        if name in _DIMENSIONS or not name.isidentifier() or name in observed.cases:
            raise ArgumentError(
                f"a case group is named {name!r}, but its name must be a word that posteriors do not use otherwise "
                f"({', '.join(_DIMENSIONS)}): rename it, for example to 'group_{len(found) + 1}'."
            )
        names, code = np.unique(check_clusters(values, observed.cases, "case group"), return_inverse=True)
        if len(names) > 1:  # one that all cases are in has no effect
            found[name] = names, code
    return found


def _evidence(arguments: dict[str, Any], predictions: Any, annotations: Annotations | Scores) -> Evidence:
    """Read the predictions that a prior is learned from; without any, the prior is that of the classes alone."""
    class_prior = arguments["class_prior"]
    if class_prior == "predictions" and not predictions:
        raise ArgumentError(
            "class_prior='predictions' learns the prior of each case from what classifiers say of it, but there are no "
            "predictions: add predictions={'A': scores} (--predictions A=a.csv), or leave class_prior out."
        )
    if class_prior != "predictions" and predictions:
        raise ArgumentError(
            f"predictions are for class_prior='predictions', but class_prior={class_prior!r} was given: leave one out."
        )
    if predictions and isinstance(annotations, Annotations) and annotations.n_classes < 2:
        raise AnnotationError(
            "predictions tell how plausible each of several classes is, but the annotations have the one class "
            f"{str(annotations.classes[0])!r}: leave predictions out, or read the annotations with all classes "
            "(classes=, --classes)."
        )
    if isinstance(annotations, Scores):
        threshold = arguments["threshold"]
        evidence = Evidence.of(predictions, annotations.as_classes(threshold), ordered=threshold is None)
    else:
        evidence = Evidence.of(predictions, annotations)
    if predictions:
        arguments["class_prior"] = f"predictions {evidence.digest()}"
    return evidence


def _check_borrowing(arguments: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse what does not go with a prior that is learned; take the concentration out, which it has of its own."""
    class_prior = arguments["class_prior"].partition(" ")[0]
    if given.get("concentration") is not None:
        raise ArgumentError(
            f"class_prior={class_prior!r} infers the concentration from all cases, but "
            f"concentration={given['concentration']!r} was given: leave one of them out."
        )
    if given.get("unranked") not in (None, "exact"):
        raise ArgumentError(
            f"class_prior={class_prior!r} has a share for every unnamed class, but "
            f"unranked={given['unranked']!r} was given: leave it out, or write 'exact'."
        )
    arguments.pop("concentration", None)
    if "unranked" in arguments:
        arguments["unranked"] = "exact"


def _arguments(model: Model, engine: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in defaults and check; an argument that is not accepted is an error."""
    arguments = accepted(model, engine)
    for key, value in given.items():
        if value is None:
            continue
        if key not in arguments:
            raise ArgumentError(
                f"{model.name} by engine {engine!r} does not accept {key}={value!r}: leave it out (its arguments: "
                f"{', '.join(arguments) or 'none'})."
            )
        if key in model.options and value not in model.options[key]:
            values = ", ".join(map(str, model.options[key]))
            raise ArgumentError(f"{key} must be one of {values}, but {value!r} was given.")
        if key in SETTINGS:
            value = check_setting(key, value)
        elif key in ("reliability", "concentration"):
            value = _positive(key, value, key == "concentration" and engine == "exact" and model.zero_concentration)
        elif key == "threshold":
            value = check_threshold(value)
        elif key == "prior":
            value = check_prior(value)
        arguments[key] = value
    return arguments


def check_setting(key: str, value: Any) -> int:
    """Check one of the settings of engines that draw: draws, chains or warmup."""
    return check_whole(key, value, {"draws": 4, "chains": 1, "warmup": 0}[key], f"write {SETTINGS[key]}")


def _warn_of_members_apart(annotations: Annotations | Scores, groups: Mapping[str, str]) -> None:
    """Warn of groups of several annotators of whom no two have a case in common."""
    names, of_annotator = codes_of_annotators(groups, annotations.annotators)
    of_both = annotations.annotation_case.astype(np.int64) * len(names) + of_annotator[annotations.annotation_annotator]
    found, times = np.unique(of_both, return_counts=True)
    apart = (np.bincount(of_annotator) > 1) & (names != OTHERS)
    apart[found[times > 1] % len(names)] = False
    if apart.any():
        warnings.warn(
            f"annotator_groups: no two annotators of {some(names[apart])} have annotated the same case. So annotations "
            "do not tell how often they err together, and the result rests on the prior: let some annotate the same "
            "cases, or leave the group out.",
            PlausiblyWarning,
            stacklevel=2,
        )


def _positive(key: str, value: Any, zero: bool) -> float:
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    # Engines compute in single precision, beyond whose range a value would turn into zero or infinity.
    if not (numeric and (1e-30 <= value <= 1e30 or (zero and value == 0))):
        least = "0 or positive" if zero else "positive"
        raise ArgumentError(
            f"{key} must be {least}, between 1e-30 and 1e30, but {'the text ' if isinstance(value, str) else ''}"
            f"{show(value)} was given: write a number, such as 1."
        )
    return float(value)


def check_prior(prior: object) -> list[float]:
    """Check the four parameters of the prior of scores, see :class:`plausibly.case.NormalInverseGamma`."""
    values = list(prior) if isinstance(prior, Sequence | np.ndarray) and not isinstance(prior, str) else []
    numbers = all(isinstance(value, Real | np.number) and not isinstance(value, bool) for value in values)
    # What lies beyond leaves single precision.
    good = len(values) == 4 and numbers and abs(values[0]) <= GREATEST and all(1e-30 <= v <= 1e30 for v in values[1:])
    if not good:
        raise ArgumentError(
            f"prior must be four numbers: the mean (within ±{GREATEST:g}), its strength, and shape and scale of the "
            f"variance (each between 1e-30 and 1e30), but {show(prior)} was given: write for example "
            "(0, 1, 2, 1), or leave it out to estimate it from the scores."
        )
    return [float(value) for value in values]


def _names(*takes: str) -> str:
    return ", ".join(name for name, model in MODELS.items() if model.takes in takes)


def check_kind(model: Model, annotations: Any) -> None:
    """Refuse scores for a model of rankings, rankings for a model of scores, and anything else."""
    check_annotations(annotations)
    if isinstance(annotations, Scores) and not model.of_scores:
        raise AnnotationError(
            f"{model.name} takes partial rankings, but scores were given: use a model of scores ({_names('scores')}) "
            "with a threshold, or turn them into labels with Scores.split(threshold)."
        )
    if model.of_scores and not isinstance(annotations, Scores):
        raise AnnotationError(
            f"{model.name} takes scores, but partial rankings of {annotations.n_classes} classes were given: read "
            "scores from a table with the columns case, annotator and score, or choose a model of rankings "
            f"({_names('rankings', 'labels')})."
        )


def _check_annotations(model: Model, says: Facts, annotations: Annotations) -> None:
    """What a model asks of annotations beyond the rules of the container."""
    if REMAINDER_NAME in annotations.classes:
        raise AnnotationError(
            f"a class is named {REMAINDER_NAME!r}, which in a posterior stands for the unnamed classes; rename it"
        )
    named = np.diff(annotations.annotation_start)
    if model.takes == "labels" and (named != 1).any():
        worst = int((named != 1).argmax())
        case = annotations.cases[annotations.annotation_case[worst]]
        annotator = annotations.annotators[annotations.annotation_annotator[worst]]
        raise AnnotationError(
            f"{model.name} takes one label per annotation, but case {str(case)!r}, annotator {str(annotator)!r} names "
            f"{named[worst]}: use a model of partial rankings ({_names('rankings')})."
        )
    if says.named and annotations.anonymous:
        able = [other for other in MODELS.values() if other.takes == model.takes]
        able = ", ".join(other.name for other in able if not family_of(other).says(other).named)
        raise AnnotationError(
            f"{model.name} needs to know who gave each label, but the annotators of these are anonymous: '1' of one "
            f"case need not be '1' of another. Name them in the file, or choose a model without annotators ({able})."
        )


def check_held(settled: Settled, annotations: Annotations | Scores, cases: int, in_shards: bool) -> None:
    """Refuse more plausibilities of so many cases than memory should hold, where every class has one."""
    if not settled.says.every_class:
        return
    kept = settled.arguments["draws"] * settled.arguments["chains"]
    if isinstance(annotations, Annotations):
        k, way = annotations.n_classes, "a smaller shard" if in_shards else "a Zarr folder as out="
    else:
        k, way = 2 if settled.arguments["threshold"] is not None else len(np.unique(annotations.score)), "a threshold"
    if cases * k * kept > _MOST:
        raise ArgumentError(
            f"{settled.model.name} would hold {kept:,} draws of {k:,} classes in {cases:,} cases, more than "
            f"{_MOST:,} numbers in all: ask for {way}, for fewer draws, or merge classes."
        )

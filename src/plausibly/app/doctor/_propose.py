"""Commands for the questions that files answer together, with everything filled in."""

import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from plausibly.app.doctor._between import extra_cases, is_scores, unnamed, unpredicted
from plausibly.app.doctor._look import comparable
from plausibly.app.doctor._looked import MODEL, Looked
from plausibly.app.doctor._outcomes import outcomes_of
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.base.names import some
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.io.columns import is_number
from plausibly.data.annotations.io.files import TABLES, ending
from plausibly.data.annotations.io.matrix import Matrix
from plausibly.data.annotations.io.spellings import positive_of_two
from plausibly.data.annotations.io.table_files import header_of
from plausibly.data.annotations.usual_models import are_ratings
from plausibly.data.labels import Labels
from plausibly.data.labels.predictions import all_predicted, read_models
from plausibly.data.labels.types import type_of
from plausibly.data.outcomes import is_of_outcomes
from plausibly.distances import BY_TYPE

_AUDIT = "Are there problems in the annotations and predictions?"
_ALONE = "How sure are the annotations of each case?"
_RATINGS = "What are the mean ratings, and do raters agree?"
_BETTER = "Which classifier is better, and how sure can you be?"
_GOLD = "How good are classifiers, or annotators, against gold labels?"
_AGREE = "Do the annotators agree?"
_LABELS = "How good are the labels?"
_JUDGE = "Can a model stand in for an annotator?"
_CLOSE = "Is a model as close to the annotators as they are to each other?"
_READERS = "Is a model as good as our readers, for other readers and other cases?"
_CONDITIONS = "Do readers do better under one condition, for other readers and other cases?"
_SETS = "Which classes must be listed to have the answer among them?"
_MODELS = "Which aggregation model fits the annotations?"
_CHAINS = "Did the chains converge?"
_PLAN = "Which cases should be annotated next, or read again?"
_SYSTEMS = "Which system is best, as people would say?"
_SYSTEM = "How good is the system, as people would say, and how wrong is the judge?"
GOLD = "gold"  #: annotator of gold labels without any others
_TABLE = "Write one question to a table, for all other commands."


@dataclass(frozen=True)
class Proposal:
    """A question, and the command that answers it, to be run in a shell."""

    question: str
    command: str


@dataclass(frozen=True)
class Together:
    """Annotations with everything that fits them, by the option that takes it."""

    main: Looked
    classifiers: Mapping[str, Looked] = field(default_factory=dict)  #: predictions, and labels of one rater, by name
    gold: Looked | None = None
    classes: Looked | None = None
    risks: Looked | None = None
    groups: Looked | None = None


def propose(together: Together) -> Iterator[Proposal]:
    """Yield a command for every question."""
    main, read = together.main, together.main.content
    if {*main.files} == {GOLD}:
        words = [*_base(together), *_evaluated(together, _predicted(together.classifiers)), "--truth", "annotator"]
        yield _proposal(_GOLD, "evaluate", *words, "--out", "against-gold")
        return
    if main.role == "labels":
        yield from _of_readers(together)
        yield from _of_labels(together)
        return
    base, predicted = _base(together), _predicted(together.classifiers)
    scored = is_scores(main)
    whole = {name: one for name, one in together.classifiers.items() if not unpredicted(one, main)}
    partly = ["--unpredicted", "leave-out"] if len(whole) < len(together.classifiers) else []
    extra = any(extra_cases(one, main) for one in whole.values())
    audited = [] if scored else [*_predicted(whole), *(["--extra", "ignore"] if extra else [])]
    yield _proposal(_AUDIT, "audit", *base, *audited)
    numbers = bool(together.classifiers) and isinstance(read, Scores) and not are_ratings(read)
    numbers = numbers and not _probable(together)  # on the scale of the scores, of which a threshold makes no classes
    if numbers and len(read.annotators) > 1:
        yield _proposal(_CLOSE, "discrepancy", *main.given, *predicted, "--distance", "interval")
    elif together.classifiers:
        yield _proposal(_BETTER, "evaluate", *base, *_evaluated(together, predicted), *partly, "--out", "results")
    else:
        yield _proposal(_RATINGS if scored else _ALONE, "evaluate", *base, *_groups(together), "--out", "results")
    known = together.gold is not None and (together.classifiers or _some_complete(main, together.gold))
    if together.gold is not None and known and not numbers and (not scored or len(_of_two(together.gold)) == 2):
        gold = ["--gold", str(together.gold.path)]
        if scored:
            gold += ["--gold-positive", _of_two(together.gold)[1], "--threshold", f"{_threshold(read):g}"]
        yield _proposal(
            _GOLD, "evaluate", *base, *gold, *predicted, *partly, *_positive(together), "--out", "against-gold"
        )
    yield from _of_readers(together)
    yield from _of_labels(together)
    known = all(unnamed(one, main) is None for one in together.classifiers.values())  # which class numbers are of
    if whole and known and not scored and not extra and isinstance(read, Annotations):
        yield _proposal(_SETS, "conformal", *base, *_predicted(whole), "--out", "sets")
    if isinstance(read, Annotations) and (read.per_case > 1).mean() > 0.5:
        yield _proposal(_MODELS, "models", "compare", *base)
    if main.control is not None:
        table = main.path.with_name(f"{main.path.stem}-{main.control.replace('/', '-').replace(' ', '-')}.csv")
        yield _proposal(_TABLE, "convert", *main.given, str(table), "--control", main.control)


def of_systems(files: Sequence[Looked]) -> tuple[list[Proposal], list[str]]:
    """Return commands for outcomes of systems, in tables and exports together or else in each table, and what lacks."""
    exports = [one for one in files if one.of_tool and one.role in ("annotations", "labels of one rater")]
    tables = [one for one in files if one.role == "outcomes"]
    together = [*exports, *tables, *(one for one in files if exports and _says_system(one))]
    if len(together) > 1 or exports:
        control = next((one.control for one in exports if one.control is not None), None)
        try:
            found = outcomes_of([one.path for one in together], control)
        except PlausiblyError:
            found = None
        if found is not None and found.outcomes.people:
            words = [*map(str, (one.path for one in together)), *found.words]
            words += [] if control is None else ["--control", control]
            question = _SYSTEMS if len(found.outcomes.systems) > 1 else _SYSTEM
            return [_proposal(question, "systems", *words, "--out", "systems")], []
    alone = [_proposal(_SYSTEMS, "systems", str(one.path), *one.options, "--out", "systems") for one in tables]
    if len(exports) > 1 and not tables:
        return alone, [
            f"no rater in {some([str(one.path) for one in exports])} is known as a person: to rank these systems as "
            "people would, have people label some of the outputs, in a table with the columns system, case, rater and "
            "outcome, and give it as well."
        ]
    return alone, []


def _says_system(one: Looked) -> bool:
    """Whether annotations say which system produced the output that a case is, of which each may have its own."""
    is_table = one.role == "annotations" and not one.of_tool and ending(one.path) in TABLES
    return is_table and is_of_outcomes(header_of(one.path))


def of_posterior(posterior: Looked, classifiers: Mapping[str, Looked]) -> Iterator[Proposal]:
    """Yield commands for a posterior."""
    yield _proposal(_CHAINS, "diagnose", str(posterior.path))
    if classifiers:
        yield _proposal(_PLAN, "plan", str(posterior.path), *_predicted(classifiers), "--out", "plan")


def _base(together: Together) -> list[str]:
    main = together.main
    words = [*main.given]
    if together.classes is not None and not is_scores(main):
        words += ["--classes", str(together.classes.path)]
    return [*words, *([] if main.control is None else ["--control", main.control])]


def _predicted(classifiers: Mapping[str, Looked]) -> list[str]:
    return [word for name, one in classifiers.items() for word in ("--predictions", f"{name}={one.path}")]


def _evaluated(together: Together, predicted: Sequence[str]) -> list[str]:
    """Options of the evaluation of classifiers."""
    read, words = together.main.content, [*predicted]
    if isinstance(read, Scores) and (not are_ratings(read) or _probable(together)):
        words += ["--threshold", f"{_threshold(read):g}"]
        words += ["--truth", "annotator"] if are_ratings(read) else []
    elif isinstance(read, Annotations) and read.n_classes > 2 and all(map(is_number, read.classes)):
        words += ["--ordered"]
    if together.risks is not None and isinstance(read, Annotations):
        words += ["--risks", str(together.risks.path)]
    if any(extra_cases(one, together.main) for one in together.classifiers.values()):
        words += ["--extra", "ignore"]
    return [*words, *_positive(together), *_groups(together)]


def _probable(together: Together) -> bool:
    """Whether predictions are probabilities, one for each case, and so no ratings."""
    given = [one.content.values for one in together.classifiers.values() if isinstance(one.content, Matrix)]
    inside = [values.shape[1] == 1 and ((values >= 0) & (values <= 1)).all() and (values % 1).any() for values in given]
    return bool(inside) and all(inside)


def _of_two(gold: Looked) -> list[str]:
    """Two gold labels, the positive one last, as far as words tell; others in alphabetical order."""
    names = sorted([] if gold.classes is None else gold.classes.tolist())
    return names[::-1] if len(names) == 2 and positive_of_two(names) == 0 else names


def _positive(together: Together) -> list[str]:
    read = together.main.content
    if not isinstance(read, Annotations) or read.n_classes != 2:
        return []
    named = [one.content.columns for one in together.classifiers.values() if isinstance(one.content, Matrix)]
    from plausibly.data.annotations.io.class_columns import class_of_column

    alone = [columns[0] for columns in named if columns is not None and len(columns) == 1]
    single = [found for name in alone if (found := class_of_column(name, read.classes)) is not None]
    return ["--positive", str(single[0] if single else read.classes[positive_of_two(read.classes)])]


def _groups(together: Together) -> list[str]:
    main = together.main
    by = [*main.by, *([] if together.groups is None else [str(together.groups.path)])]
    words = ["--by", ",".join(by)] if by and together.classifiers else []
    return words + (["--clusters", main.clusters] if main.clusters is not None and together.classifiers else [])


def _threshold(read: Scores) -> float:
    """Return the score that leaves nearest to half of the scores above it, and some on either side."""
    values = np.unique(read.score)[:-1]
    if not len(values):
        return float(read.score[0])
    above = [(read.score > value).mean() for value in values]
    return float(values[np.argmin(np.abs(np.array(above) - 0.5))])


def _of_labels(together: Together) -> Iterator[Proposal]:
    """Yield commands for the labels of named annotators."""
    main, labels = together.main, together.main.labels
    lists = labels is not None and any(isinstance(value, list | tuple | dict) for value in labels.values.tolist())
    if labels is None or main.control is not None or not comparable(labels) or (lists and main.role != "labels"):
        return
    scored = is_scores(main)
    kind = type_of(labels)
    column = next((name for name, role in main.columns.items() if role == "score"), "score")
    words = ["--label", column] if scored and not main.asked else []
    words += ["--distance", kind] if kind in BY_TYPE and kind not in ("categories", "numbers") else []
    yield _proposal(_AGREE, "agreement", *main.given, *words)
    if kind == "categories" and not scored:
        yield _proposal(_LABELS, "reliability", *main.given)
    among = _models_among(main)
    if main.role == "labels":
        return
    models = {name: one for name, one in {**together.classifiers, **among}.items() if _reads(one, labels)}
    compared = labels.cases[np.diff(labels.start) > 1]
    partly = [one for one in models.values() if len(np.setdiff1d(compared, all_predicted(labels, {"": one.path})))]
    if not models or len(labels.annotators) < 2:
        return
    words = [*main.given, *_predicted(models)]
    gold = [] if together.gold is None else ["--gold", str(together.gold.path)]
    extra = any(extra_cases(one, main) for one in models.values())
    gold += ["--extra", "ignore"] if extra else []
    gold += ["--unpredicted", "leave-out"] if partly else []
    yield _proposal(_JUDGE, "judge", *words, *gold, "--out", "judgement")
    if not extra and not partly:
        yield _proposal(_CLOSE, "discrepancy", *words)


def _of_readers(together: Together) -> Iterator[Proposal]:
    """Yield the command that compares a model with readers, or readers under two conditions."""
    main, gold, labels = together.main, together.gold, together.main.labels
    if labels is None or gold is None or len(_of_two(gold)) != 2 or labels.numbered or len(labels.annotators) < 2:
        return
    models = {name: one for name, one in together.classifiers.items() if _reads(one, labels, "score")}
    decided = len({*map(str, labels.values.tolist())}) <= 2
    if (not models and main.conditions is None) or not (decided or labels.is_numeric):
        return
    words = [*main.given, *([] if main.conditions in (None, "condition") else ["--conditions", str(main.conditions)])]
    words += [*_predicted(models), "--gold", str(gold.path)]
    words += [] if all(map(is_number, _of_two(gold))) else ["--positive", _of_two(gold)[1]]
    scored = any(isinstance(one.content, Matrix) for one in models.values())
    words += ["--metric", "sensitivity"] if decided and not scored else []
    yield _proposal(_READERS if models else _CONDITIONS, "readers", *words, "--out", "readers")


def _models_among(main: Looked) -> dict[str, Looked]:
    """Annotators of a table who are called as language models are, beside two or more who are not."""
    labels = main.labels
    if labels is None or main.files or main.asked or labels.numbered or ending(main.path) not in TABLES:
        return {}
    named = [str(one) for one in labels.annotators if MODEL.search(str(one).lower()) is not None]
    if len(labels.annotators) - len(named) < 2:
        return {}
    return {name: replace(main, path=Path(f"{main.path}:{name}"), role="labels of one rater") for name in named}


def _reads(one: Looked, labels: Labels, column: str = "label") -> bool:
    """Whether a file has a label for some cases, of the annotators' type, or a score."""
    if one.role != "labels of one rater" and column == "label":
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlausiblyWarning)
            kept = all_predicted(labels, {"": one.path}) if column == "label" else labels.cases
            needed = np.full(len(kept), column == "label")
            read_models({"m": one.path}, labels.of_cases(kept), needed, column, extra="ignore")
    except PlausiblyError:
        return False
    return len(kept) > 0


def _some_complete(main: Looked, gold: Looked) -> bool:
    """Whether an annotator labels every case that has a gold label, and so can be compared with these."""
    anonymous = isinstance(main.content, Annotations) and main.content.anonymous
    if main.labels is None or gold.cases is None or main.cases is None or anonymous:
        return False
    cases = np.intersect1d(gold.cases, main.cases)
    of_gold = main.labels.of_cases(cases)
    return len(cases) > 0 and bool((np.bincount(of_gold.annotator) == len(cases)).any())


def _proposal(question: str, *words: str) -> Proposal:
    return Proposal(question, shlex.join(["plausibly", *words]))

"""What reader studies refuse."""

import pandas as pd

from plausibly.agreement import reader_study
from plausibly.base.errors import AnnotationError, ArgumentError, PredictionError
from tests.refused import each

GOLD = dict(zip("abcdef", (1, 1, 1, 0, 0, 0), strict=True))
SCORES = {case: {who: place + 3 * GOLD[case] for place, who in enumerate("xyz")} for case in GOLD}
SOME = {case: dict(tuple(own.items())[case < "b" :]) for case, own in SCORES.items()}
TWO = {case: dict(tuple(own.items())[case < "c" : 2]) for case, own in SCORES.items()}
ONE = {case: {"x": 1} for case in GOLD}
MODEL = {"A": dict.fromkeys(GOLD, 0.5)}
PARTS = pd.DataFrame(
    [(case, who, 3, part) for case in GOLD for who in "xy" for part in ("old", "new", "third")],
    columns=["case", "annotator", "score", "condition"],
)
AGAIN = pd.concat([PARTS, PARTS.head(1)])
CALLED = {case: dict.fromkeys("xyz", "ill" if GOLD[case] else "well") for case in GOLD}
NAMED = {case: own["x"] for case, own in CALLED.items()}
PLAIN = {case: dict.fromkeys("xyz", one) for case, one in GOLD.items()}
KINDS = dict(zip("abcdef", "uvwuvw", strict=True))
NAMELESS = [{"case": case, "labels": ["1", "2"]} for case in GOLD]


def studied(readers=SCORES, predictions=None, gold=GOLD, **options):
    return reader_study(readers, predictions, gold, **options)


REFUSED = [
    *each(studied, {
        "there is one reader, 'x', .*give two": {"readers": ONE},
        "two answers in one condition; keep one": {"readers": AGAIN, "compare": ("old", "new")},
        "row 2 .*two answers; name the column of conditions": {"readers": PARTS.drop(columns="condition")},
        "auroc needs 2 cases .* positive by gold labels, .*is 1": {"gold": dict.fromkeys("abcdef", 0) | {"a": 1}},
        "all 6 cases are '0', .*add cases": {"gold": dict.fromkeys("abcdef", 0)},
        "two readers, or clusters, show nothing": {"readers": TWO},
        "needs 2 clusters or more that are positive by gold labels, but there is 1": {"clusters": GOLD},
        "accuracy needs 2 clusters or more that are known .*is 1": {
            "metric": "accuracy", "threshold": 3, "clusters": dict.fromkeys(GOLD, "one"),
        },
        "three or more readers must have read the same": {"gold": None, "readers": SOME, "threshold": 3},
        "positive by reader 'x', but there are 0": {"gold": None, "threshold": 9},
        "no names; add a column annotator": {"readers": NAMELESS},
    }, AnnotationError),
    *each(studied, {
        "metric must be one of auroc, .*'kappa'": {"metric": "kappa"},
        'covariance must be "jackknife" or "delong"': {"covariance": "bootstrap"},
        "of AUROC without clusters": {"covariance": "delong", "metric": "accuracy"},
        "margin must be at least 0 and below 1, but 2 was given": {"margin": 2},
        "ci_prob": {"ci_prob": 95},
        "threshold must be a number, but 'x' was given": {"threshold": "x"},
        "model_threshold must be a number, but nan": {"model_threshold": float("nan")},
        "there are 3, 'old', 'new', 'third'.*compare=": {"readers": PARTS},
        "there is no condition 'odd': choose of 'old', 'new', 'third'": {"readers": PARTS, "compare": ("old", "odd")},
        "compare names two conditions, but 'old', 'old'": {"readers": PARTS, "compare": ("old", "old")},
        "compare names conditions, 'old', 'new', but there are none": {"compare": ("old", "new")},
        "sensitivity is of decisions, but readers gave scores: .*threshold=": {"metric": "sensitivity"},
        "accuracy is of decisions, but A gave scores: .*model_threshold=": {
            "predictions": MODEL, "metric": "accuracy", "threshold": 3,
        },
        "readers are the truth, but they gave scores": {"gold": None},
        "positive must be a class, but 'ill' was given: choose from '0', '1'": {"positive": "ill"},
        "auroc needs a positive class, but there are 3 classes": {"gold": KINDS},
    }, ArgumentError),
    *each(studied, {
        "gold labels are '1', '0', and classes are called 'ill', 'well'; write": {"readers": CALLED},
        "A gave 'odd', which is neither": {"predictions": {"A": dict.fromkeys(GOLD, "odd")}},
        "no row for case 'f'": {"predictions": {"A": dict.fromkeys("abcde", 0.5)}},
        "A, case 'a': there is more than one": {"predictions": {"A": [(case, 0.5) for case in "aabcdef"]}},
        "none of 2 gold labels belongs to a case": {"gold": {"p": 1, "q": 0}},
        "gold labels have 'ill' beside 'Ill', which differs": {"gold": NAMED | {"a": "Ill"}, "positive": "ill"},
        "gold labels have 'Ill' beside 'ill', which": {"readers": CALLED, "gold": NAMED | {"a": "Ill"}},
        "readers gave 0 and 1, which do not say that 1 stands for 'well'": {
            "readers": PLAIN, "gold": NAMED, "positive": "well",
        },
    }, PredictionError),
    *each(studied(SCORES, MODEL).plan, {
        "there is no comparison 'B': choose of A − readers": {"comparison": "B"},
        "readers must be a whole number of at least 2": {"readers": (1,)},
    }, ArgumentError),
    *each(studied(SOME).plan, {"planning needs readers who all read the same cases": {}}, ArgumentError),
]  # fmt: skip

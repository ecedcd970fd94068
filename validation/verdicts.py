"""Verdicts that can fail: how often answers that look at no case are taken for an annotator, and honest ones are not.

Annotators look at the case with a probability that gives the wanted agreement, and otherwise describe another case. The
models are a constant, coins (answers of random cases), an honest model's predictions in shuffled order, a copy of one
annotator, and an honest model that is as good as the annotators. Questions 1 and 2 of the judgement decide, which need
no model of annotators; "can stand in" is to be said of none of the first three.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from plausibly.agreement import MARGIN, alternative_annotator_test
from plausibly.base.progress import Progress
from validation._result import Result, Settings

AGREEMENTS, QUICK_AGREEMENTS = (0.0, 0.2, 0.5, 0.8), (0.0, 0.6)
CASES, PEOPLE, CLASSES = 120, 4, 4
DATA_SETS, QUICK = 40, 3
IGNORANT = ("constant", "coins", "shuffled")
MODELS = (*IGNORANT, "copy", "honest")
AGREED = 0.5  #: agreement from which honest models are not all to be withheld
RATE = 0.01  #: of a yes for models that look at nothing, above which a check fails
LEAST = 0.8  #: share of the tests that honest models pass in which the answer is yes, below which a check fails

Draw = Callable[[np.random.Generator, Any], Any]


def check(settings: Settings) -> Iterator[Result]:
    """Count verdicts by type of label and agreement."""
    levels = QUICK_AGREEMENTS if settings.quick else AGREEMENTS
    conditions = [one for one in product(KINDS, levels) if settings.only in f"verdicts on {one[0]}"]
    with Progress(settings.progress) as progress:
        advance = progress.task("Judging answers", len(conditions), "conditions")
        for number, (kind, agreement) in enumerate(conditions):
            n = QUICK if settings.quick else DATA_SETS
            random = np.random.default_rng([settings.seed, 53, number])
            said = [verdicts(random, kind, agreement) for _ in range(n)]
            yes = {name: sum(all(one[name]) for one in said) for name in MODELS}
            wrong = sum(any(one[name]) for one in said for name in IGNORANT)
            passed, kept = (int(np.sum([one[name] for one in said])) for name in ("passed", "honest"))
            tests = {"answers that ignore the case": float(stats.binom.sf(wrong - 1, n * len(IGNORANT), RATE))}
            if agreement >= AGREED:
                tests["honest models"] = float(stats.binom.cdf(kept, passed, LEAST))
            words = ", ".join(f"{name} {yes[name]}" for name in MODELS)
            remark = f"both yes, of {n}: {words}; honest models pass {passed} of {2 * n} tests, {kept} of these are yes"
            yield Result("verdicts", f"{kind}, α = {agreement}", "yes", tests, n, remark=remark)
            advance(1)


def verdicts(random: np.random.Generator, kind: str, agreement: float) -> dict[str, tuple[bool, bool]]:
    """Whether each answer on each model is yes in one data set; and whether the honest one passes the test."""
    truth_of, seen, distance, constant = KINDS[kind]
    truths = [truth_of(random, number) for number in range(CASES)]

    def look(case: int) -> Any:
        own = random.random() < np.sqrt(agreement)
        return seen(random, truths[case if own else random.integers(CASES)])

    rows = [(f"c{case}", f"a{who}", look(case)) for case in range(CASES) for who in range(PEOPLE)]
    honest = [look(case) for case in range(CASES)]
    models = {
        "constant": [constant] * CASES,
        "coins": [seen(random, truths[at]) for at in random.integers(CASES, size=CASES)],
        "shuffled": [honest[at] for at in random.permutation(CASES)],
        "copy": [label for _, who, label in rows if who == "a0"],
        "honest": honest,
    }
    named = {name: {f"c{case}": label for case, label in enumerate(said)} for name, said in models.items()}
    test = alternative_annotator_test(rows, named, distance=distance, few_cases=0, progress=False)
    close = test.comparison.non_inferiority(replicates=200)
    found = {name: (close["answer"][name] == "yes", test.answer[name] == "yes") for name in models}
    return found | {"passed": (bool(close["upper"]["honest"] < 1 + MARGIN), bool(test.passed["honest"]))}


def _text(random: np.random.Generator, number: int) -> list[str]:
    return [f"w{word}" for word in random.integers(80, size=7)]


def _retold(random: np.random.Generator, truth: list[str]) -> str:
    kept = [word if random.random() < 0.8 else f"w{random.integers(80)}" for word in truth]
    return " ".join(["a", *kept])


def _boxes(random: np.random.Generator, number: int) -> list[np.ndarray]:
    corners = random.uniform(0, 80, (random.integers(0, 3), 2))
    return [np.concatenate([corner, corner + 20]) for corner in corners]


def _drawn(random: np.random.Generator, truth: list[np.ndarray]) -> list[tuple[float, ...]]:
    return [tuple((box + np.tile(random.normal(0, 2, 2), 2)).tolist()) for box in truth]


def _spans(random: np.random.Generator, number: int) -> list[tuple[int, int, str]]:
    return [(int(start), int(start) + 4, "X") for start in random.integers(0, 60, random.integers(0, 3))]


def _marked(random: np.random.Generator, truth: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    return [(start, end + int(random.random() < 0.2), tag) for start, end, tag in truth]


#: By type of label: the truth of a case, what an annotator who looks at it says, the distance, and a constant answer.
KINDS: dict[str, tuple[Draw, Draw, str, Any]] = {
    "categories": (lambda random, _: int(random.integers(CLASSES)), lambda _, truth: truth, "nominal", 0),
    "ratings": (lambda random, _: int(random.integers(1, 6)), lambda _, truth: truth, "squared", 3),
    "texts": (_text, _retold, "gleu", "a w1 w2 w3"),
    "boxes": (_boxes, _drawn, "box_iou", []),
    "spans": (_spans, _marked, "span_f1", []),
}

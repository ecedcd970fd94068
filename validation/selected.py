"""Labels that follow from labels: how often experts agree, by designs in which cases are read again for a reason.

Eight readers differ in strictness. A case is read twice, and a third time where the two differ (``adjudicated``); again
where the first reader says yes (``recall``); twice, or four times where it is hard, known by rows or not (``hard``,
``hard, sorted``); once, or three times where it is hard (``hard, once``); or where :func:`plausibly.plan` asks for it
(``planned``). Three designs are random. What is not refused has to be right: on average to within two points, and in
intervals that cover in at least 88 %. Random designs may be taken for selected in 5 %; a classifier that has seen no
label is to be accused of it in at most 3 %. Labels tell in half of the studies only that cases were chosen ``hard,
once``, so what is stated of their pairs is not checked; commands say of how many cases it is.

``python -m validation.selected`` prints the tables.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

import plausibly as pb
from plausibly.agreement import agreement, discrepancy_ratio
from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.base.progress import Progress
from plausibly.evaluation.seen_labels import above_ceiling
from validation._result import Result, Settings

READERS, N_CASES, STRICT = 8, 300, 0.4
REPETITIONS, QUICK = 100, 8
COVERS, OFF, ALARMS, ACCUSED, FOUND = 0.88, 0.02, 0.05, 0.03, 0.95
SELECTED = "adjudicated", "adjudicated, sorted", "recall", "hard", "hard, sorted", "hard, once", "planned"
RANDOM = "random 2 or 3", "random 1 to 3", "random tenth"
QUICK_DESIGNS = "adjudicated", "hard", "random 1 to 3"
ONCE, OF_PAIRS = "hard, once", ("experts agree", "alpha", "ratio of a peer")
UNSEEN = "hard", "hard, sorted"  #: designs in which who repeats the vote agrees no more than is possible
DRAWS, BUDGET = 100, 100  #: of the posterior that is planned by, and labels that are asked for


class Study:
    """Cases, what readers say of them by design, and the truth of all that is measured."""

    def __init__(self, design: str, random: np.random.Generator, n_cases: int = N_CASES):
        self.design, self.random = design, random
        z = random.normal(size=n_cases)
        strict = STRICT * random.normal(size=READERS)
        self.share = expit(2.2 * z[:, None] - 1.0 + strict)  # of each reader, to say yes
        self.who = random.permuted(np.tile(np.arange(READERS), (n_cases, 1)), axis=1)
        self.said = random.random((n_cases, READERS)) < np.take_along_axis(self.share, self.who, 1)
        self.number = self._number(np.abs(z - 0.45) < 0.5)
        self.honest = expit(2.2 * (z + 0.3 * random.normal(size=n_cases)) - 1.0)
        self.peer = random.random(n_cases) < self.share[np.arange(n_cases), random.integers(READERS, size=n_cases)]

    def _number(self, hard: np.ndarray) -> np.ndarray:
        first, n = self.said[:, :2], len(self.said)
        name = self.design.removesuffix(", sorted")
        if name == "planned":
            return self._planned(np.full(n, 2))
        return {
            "adjudicated": 2 + (first[:, 0] != first[:, 1]),
            "recall": 1 + first[:, 0],
            "hard": np.where(hard, 4, 2),
            "hard, once": np.where(hard, 3, 1),
            "random 2 or 3": self.random.integers(2, 4, n),
            "random 1 to 3": self.random.integers(1, 4, n),
            "random tenth": 1 + (self.random.random(n) < 0.1),
        }[name]

    def _planned(self, number: np.ndarray) -> np.ndarray:
        """Follow a plan: number of labels after the further ones that it asks for."""
        self.number = number
        labels = pb.Annotations.from_table(self.table())
        posterior = pb.aggregate(labels, class_prior="learned", draws=DRAWS, seed=0, progress=False)
        asked = pb.plan(posterior, budget=BUDGET, goal="information", seed=0, progress=False).chosen
        more = dict(zip(asked["case"], asked["labels"], strict=True))
        return np.minimum(number + [more.get(f"c{case}", 0) for case in range(len(number))], READERS)

    def table(self) -> pd.DataFrame:
        """Labels in a long table, in the order in which they were given unless it is sorted."""
        case = np.repeat(np.arange(len(self.number)), self.number)
        place = np.arange(len(case)) - np.repeat(np.cumsum(self.number) - self.number, self.number)
        columns = {"case": case, "annotator": self.who[case, place], "label": self.said[case, place]}
        if self.design.endswith("sorted"):
            order = np.lexsort((columns["annotator"], case))
            columns = {name: values[order] for name, values in columns.items()}
        names = {"case": "c", "annotator": "r"}
        table = {name: [f"{names[name]}{one}" for one in columns[name]] for name in names}
        return pd.DataFrame(table | {"label": np.where(columns["label"], "yes", "no")})

    def truth(self) -> dict[str, float]:
        """What pairs, panels of three, and one more reader of these cases would give on average."""
        mean, n = self.share.mean(axis=1), READERS
        both = (mean**2 * n - (self.share**2).mean(axis=1)) / (n - 1)  # two different readers, both yes
        agree = float(np.mean(1 - 2 * (mean - both)))
        yes = mean.mean()
        three = mean**2 * (3 - 2 * mean)  # of readers taken for alike, which at this spread changes less than .002
        names = self.honest > 0.5
        return {
            "experts agree": agree,
            "panel of three": float(np.where(names, three, 1 - three).mean()),
            "alpha": float(1 - (1 - agree) / (2 * yes * (1 - yes))),
            "ratio of a peer": 1.0,
            "sensitivity": float((names * mean).sum() / mean.sum()),
        }

    def found(self) -> dict[str, Any]:
        """The same from labels, with intervals; nothing for what is refused; and who is accused."""
        table, n = self.table(), len(self.number)
        annotations, cases = pb.Annotations.from_table(table, classes=["no", "yes"]), [f"c{i}" for i in range(n)]
        scores = {"A": pd.DataFrame({"case": cases, "no": 1 - self.honest, "yes": self.honest})}
        seed, found = int(self.random.integers(2**31)), {}
        panels = pb.evaluation.panels(annotations, scores, replicates=200, seed=seed)
        of_pairs = float(panels["human_level"]), interval(panels["human_level_total"].values, CI_PROB)
        found["experts agree"] = None if np.isnan(of_pairs[0]) else of_pairs
        options = {"truth": "annotator", "positive": "yes", "metrics": ["sensitivity"], "seed": seed}
        results = pb.evaluate(annotations, scores, replicates=200, progress=False, **options)
        drawn = interval(results["sensitivity_total"].values.ravel(), CI_PROB)
        found["sensitivity"] = float(results["sensitivity"].values.ravel()[0]), drawn
        if 3 in panels["n"]:
            three = panels.sel(n=3, classifier="A")
            drawn = interval(three["panel_accuracy_total"].values, CI_PROB)
            found["panel of three"] = float(three["panel_accuracy"]), drawn
        said = pd.DataFrame({"case": cases, "label": np.where(self.peer, "yes", "no")})
        try:
            of_chance = agreement(table, progress=False)
            ends = of_chance.interval(replicates=100, progress=False).loc["alpha"]
            found["alpha"] = of_chance.alpha, (ends["lower"], ends["upper"])
            ratio = discrepancy_ratio(table, {"A": said}, progress=False)
            ends = ratio.interval(replicates=300, progress=False).iloc[0]
            found["ratio of a peer"] = float(ratio.ratio.iloc[0]), (ends["lower"], ends["upper"])
        except AnnotationError:
            found |= {"alpha": None, "ratio of a peer": None}
        yes = np.array([row[:number].mean() for row, number in zip(self.said, self.number, strict=True)])
        vote = np.where(yes == 0.5, self.said[:, 0], yes > 0.5).astype(int)
        choice = np.stack([(self.honest > 0.5).astype(int), vote])
        seen = above_ceiling(annotations, ["honest", "copy"], choice, np.arange(n), seed)
        selected = getattr(annotations, "rounds", None) is not None
        return found | {"accused": "honest" in seen, "copy found": "copy" in seen, "alarm": selected}


def simulate(design: str, repetitions: int, seed: int) -> pd.DataFrame:
    """Tabulate how often a quantity is stated, its mean error and coverage; and how often something is said."""
    stated: dict[str, list[tuple[float, bool]]] = {}
    said: dict[str, list[bool]] = {}
    for number in range(repetitions):
        study = Study(design, np.random.default_rng([seed, 41, number]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlausiblyWarning)
            found = study.found()
        for what, true in study.truth().items():
            own = stated.setdefault(what, [])
            if found.get(what) is not None:
                value, (low, high) = found[what]
                own.append((value - true, low <= true <= high))
        for what in ("alarm", "accused", "copy found"):
            said.setdefault(what, []).append(found[what])
    rows = [
        {
            "design": design,
            "what": what,
            "stated": len(own) / repetitions,
            "off": np.mean([error for error, _ in own]) if own else np.nan,
            "covers": np.mean([inside for _, inside in own]) if own else np.nan,
            "n": len(own),
        }
        for what, own in stated.items()
    ]
    rows += [{"design": design, "what": what, "stated": np.mean(own), "n": repetitions} for what, own in said.items()]
    return pd.DataFrame(rows)


def check(settings: Settings) -> Iterator[Result]:
    """Simulate every design."""
    repetitions = QUICK if settings.quick else REPETITIONS
    with Progress(settings.progress) as bars:
        designs = QUICK_DESIGNS if settings.quick else (*SELECTED, *RANDOM)
        advance = bars.task("Simulating designs", len(designs), "designs")
        for design in designs:
            table = simulate(design, repetitions, settings.seed).set_index("what")
            for what, row in table.iterrows():
                n = int(row["n"])
                if what in ("alarm", "accused", "copy found"):
                    if (what == "alarm" and design in SELECTED) or (what == "copy found" and design in UNSEEN):
                        continue
                    count = round(row["stated"] * n)
                    limit = {"alarm": ALARMS, "accused": ACCUSED, "copy found": FOUND}[str(what)]
                    tail = (
                        stats.binom.cdf(count, n, limit)
                        if what == "copy found"
                        else stats.binom.sf(count - 1, n, limit)
                    )
                    yield Result(
                        "selected", design, str(what), {f"{limit:.0%}": float(tail)}, n, remark=f"{count / n:.2f}"
                    )
                elif n and not (design == ONCE and what in OF_PAIRS):
                    p = float(stats.binom.cdf(round(row["covers"] * n), n, COVERS))
                    remark = f"off by {row['off']:+.3f}, covers {row['covers']:.0%}"
                    yield Result("selected", design, str(what), {"coverage": p}, n, remark=remark)
            advance(1)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m validation.selected", description=(__doc__ or "").strip())
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--only", choices=(*SELECTED, *RANDOM))
    given = parser.parse_args()
    for design in [given.only] if given.only else (*SELECTED, *RANDOM):
        print(f"{simulate(design, given.repetitions, 0).round(3).to_string(index=False)}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Whether a verdict on a stand-in is right where annotators are misled together, or one class is rare.

Five readers differ in skill and strictness, and three of them read each of 300 cases. In ``misled``, 15 % of the cases
mislead everybody: three in four readers are wrong there. A model ``falls`` for them as readers do, or ``knows``
better, or is ``worse``, by .10, in the other cases. In ``rare``, 2 % of the cases are positive; a model ``sees`` them
as well as the readers, says ``never``, or tosses a ``coin`` as often as there are positives. Checked: no answer that
ignores the case, and no worse model, can stand in; who knows better is not told to be worse; and the widest interval
of accuracy, which allows for shared errors in a tenth of the cases, covers. In ``gold``, the truth of all cases is
given, and a model is ``better`` than the readers by .08, a ``copy`` of their vote, the ``same``, ``worse`` by .10, or
says ``never``: the first is never told to be worse, of the second alone it is said that it shares their errors.

``python -m validation.stand_ins`` prints the table.
"""

import argparse
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from plausibly.agreement import judge
from plausibly.base.progress import Progress
from validation._result import Result, Settings

N_CASES, PER_CASE, MISLED, RIGHT_THERE = 300, 3, 0.15, 0.25
ACCURACY = np.array([0.80, 0.84, 0.88, 0.92, 0.96])
STRICT = np.array([-0.06, 0.05, 0.0, 0.04, -0.03])  # added to specificity, taken from sensitivity
DESIGNS = {"misled": ("falls", "knows", "worse"), "rare": ("never", "coin", "sees")}
DESIGNS |= {"gold": ("better", "copy", "same", "worse", "never")}
REPETITIONS, QUICK = 20, {"misled": 3, "rare": 1, "gold": 3}
QUICK_MODELS = "knows", "never", *DESIGNS["gold"]
NOT_WORSE, MAY_STAND_IN = ("knows", "better"), ("falls", "sees", "better", "copy", "same")
COVERS = 0.9
SAMPLING = {"model": "one-coin", "draws": 150, "chains": 2, "warmup": 100, "replicates": 200, "progress": False}


def study(design: str, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Draw the truth, what each reader would say, who reads each case, and what models say."""
    truth = random.random(N_CASES) < {"misled": 0.4, "rare": 0.02, "gold": 0.4}[design]
    trap = random.random(N_CASES) < {"misled": MISLED, "rare": 0.0, "gold": MISLED / 3}[design]
    right = np.where(truth[:, None], ACCURACY - STRICT, ACCURACY + STRICT).clip(0, 0.995)
    right = np.where(trap[:, None], RIGHT_THERE, right)
    said = np.where(random.random(right.shape) < right, truth[:, None], ~truth[:, None])
    reads = np.argsort(random.random(right.shape), axis=1) < PER_CASE

    def model(elsewhere: float, there: float) -> np.ndarray:
        return np.where(random.random(N_CASES) < np.where(trap, there, elsewhere), truth, ~truth)

    typical, of_all = float(ACCURACY.mean()), float(right.mean())
    models = {
        "better": model(of_all + 0.08, of_all + 0.08),
        "copy": (said & reads).sum(axis=1) > PER_CASE / 2,
        "same": model(of_all, of_all),
        "falls": model(typical, RIGHT_THERE),
        "knows": model(typical, typical),
        "worse": model(*(of_all - 0.1,) * 2 if design == "gold" else (typical - 0.1, RIGHT_THERE)),
        "never": np.zeros(N_CASES, bool),
        "coin": random.random(N_CASES) < 0.02,
        "sees": model(typical, typical),
    }
    return truth, said, reads, {name: models[name] for name in DESIGNS[design]}


def simulate(design: str, repetitions: int, seed: int, only: tuple[str, ...] = ()) -> pd.DataFrame:
    """Tabulate answers, headlines and accuracies, one row for each data set and model."""
    rows = []
    for number in range(repetitions):
        truth, said, reads, models = study(design, np.random.default_rng([seed, 53, number]))
        labels = [(f"c{i}", f"r{k}", str(said[i, k])) for i, k in zip(*np.nonzero(reads), strict=True)]
        models = {name: one for name, one in models.items() if not only or name in only}
        given = {name: {f"c{i}": str(one) for i, one in enumerate(values)} for name, values in models.items()}
        gold = {f"c{i}": str(one) for i, one in enumerate(truth)} if design == "gold" else None
        found = judge(labels, given, gold=gold, **SAMPLING | ({"model": None} if gold else {}))
        typical = (said == truth[:, None])[reads].mean()
        for name, values in models.items():
            own, right = found.table.loc[name], float((values == truth).mean())
            row = {"model": name, "right": right, "lead": right - typical, "says": found.sentences(name)[0]}
            row |= {str(place): one.answer for place, one in enumerate(found.questions[name], 1)}
            for reading in ("accuracy", "accuracy_independent") if gold is None else ():
                row |= {reading: own[reading] - right}
                row |= {f"{reading} covers": own[f"{reading}_lower"] <= right <= own[f"{reading}_upper"]}
            if gold is None:
                row["widest covers"] = own["accuracy_least"] <= right <= own["accuracy_most"]
            told = found.headline(name)
            row["stands in"] = ("right, " in told and " can " in row["says"]) or f"So {name} can " in told
            row["told off"] = "should" in told or (row["4"] == "no")
            row["shares errors"] = "no further opinion" in told
            rows.append(row)
    return pd.DataFrame(rows)


def check(settings: Settings) -> Iterator[Result]:
    """Simulate both designs."""
    with Progress(settings.progress) as bars:
        advance = bars.task("Simulating stand-ins", len(DESIGNS), "designs")
        for design, names in DESIGNS.items():
            repetitions = QUICK[design] if settings.quick else REPETITIONS
            only = tuple(name for name in names if name in QUICK_MODELS) if settings.quick else names
            for name, own in simulate(design, repetitions, settings.seed, only).groupby("model", sort=False):
                n, wrong = len(own), "told off" if name in NOT_WORSE else "stands in"
                wrong = "shares errors" if name == "same" else wrong
                if name not in MAY_STAND_IN or wrong != "stands in":
                    never = {"never": float(not own[wrong].any())}
                    yield Result("stand-ins", f"{design}, {name}", wrong, never, n, remark=f"{own[wrong].sum()} of {n}")
                if "widest covers" in own and own["widest covers"].notna().all():
                    p = float(stats.binom.cdf(own["widest covers"].sum(), n, COVERS))
                    off = f"by labels alone {own['accuracy'].mean():+.3f}, independent "
                    off += f"{own['accuracy_independent'].mean():+.3f}"
                    yield Result("stand-ins", f"{design}, {name}", "accuracy", {"covers": p}, n, remark=off)
            advance(1)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m validation.stand_ins", description=(__doc__ or "").strip())
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--only", choices=sorted(DESIGNS))
    given = parser.parse_args()
    for design in [given.only] if given.only else DESIGNS:
        found = simulate(design, given.repetitions, 0)
        answers = found.groupby("model", sort=False)[list("1234")].agg(lambda own: own.value_counts().to_dict())
        numbers = found.groupby("model", sort=False).mean(numeric_only=True).round(3)
        with pd.option_context("display.width", 250, "display.max_columns", None, "display.max_colwidth", 60):
            print(f"{design}\n{numbers.T}\n{answers}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

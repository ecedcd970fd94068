"""Sets of classes calibrated with three labels a case, where a hundred labels say what they contain.

``python -m validation.chaosnli_sets --data FOLDER`` prints a table of ChaosNLI (see :mod:`validation.chaosnli`). Sets
of two classifiers are calibrated on some cases with three of their votes, and tested on other cases with all of theirs,
by the share of the votes that a set contains. Repetitions draw cases and votes. "Learned from others" has a prior that
was learned from the cases that sets are tested on, so that calibration cases are independent given this prior.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import plausibly as pb
from plausibly.data.annotations import Annotations
from plausibly.families.priors import Evidence, PredictionsPrior
from validation.chaosnli import read
from validation.published import ROOT

SIZES, ALPHAS, LABELS = (60, 757), (0.1, 0.2), 3
CLASSIFIERS = 2  #: of which sets are made; all are in the prior
FEW = {"chains": 2, "draws": 100, "progress": False}


def sources(counts: np.ndarray, n: int, scores: dict[str, np.ndarray], seed: int) -> Iterator[tuple[str, str, object]]:
    """Name, target, and annotations or a posterior of the first ``n`` cases, by which sets are calibrated."""
    both = Annotations.from_counts(counts)
    ours = both.select(np.arange(n))
    prior = PredictionsPrior.learn(
        both.select(np.arange(n, len(counts))), Evidence.of(scores, both), draws=200, seed=seed
    )
    own = {name: values[:n] for name, values in scores.items()}
    yield "no model, the next annotator's choice", "annotator", ours
    for name, given in {
        "uniform prior": {},
        "learned prior": {"class_prior": "learned"},
        "predictions as evidence": {"predictions": own},
        "predictions as evidence, learned from others": {"class_prior": prior},
    }.items():
        yield (
            name,
            "plausibility",
            pb.aggregate(ours, "dirichlet-categorical", reliability=1, seed=seed, **FEW, **given),
        )


def measure(votes: np.ndarray, scores: dict[str, np.ndarray], n: int, repetitions: int, seed: int) -> dict:
    """Share of the votes of new cases that sets contain, and their size, by method and level: (repetition, 2)."""
    found: dict[tuple[str, float], list[np.ndarray]] = {}
    for repetition in range(repetitions):
        random = np.random.default_rng([seed, n, repetition])
        order = random.permutation(len(votes))
        chosen = np.append(order[:n], order[len(votes) // 2 :])
        counts = np.array([random.multivariate_hypergeometric(row, LABELS) for row in votes[chosen]])
        ours = {name: values[chosen] for name, values in scores.items()}
        truth = (votes / votes.sum(axis=1, keepdims=True))[chosen[n:]]
        of_two = list(scores)[:CLASSIFIERS]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pb.PlausiblyWarning)
            for method, target, source in sources(counts, n, ours, repetition):
                for alpha in ALPHAS:
                    own = {name: ours[name][:n] for name in of_two}
                    made = pb.conformal(source, own, alpha=alpha, target=target, by_draw=False)
                    sets = made.predict({name: ours[name][n:] for name in of_two}).values
                    held = (sets * truth).sum(axis=-1).mean(), sets.sum(axis=-1).mean()
                    found.setdefault((method, alpha), []).append(np.array(held))
    return {key: np.array(rows) for key, rows in found.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 0, or 2 where there are no data."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.chaosnli_sets", description=(__doc__ or "").split("\n")[0]
    )
    folder = ROOT.parent / "shared/data"
    parser.add_argument("--data", type=Path, default=folder, metavar="FOLDER", help="folder that holds chaosnli")
    parser.add_argument("--repetitions", type=int, default=20, help="number of draws of cases and labels (20)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    given = parser.parse_args(arguments)
    if not (given.data / "chaosnli/snli.npz").is_file():
        print(f"no data: {given.data / 'chaosnli/snli.npz'}")
        return 2
    votes, scores = read(given.data / "chaosnli")
    levels = [f"contains {1 - alpha:.0%} | size" for alpha in ALPHAS]
    print(f"| cases | method | {' | '.join(levels)} |\n|---|---{'|---|---' * len(ALPHAS)}|")
    for n in SIZES:
        found = measure(votes, scores, n, given.repetitions, given.seed)
        for method in dict.fromkeys(method for method, _ in found):
            cells = [f"{held:.3f} | {size:.2f}" for held, size in (found[method, a].mean(axis=0) for a in ALPHAS)]
            print(f"| {n} | {method} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Accuracy of five classifiers from two to five labels a case, where a hundred labels say what it is.

``python -m validation.chaosnli --data FOLDER`` prints and writes a table. Of the 100 votes on each of 1,514 pairs of
sentences (ChaosNLI, SNLI part: Nie, Zhou & Bansal 2020, github.com/easonnlp/ChaosNLI, CC BY-NC 4.0), some are drawn
without replacement, repeatedly. Each row is a way to get accuracies from these labels: their error, how often 94 %
intervals cover what all votes say, and how wide they are. CROWDLAB (Goh, Tkachenko & Mueller 2022) is in the table
where cleanlab is installed.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from plausibly.base.bootstrap import CI_PROB
from plausibly.data.annotations import Annotations
from plausibly.evaluation import panels
from validation._worlds import Data, draw
from validation.evidence import N_DRAWS, Values, by_prior, compare, differences, first_choices, quantities
from validation.published import ROOT

LABELS = (2, 3, 5)
STEPS = 200  #: of expectation and maximisation


def uniform(data: Data, random: np.random.Generator) -> Values:
    """Annotations only, each class of each case with a prior shape of 1."""
    shape = np.broadcast_to(data.counts + 1.0, (N_DRAWS, *data.counts.shape))
    return quantities(draw(shape, random), first_choices(data))


def learned(data: Data, random: np.random.Generator) -> Values:
    """Annotations only, one prior of all cases, learned from them."""
    return by_prior(data, random, evidence=False)


def of_panels(data: Data, random: np.random.Generator) -> Values:
    """Against all labels of a case as a panel, which is their vote, and against each: replicates over cases."""
    found = panels(Annotations.from_counts(data.counts), data.scores, seed=int(random.integers(2**31)))
    largest = {"top-1": found["panel_accuracy_total"][:, -1], "agreement": found["expert_agreement_total"]}
    values = {name: one.transpose("classifier", "replicate").values for name, one in largest.items()}
    return values | {f"{name} difference": differences(one) for name, one in values.items()}


def consensus(data: Data, random: np.random.Generator) -> Values:
    """Against the consensus of the labels and this classifier by CROWDLAB."""
    from cleanlab.multiannotator import get_label_quality_multiannotator

    labels = np.array([random.permutation(np.repeat(np.arange(len(row)), row)) for row in data.counts])
    found = []
    for scores in data.scores.values():
        made = get_label_quality_multiannotator(labels, scores, return_detailed_quality=False, verbose=False)
        named = made["label_quality"]["consensus_label"].to_numpy()
        found.append([(named == scores.argmax(axis=1)).mean()])
    return {"top-1": np.array(found), "top-1 difference": differences(np.array(found))}


def latent_classes(data: Data, random: np.random.Generator) -> Values:
    """Probability that this classifier names the one true class, given which it errs independently of people."""
    found = np.array([[_latent_class(data.counts, first)] for first in first_choices(data)])
    return {"top-1": found, "top-1 difference": differences(found)}


def _latent_class(counts: np.ndarray, first: np.ndarray) -> float:
    """Expectation and maximisation, all people with one table of confusion (Dawid & Skene 1979)."""
    n, k = counts.shape
    named = np.eye(k)[first]
    true = counts + named + 0.1
    for _ in range(STEPS):
        true = true / true.sum(axis=1, keepdims=True)
        people, classifier = true.T @ counts + 0.01, true.T @ named + 0.01
        logs = np.log(true.mean(axis=0))
        logs = logs + counts @ np.log(people / people.sum(axis=1, keepdims=True)).T
        logs = logs + named @ np.log(classifier / classifier.sum(axis=1, keepdims=True)).T
        true = np.exp(logs - logs.max(axis=1, keepdims=True))
    true = true / true.sum(axis=1, keepdims=True)
    return float(true[np.arange(n), first].mean())


METHODS: dict[str, Callable[[Data, np.random.Generator], Values]] = {
    "annotations only, uniform prior": uniform,
    "annotations only, learned prior": learned,
    "the vote: panels of all labels": of_panels,
    "consensus of labels and classifier (CROWDLAB)": consensus,
    "latent classes (EM)": latent_classes,
    "predictions as evidence": by_prior,
}
QUANTITIES = ("top-1", "agreement", "top-1 difference", "agreement difference")
TITLES = {
    "top-1": "Accuracy against the most plausible class",
    "agreement": "Agreement with an expert",
    "top-1 difference": "Differences of accuracy, all pairs",
    "agreement difference": "Differences of agreement, all pairs",
}


def read(folder: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Votes (case, class), and the scores of each classifier."""
    with np.load(folder / "snli.npz") as stored:
        scores = {name: stored[name] for name in stored.files if name not in ("case", "votes")}
        return stored["votes"], scores


def measure(votes: np.ndarray, scores: dict[str, np.ndarray], labels: int, repetitions: int, seed: int) -> dict:
    """Rows of :func:`validation.evidence.compare` by method and quantity, over draws of labels."""
    plausibility = votes / votes.sum(axis=1, keepdims=True)
    found: dict[tuple[str, str], list[tuple[np.ndarray, ...]]] = {}
    for repetition in range(repetitions):
        random = np.random.default_rng([seed, labels, repetition])
        counts = np.array([random.multivariate_hypergeometric(row, labels) for row in votes])
        data = Data(plausibility, counts, scores)
        truth = quantities(plausibility[None], first_choices(data))
        for method, of in METHODS.items():
            if method.endswith("(CROWDLAB)") and find_spec("cleanlab") is None:
                continue
            for name, draws in of(data, random).items():
                found.setdefault((method, name), []).append(compare(truth[name][:, 0], draws))
    return found


def table(found: dict, labels: int, quantity: str) -> list[str]:
    """Lines of one quantity: mean, mean error (of differences, of their sizes), coverage and width."""
    lines = []
    for method in METHODS:
        if (method, quantity) not in found:
            continue
        truth, error, width, covers = (np.array(one) for one in zip(*found[method, quantity], strict=True))
        signed = not quantity.endswith("difference")
        cells = [f"{(truth + error).mean():.3f}", f"{error.mean():+.3f}"] if signed else [f"{np.abs(error).mean():.3f}"]
        cells += [f"{covers.mean():.2f}", f"{width.mean():.3f}"] if width.any() else ["", ""]
        lines.append(f"| {labels} | {method} | " + " | ".join(cells) + " |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write the tables; returns 0, or 2 where there are no data."""
    parser = argparse.ArgumentParser(prog="python -m validation.chaosnli", description=(__doc__ or "").split("\n")[0])
    folder = ROOT.parent / "shared/data"
    parser.add_argument("--data", type=Path, default=folder, metavar="FOLDER", help="folder that holds chaosnli")
    parser.add_argument("--out", type=Path, default=Path("results/chaosnli.md"), metavar="FILE", help="file to write")
    parser.add_argument("--repetitions", type=int, default=100, help="number of draws of labels (100)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    given = parser.parse_args(arguments)
    if not (given.data / "chaosnli/snli.npz").is_file():
        print(f"no data: {given.data / 'chaosnli/snli.npz'}")
        return 2
    votes, scores = read(given.data / "chaosnli")
    lines: dict[str, list[str]] = {quantity: [] for quantity in QUANTITIES}
    for labels in LABELS:
        found = measure(votes, scores, labels, given.repetitions, given.seed)
        for quantity in QUANTITIES:
            lines[quantity] += table(found, labels, quantity)
            print("\n".join([f"{TITLES[quantity]}:", *table(found, labels, quantity)]), flush=True)
    text = []
    truth = quantities((votes / votes.sum(axis=1, keepdims=True))[None], first_choices(Data(votes, votes, scores)))
    for quantity, rows in lines.items():
        known = f" (by all votes {truth[quantity].mean():.3f})" if not quantity.endswith("difference") else ""
        head = "mean | error" if known else "mean absolute error"
        columns = f"| labels | method | {head} | covers | width |"
        rule = "|---" * (columns.count("|") - 1) + "|"
        text += [f"**{TITLES[quantity]}**{known}", "", columns, rule, *rows, ""]
    intro = f"{len(votes):,} cases, {len(scores)} classifiers, {given.repetitions} draws of labels"
    intro = f"{intro}; {CI_PROB:.0%} intervals."
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join([intro, "", *text]))
    print(f"\n{given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Predictions as evidence: how often annotation intervals cover a classifier's accuracy, and how far off they are.

Each world of :mod:`validation._worlds` is simulated repeatedly. Over data sets, 94 % annotation intervals have to cover
the truth in at least 88 %, and draws have to be right on average to within 1.5 points: of the share of the cases in
which a classifier names the most plausible class ("top-1"), of the mean plausibility of its first choice ("agreement"),
and of the differences between two classifiers. Of two classes, they have to cover sensitivity and specificity in at
least 80 %, and draws may be 5 points off. Limits are wider than chance, because the program describes none of these
classifiers exactly. Each p-value allows for the number of classifiers.

Data from the program itself, with shared parameters from their prior, have to give uniform places, as in ``_ranks``.

``python -m validation.evidence`` prints both kinds of worlds as a table: those that hold and, which no check asserts,
those that break an assumption. Another table has sensitivities and specificities; ``--only`` chooses worlds.
``--checks`` prints how often :func:`plausibly.evaluation.evidence_checks` says so instead.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd
from numpyro import handlers
from scipy import stats

import plausibly as pb
from plausibly.base.bootstrap import CI_PROB
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import LabelledCases
from plausibly.data.regression import prior_shapes
from plausibly.evaluation import evidence_checks
from plausibly.evaluation.checks import label_checks
from plausibly.evaluation.evidence import digests
from plausibly.families.priors import Evidence, PredictionsPrior, case_prior
from plausibly.families.priors.evidence import labels_of
from plausibly.families.priors.evidence import log_scores as centred
from plausibly.families.priors.fit import fit
from plausibly.families.priors.freed import accuracies
from plausibly.families.true_class import class_probabilities, sampler_of
from plausibly.models import MODELS
from validation._ranks import places
from validation._result import Result, Settings
from validation._worlds import FAILS, HOLDS, NOT_TRUE_CLASS, ONE_TRUE_CLASS, Data, World, draw, five

REPETITIONS, QUICK = 100, 6
N_DRAWS = 300
WARMUP, SWEEPS, TRUE_DRAWS = 100, 2, 200  #: of models of one true class: sweeps before the first draw, of each, draws
COVERS, OFF = 0.88, 0.015  #: least coverage and greatest bias that are allowed
OF_FEW = {"sensitivity": (0.8, 0.05), "specificity": (0.8, 0.05)}  #: the same of what rests on few cases
PACKAGE = "4 classes, 3 labels, 600 cases"  #: world that is evaluated by the public functions, too
QUICK_RUNS = f"{PACKAGE}, aggregate and evaluate", "one true class, 5% of labels wrong, 200 cases"
PARTLY = "4 classes, 3 labels, 150 of 1500 cases"  #: another, in which most cases have no annotations

Values = dict[str, np.ndarray]  # by quantity: a value of each classifier, or draws of each


def quantities(plausibility: np.ndarray, first: np.ndarray) -> Values:
    """Accuracy and agreement of classifiers (classifier, draw), and their differences (pair, draw).

    Plausibilities are (draw, case, class), and first choices (classifier, case). The second of two classes is positive.
    """
    top, cases = plausibility.argmax(axis=2), np.arange(plausibility.shape[1])
    accuracy = np.array([(top == one).mean(axis=1) for one in first])
    agreement = np.array([plausibility[:, cases, one].mean(axis=1) for one in first])
    found = {"top-1": accuracy, "agreement": agreement}
    found |= {f"{name} difference": differences(values) for name, values in found.items()}
    if plausibility.shape[2] == 2:
        for name, named in (("sensitivity", 1), ("specificity", 0)):
            found[name] = np.array([np.mean(top == one, axis=1, where=top == named) for one in first])
    return found


def differences(values: np.ndarray) -> np.ndarray:
    """Differences of all pairs of rows."""
    one, other = np.triu_indices(len(values), 1)
    return values[one] - values[other]


def first_choices(data: Data) -> np.ndarray:
    """First choices of the classifiers."""
    return np.array([scores.argmax(axis=1) for scores in data.scores.values()])


def annotations_of(counts: np.ndarray) -> Annotations:
    """Annotations from counts, the last of which may be 0."""
    return Annotations.from_counts(counts[counts.any(axis=1)]).with_cases(map(str, range(len(counts))))


def by_prior(data: Data, random: np.random.Generator, draws: int = N_DRAWS, evidence: bool = True) -> Values:
    """Draws of the quantities, from the learned prior of each case and its labels."""
    annotations = annotations_of(data.counts)
    given = Evidence.of(data.scores if evidence else None, annotations)
    prior = PredictionsPrior.learn(annotations, given, draws=draws, seed=int(random.integers(2**31)))
    return quantities(draws_of(prior, annotations, data.counts, random), first_choices(data))


def draws_of(
    prior: PredictionsPrior, annotations: Annotations, counts: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Draws of the plausibilities, each given one draw of the shared parameters."""
    shape = prior.shapes(annotations, Slots.of_every_class(*counts.shape), range(prior.n_draws))
    return draw(shape.reshape(-1, *counts.shape) + counts, random)


def by_true_class(data: Data, random: np.random.Generator, draws: int = TRUE_DRAWS) -> Values:
    """Draws of the quantities by a model of one true class: of people who differ, or of people who are alike."""
    n, k = data.counts.shape
    if data.people is None or data.labels is None:
        annotations = Annotations.from_counts(data.counts)
        labels, name = LabelledCases.of(annotations, alike=True), "common-confusion"
    else:
        case, m = np.arange(n), data.people.shape[1]
        columns = np.repeat(case, m), data.people.ravel(), data.labels.ravel()
        labels, name = LabelledCases(*columns, n, int(data.people.max()) + 1, k), "dawid-skene"
    log_scores = np.stack([centred(scores) for scores in data.scores.values()])
    declared = MODELS[name].family
    assert declared is not None
    sampler, labels = replace(declared, thinning=SWEEPS), labels.with_scores(log_scores)
    chain = sampler_of(sampler, labels, draws=draws, warmup=WARMUP, seed=int(random.integers(2**31))).run([0])[0]
    probability = class_probabilities(sampler, labels, {site: values[None] for site, values in chain.items()})[0][0]
    true = (probability.cumsum(axis=2) < random.random((draws, n, 1))).sum(axis=2).clip(max=k - 1)
    confusion = np.mean(sampler.confusion(chain), axis=1)  # of annotators alike
    plausibility = confusion[np.arange(draws)[:, None], true]
    # The most probable label is the true class, but for chance.
    first = first_choices(data)
    accuracy = np.array([(true == one).mean(axis=1) for one in first])
    found = quantities(plausibility, first) | {"top-1": accuracy, "top-1 difference": differences(accuracy)}
    return found


def by_package(data: Data, random: np.random.Generator) -> Values:
    """Draws of the accuracies and their differences by the public functions."""
    seed = int(random.integers(2**31))
    annotations = annotations_of(data.counts)
    given = {"predictions": data.scores, "chains": 2, "draws": N_DRAWS // 2, "seed": seed, "progress": False}
    posterior = pb.aggregate(annotations, "dirichlet-categorical", **given)
    results = pb.evaluate(posterior, data.scores, k=1, sizes=1, replicates=0, seed=seed, progress=False)
    accuracy = results["top1_accuracy"].transpose("classifier", "draw").values
    return {"top-1": accuracy, "top-1 difference": differences(accuracy)}


class Coverage(NamedTuple):
    """Truth, error of the mean draw, width of the interval and whether it covers: (data set, classifier)."""

    truth: np.ndarray
    error: np.ndarray
    width: np.ndarray
    covers: np.ndarray


def coverage(
    world: World,
    repetitions: int,
    seed: int,
    method: Callable[[Data, np.random.Generator], Values] = by_prior,
    advance: Callable[[int], None] = lambda n: None,
) -> dict[str, Coverage]:
    """Compare draws of each quantity with the truth, over repetitions."""
    found: dict[str, list[tuple[np.ndarray, ...]]] = {}
    for repetition in range(repetitions):
        random = np.random.default_rng([seed, repetition])
        data = world(random)
        truth = quantities(data.plausibility[None], first_choices(data))
        for name, draws in method(data, random).items():
            found.setdefault(name, []).append(compare(truth[name][:, 0], draws))
        advance(1)
    return {name: Coverage(*map(np.array, zip(*rows, strict=True))) for name, rows in found.items()}


def compare(truth: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, ...]:
    """One row of :class:`Coverage`."""
    low, high = np.quantile(draws, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=1)
    covers = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    return truth, draws.mean(axis=1) - truth, high - low, covers


def results(what: str, found: dict[str, Coverage]) -> Iterator[Result]:
    """Test each quantity for covering often enough, and for being right on average."""
    for name, (_, error, _, covers) in found.items():
        n, n_classifiers = covers.shape
        least, off = OF_FEW.get(name, (COVERS, OFF))
        rare = [stats.binomtest(int(k), n, least, "less").pvalue for k in covers.sum(axis=0)]
        bias, se = error.mean(axis=0), np.maximum(error.std(axis=0, ddof=1), 1e-6) / np.sqrt(n)
        far = stats.t.sf((np.abs(bias) - off) / se, n - 1)
        tests = {"coverage": min(rare), "bias": min(far)}
        tests = {test: float(min(1.0, n_classifiers * p)) for test, p in tests.items()}
        worst = bias[np.abs(bias).argmax()]
        remark = f"covers {covers.mean():.0%}, least {covers.mean(axis=0).min():.0%}; bias up to {worst:+.3f}"
        yield Result("evidence", what, name, tests, n, remark=remark)


def check(settings: Settings) -> Iterator[Result]:
    """Count coverages in each world, by the public functions in one of them, and places of the program's own data."""
    repetitions = QUICK if settings.quick else REPETITIONS
    runs = {what: (world, by_prior) for what, world in HOLDS.items()}
    for what in (PACKAGE, PARTLY):
        runs[f"{what}, aggregate and evaluate"] = HOLDS[what], by_package
    runs |= {f"one true class, {what}": (world, by_true_class) for what, world in ONE_TRUE_CLASS.items()}
    if settings.quick:
        runs = {what: runs[what] for what in QUICK_RUNS}
    with Progress(settings.progress) as bars:
        for what, (world, method) in runs.items():
            if settings.only in what:
                advance = bars.task(f"Evidence, {what}", repetitions, "data sets")
                found = coverage(world, repetitions, settings.seed, method, advance)
                if method is by_true_class:  # whose agreement rests on the annotators, and is not what it is for
                    found = {name: values for name, values in found.items() if "agreement" not in name}
                yield from results(what, found)
        if settings.only in OWN:
            advance = bars.task(f"Evidence, {OWN}", 4 * repetitions, "data sets")
            for name, values in own_places(4 * repetitions, settings.seed, advance).items():
                yield Result.of_places("evidence", OWN, name, values)


OWN = "data from the program itself"
_SIZE = {"n": 100, "k": 3, "m": 4}


def own_places(repetitions: int, seed: int, advance: Callable[[int], None] = lambda n: None) -> dict[str, np.ndarray]:
    """Places of parameters and quantities among their draws, for parameters from their prior.

    The prevalence that the program is given is the same in all data sets; otherwise it would depend on the labels.
    """
    n, k, m = _SIZE.values()
    random = np.random.default_rng([seed, n])
    seen = draw(np.full((n, k), 0.4), random)
    scores = {name: values for name, values in five(seen, random).items() if name in ("A", "B", "expert")}
    annotations = Annotations.from_counts(np.ones((n, k), int))
    evidence = Evidence.of(scores, annotations)
    log_prevalence = np.log(np.array([0.5, 0.3, 0.2])).astype(np.float32)
    found: dict[str, list[float]] = {}
    for _ in range(repetitions):
        key = jax.random.key(int(random.integers(2**31)))
        trace = handlers.trace(handlers.seed(case_prior, key)).get_trace(evidence.log_scores, log_prevalence)
        parameters = {name: np.asarray(site["value"]) for name, site in trace.items()}
        plausibility = draw(np.asarray(prior_shapes(parameters, evidence.log_scores, log_prevalence), float), random)
        data = Data(plausibility, random.multinomial(m, plausibility), scores)
        annotations = Annotations.from_counts(data.counts)
        given = evidence.log_scores, log_prevalence, labels_of(annotations)
        made = fit(case_prior, *given, draws=99, seed=int(random.integers(2**31)))
        prior = PredictionsPrior(annotations.classes, evidence, log_prevalence, made)
        first = first_choices(data)
        draws = quantities(draws_of(prior, annotations, data.counts, random), first)
        truth = quantities(plausibility[None], first)
        pairs = {name: (truth[name][0, 0], values[0]) for name, values in draws.items()}
        for name, values in parameters.items():
            pairs[name] = np.ravel(values)[0], made.parameters[name].reshape(99, -1)[:, 0]
        for name, (value, of_draws) in pairs.items():
            found.setdefault(name, []).append(float(places(np.array([value]), of_draws[:, None], random)[0]))
        advance(1)
    return {name: np.array(values) for name, values in found.items()}


def rows(
    worlds: dict[str, World],
    repetitions: int,
    seed: int,
    method: Callable[[Data, np.random.Generator], Values] = by_prior,
) -> Iterator[str]:
    """Lines of a table: the first classifier of each world, by evidence and by its vote."""
    for what, world in worlds.items():
        found = coverage(world, repetitions, seed, method)
        vote = np.mean([by_vote(world(np.random.default_rng([seed, one]))) for one in range(repetitions)])
        cells = [f"{found['top-1'].truth[:, 0].mean():.3f}", f"{vote:+.3f}"]
        for name in ("top-1", "agreement", "top-1 difference"):
            of = found[name]
            cells += [f"{of.error[:, 0].mean():+.3f}", f"{of.covers[:, 0].mean():.2f}"]
        yield f"| {what} | {' | '.join(cells)} |"


def rows_of_two(worlds: dict[str, World], repetitions: int, seed: int) -> Iterator[str]:
    """Lines of a table: sensitivity and specificity of "A" and "B", by annotations only and by evidence."""
    for what, world in worlds.items():
        alone = coverage(world, repetitions, seed, partial(by_prior, evidence=False))
        found = coverage(world, repetitions, seed)
        for name in OF_FEW:
            for at, classifier in enumerate("AB"):
                cells = [classifier, name, f"{found[name].truth[:, at].mean():.3f}"]
                for of in (alone[name], found[name]):
                    cells += [f"{of.error[:, at].mean():+.3f}", f"{of.covers[:, at].mean():.2f}"]
                yield f"| {what} | {' | '.join([*cells, f'{found[name].width[:, at].mean():.3f}'])} |"


def by_vote(data: Data) -> float:
    """Error of the accuracy of the first classifier against the most frequent label, ties split."""
    labelled = data.counts.any(axis=1)
    most = (data.counts == data.counts.max(axis=1, keepdims=True))[labelled]
    first, cases = first_choices(data)[0], np.arange(len(most))
    against = (most / most.sum(axis=1, keepdims=True))[cases, first[labelled]].mean()
    return float(against - (data.plausibility.argmax(axis=1) == first).mean())


def caught(data: Data, seed: int) -> dict[str, bool]:
    """Which checks the first classifier fails; fresh labels are two of each of 200 cases."""
    random = np.random.default_rng(seed)
    annotations = Annotations.from_counts(data.counts)
    some = random.choice(len(data.counts), min(200, len(data.counts)), replace=False)
    fresh = random.multinomial(2, data.plausibility[some])
    fresh = Annotations.from_counts(fresh, cases=annotations.cases[some], classes=annotations.classes)
    options = {"class_prior": "learned", "draws": 50, "seed": seed, "progress": False}
    posterior = pb.aggregate(annotations, "dirichlet-categorical", **options)
    first = next(iter(data.scores))
    alone = evidence_checks(posterior, {first: data.scores[first]}, seed=seed)
    known = {"evidence": json.dumps({"digests": digests(data.scores, annotations)})}
    table = pd.concat([alone[:1], label_checks(annotations, data.scores, known, fresh=fresh, seed=seed)])
    failed = set(table.loc[(table["classifier"] == first) & ~table["passed"], "check"])
    found = {name: name in failed for name in CHECKS[1:]}
    return found | {"plurality": bool(failed & {"plurality", "unanimous for", "unanimous against"})}


def rows_of_checks(worlds: dict[str, World], repetitions: int, seed: int) -> Iterator[str]:
    """Lines of a table: how often each check fails for the first classifier of each world."""
    for what, world in worlds.items():
        found = [caught(world(np.random.default_rng([seed, one])), one) for one in range(repetitions)]
        yield f"| {what} | {' | '.join(f'{np.mean([one[name] for one in found]):.2f}' for name in CHECKS[1:])} |"


def rows_of_freed(worlds: dict[str, World], repetitions: int, seed: int) -> Iterator[str]:
    """Lines of a table: the first classifier of each world, also with the shape of disagreement freed."""
    for what, world in worlds.items():
        found = []
        for repetition in range(repetitions):
            data = world(np.random.default_rng([seed, repetition]))
            annotations, first = Annotations.from_counts(data.counts), first_choices(data)
            main, freed = accuracies(annotations, Evidence.of(data.scores, annotations), first, seed=repetition)
            truth = quantities(data.plausibility[None], first)["top-1"][0, 0]
            ends = np.quantile([main[0], freed[0]], [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=1)
            for (low, high), mean in zip(
                [ends[:, 0], (ends[0].min(), ends[1].max())], (main[0], freed[0]), strict=True
            ):
                found += [mean.mean() - truth, low - 1e-9 <= truth <= high + 1e-9, high - low]
        parts = np.reshape(found, (repetitions, 2, 3)).mean(axis=0)
        cells = [f"{error:+.3f} | {covers:.2f} | {width:.3f}" for error, covers, width in parts]
        yield f"| {what} | {' | '.join(cells)} |"


HEAD_OF_FREED = ("world", "error", "covers", "width", "error, freed", "union covers", "union width")
CHECKS = ("world", "agreement", "ceiling", "plurality", "fresh")
HEAD = ("world", "accuracy", "vote", "top-1", "covers", "agreement", "covers", "A less B", "covers")
HEAD_OF_TWO = ("world", "classifier", "of", "truth", "annotations only", "covers", "evidence", "covers", "width")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the accuracy of the first classifier, its errors and how often intervals cover it."""
    parser = argparse.ArgumentParser(prog="python -m validation.evidence", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=25, help="number of data sets (25)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.add_argument("--only", default="", metavar="TEXT", help="worlds whose names contain this text")
    parser.add_argument("--checks", action="store_true", help="print how often each check of an accuracy fails instead")
    parser.add_argument("--freed", action="store_true", help="print accuracies with the shape of disagreement freed")
    given = parser.parse_args(arguments)
    few = {name: world for name, world in HOLDS.items() if "positive" in name}
    of_truth = partial(rows, method=by_true_class)
    tables = (
        ("Worlds that hold", HOLDS, HEAD, rows),
        ("Worlds that break an assumption", FAILS, HEAD, rows),
        ("Few of two classes", few, HEAD_OF_TWO, rows_of_two),
        ("One true class, by a model of one true class", ONE_TRUE_CLASS, HEAD, of_truth),
        ("Worlds that break its assumptions", NOT_TRUE_CLASS, HEAD, of_truth),
    )
    checked = ("Shares of data sets in which a check fails", {PACKAGE: HOLDS[PACKAGE]} | FAILS, CHECKS, rows_of_checks)
    of_freed = ("Accuracies with the shape of disagreement freed", HOLDS | FAILS, HEAD_OF_FREED, rows_of_freed)
    if given.checks or given.freed:
        tables = (checked,) * given.checks + (of_freed,) * given.freed
    for title, worlds, head, of in tables:
        chosen = {name: world for name, world in worlds.items() if given.only in name}
        if chosen:
            print(f"{title}, {given.repetitions} data sets each:\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
            for row in of(chosen, given.repetitions, given.seed):
                print(row, flush=True)
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Programs of a user's own, whose labels do not follow the plausibilities: leave-one-out, and predictive checks.

In one program half of the labels are guesses, in the other those of a case are more alike than its plausibilities say
(Dirichlet-multinomial). Data sets are drawn from each. The log probabilities of labels that are left out are those of a
grid, to 0.01 in all; and checks of the program that the data are from fail no more often than they may.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.handlers import scale
from scipy import stats
from scipy.special import gammaln, logsumexp

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.base.progress import Progress
from validation._result import Result, Settings

N_CLASSES, N_LABELS = 3, 5
N_CASES, DATA_SETS = 50, 40
QUICK = 15, 3  # of cases and of data sets
TOLERANCE = 0.01  #: nats, of the sum over all labels
OUTSIDE = 0.06  #: of statistics that are outside the 94 % interval of replicates, at most
ALIKE = 3.0  # concentration of the Dirichlet-multinomial distribution of the labels of a case
SHORT = {"draws": 100, "chains": 2, "warmup": 200}


def guessing(case: Any) -> None:
    """Half of the labels are guesses."""
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    label = jnp.argmin(case.rankings.positions, axis=-1)
    guesses = case.n_classes / case.n_classes.sum()
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
        numpyro.sample("label", dist.Categorical(0.5 * plausibility + 0.5 * guesses), obs=label)


def alike(case: Any) -> None:
    """Labels of a case are more alike than independent ones."""
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    counts = case.counts @ case.named
    numpyro.sample("counts", dist.DirichletMultinomial(ALIKE * plausibility, counts.sum()), obs=counts)


@dataclass(frozen=True)
class World:
    """A program, the probabilities of labels that it draws given plausibilities, and their log likelihood."""

    program: Callable[[Any], None]
    shares: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    log_likelihood: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def labels(self, n_cases: int, random: np.random.Generator) -> np.ndarray:
        """Draw labels (case, annotator)."""
        shares = self.shares(random.dirichlet(np.ones(N_CLASSES), n_cases), random)
        return (random.random((n_cases, N_LABELS, 1)) > shares.cumsum(-1)[:, None, :-1]).sum(-1)

    def left_out(self, labels: np.ndarray) -> float:
        """Sum of the log probabilities of all labels, each given the others of its case, on a grid."""

        @cache
        def evidence(counts: tuple[int, ...]) -> float:
            return float(logsumexp(self.log_likelihood(grid(), np.array(counts))))

        total = 0.0
        for row in labels:
            counts = np.bincount(row, minlength=N_CLASSES)
            for label in row:
                rest = counts - (np.arange(N_CLASSES) == label)
                total += evidence(tuple(sorted(counts.tolist()))) - evidence(tuple(sorted(rest.tolist())))
        return total


WORLDS = {
    "half are guesses": World(
        guessing, lambda share, random: 0.5 * share + 0.5 / N_CLASSES,
        lambda share, counts: np.log(0.5 * share + 0.5 / N_CLASSES) @ counts,
    ),
    "alike within cases": World(
        alike, lambda share, random: np.stack([random.dirichlet(ALIKE * row) for row in share]),
        lambda share, counts: (gammaln(ALIKE * share + counts) - gammaln(ALIKE * share)).sum(1)
        - gammaln(ALIKE + counts.sum()),
    ),
}  # fmt: skip


@cache
def grid(n: int = 400) -> np.ndarray:
    """Centres of the triangles of a grid over three plausibilities."""
    i, j = (index.ravel() for index in np.indices((n, n)))
    parts = [np.stack([i + third, j + third], 1)[i + j < n - up] / n for up, third in enumerate((1 / 3, 2 / 3))]
    two = np.concatenate(parts)
    return np.column_stack([two, 1 - two.sum(1)])


def check(settings: Settings) -> Iterator[Result]:
    """Leave labels out of a data set of each world, and check posteriors of many."""
    n_cases, data_sets = QUICK if settings.quick else (N_CASES, DATA_SETS)
    with Progress(settings.progress) as bars:
        for number, (name, world) in enumerate(WORLDS.items()):
            random = np.random.default_rng([settings.seed, number])
            model = pb.Model(world.program.__name__, world.program, takes="labels", concentration=1.0)
            advance = bars.task(f"Own programs, {name}", data_sets, "data sets")
            outside: dict[str, list[bool]] = {}
            for at in range(data_sets):
                labels = world.labels(n_cases, random)
                annotations = pb.Annotations.from_labels(labels, classes=list("abc"))
                if at == 0:
                    yield _left_out(name, world, model, annotations, labels)
                posterior = unjudged(pb.aggregate)(annotations, model, seed=at, progress=False, **SHORT)
                table = pb.predictive_check(posterior, seed=at, progress=False).table
                for row in table[table["status"].isin(["reproduced", "not reproduced"])].itertuples():
                    outside.setdefault(str(row.statistic), []).append(row.status == "not reproduced")
                advance(1)
            for statistic, failed in outside.items():
                test = stats.binomtest(sum(failed), len(failed), OUTSIDE, alternative="greater")
                remark = f"{sum(failed)} of {len(failed)} are outside"
                yield Result("own-programs", name, statistic, {"outside": test.pvalue}, len(failed), remark=remark)


def _left_out(name: str, world: World, model: pb.Model, annotations: pb.Annotations, labels: np.ndarray) -> Result:
    models = {"own": {"model": model}, "dirichlet-categorical": (1,)}
    table = pb.compare_models(annotations, models, progress=False).table
    exact, found = world.left_out(labels), float(table.loc["own", "elpd"])
    remark = f"{found:.3f}, on a grid {exact:.3f}; {table.loc['dirichlet-categorical@1', 'elpd']:.2f} by plausibilities"
    p = float(abs(found - exact) <= TOLERANCE)
    return Result("own-programs", name, "left-out labels", {"within tolerance": p}, labels.size, remark=remark)

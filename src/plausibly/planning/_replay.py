"""``replay``: annotations that are there, hidden and revealed as a strategy asks for them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy import stats

from plausibly._progress import Progress
from plausibly.aggregation import AnyModel, aggregate, learn_prior, settle, unjudged
from plausibly.annotations import Annotations
from plausibly.annotations._names import _show
from plausibly.annotations._usual_models import usual_model
from plausibly.bootstrap import CI_PROB
from plausibly.errors import AnnotationError, ArgumentError
from plausibly.evaluation._metrics import Metrics
from plausibly.planning._annotators import how_annotators_answer
from plausibly.planning._hidden import Hidden
from plausibly.planning._metric import read_metric
from plausibly.planning._plan import _best_pair, _check, _pairs
from plausibly.planning._strategies import Seen, Strategy, parse_strategies
from plausibly.planning._truth import metric_of_truth
from plausibly.planning._values import Source, ask, value
from plausibly.planning._worth import score
from plausibly.predictions import Marked, line_up, named_predictions
from plausibly.seed import check_seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Results of strategies by the number of labels that they spend.

    Attributes
    ----------
    by_repetition
        By ``strategy``, ``repetition`` and number of ``labels``: ``width`` of the interval (the mean over classifiers
        or, for the goal ``"better"``, of the difference), and the posterior probability of the ``right`` decision (NaN
        without a pair).
    goal, metric, ci_prob
        Arguments of :func:`plausibly.replay`.
    """

    by_repetition: pd.DataFrame
    goal: str
    metric: str
    ci_prob: float

    @cached_property
    def table(self) -> pd.DataFrame:
        """Means over repetitions, with standard errors (``width_se``, ``right_se``)."""
        grouped = self.by_repetition.groupby(["strategy", "labels"], sort=False)[["width", "right"]]
        return pd.DataFrame(grouped.mean()).join(grouped.sem().add_suffix("_se")).reset_index()

    @cached_property
    def strategies(self) -> list[str]:
        """Names of the strategies."""
        return list(dict.fromkeys(self.table["strategy"]))

    def share_of_labels(self, strategy: str = "plan", than: str = "random") -> float:
        """Compute the share of the labels with which a strategy reaches the final width of another strategy.

        NaN if it does not reach that width, or if the interval of the other strategy is no narrower in the end than at
        the beginning.

        Raises
        ------
        ArgumentError
            If a strategy was not replayed.
        """
        for name in (strategy, than):
            if name not in self.strategies:
                raise ArgumentError(f"{name!r} was not replayed: choose from {', '.join(self.strategies)}.")
        own, other = (self.table.loc[self.table["strategy"] == name] for name in (strategy, than))
        goal = other["width"].iloc[-1]
        labels, width = own["labels"].to_numpy(float), np.minimum.accumulate(own["width"].to_numpy(float))
        if width[-1] > goal or goal >= other["width"].iloc[0]:
            return float("nan")
        return float(np.interp(-goal, -width, labels) / other["labels"].iloc[-1])

    def verdict(self) -> str:
        """Say what each strategy achieved, and how many labels planning saved."""
        last = self.table.groupby("strategy", sort=False).last()
        labels = int(self.table["labels"].max())
        said = [f"{name} {row['width']:.3g}" for name, row in last.iterrows()]
        text = f"Width of the interval after {labels:,} more labels: {', '.join(said)}."
        if {"plan", "random"} <= set(self.strategies):
            share = self.share_of_labels()
            random = self.table.loc[self.table["strategy"] == "random", "width"]
            if random.iloc[-1] >= random.iloc[0]:
                text += " Random choice narrowed nothing."
            elif np.isfinite(share):
                text += f" Planning reached the width of random choice with {100 * share:.0f} % of its labels."
            else:
                text += " Planning did not reach the width of random choice."
        return text

    def plot(self) -> "Figure":
        """Draw width, and the probability of the right decision, by labels spent."""
        from plausibly.planning._plots import plot_replay

        return plot_replay(self)

    def __repr__(self) -> str:
        return f"{self.table.to_string(index=False, float_format='%.3g')}\n{self.verdict()}"


def replay(
    annotations: Annotations,
    predictions: Mapping[str, Any],
    *,
    strategy: Strategy | Sequence[Strategy] = ("plan", "random"),
    start: int = 2,
    budget: int | None = None,
    step: int | None = None,
    metric: Any = None,
    goal: Literal["width", "better", "information"] = "width",
    compare: Sequence[str] | None = None,
    model: AnyModel | None = None,
    truth: Any = None,
    repetitions: int = 10,
    metrics: Metrics = None,
    logits: Marked = False,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    progress: bool = True,
    **arguments: Any,
) -> Replay:
    """Find out whether planning would have paid: hide annotations, and reveal them as a strategy asks for them.

    Every repetition puts the annotations of each case in a random order and starts with the first few. A strategy then
    chooses cases, the next annotation of each chosen case is revealed, these cases are aggregated again, and so on.

    Parameters
    ----------
    annotations
        Annotations of N cases. Cases with at most ``start`` annotations have nothing to reveal, but count in the
        metric.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`.
    strategy
        One or several of ``"plan"`` (the value of :func:`plausibly.plan`), ``"random"``, ``"entropy"`` (entropy of the
        mean plausibilities, greatest first), ``"fewest labels"`` and functions. A function takes a posterior and the
        predictions (arrays by classifier) and returns a number for each case, greatest first; the number of a case may
        depend on that case only.
    start
        Number of annotations of each case at the beginning.
    budget
        Number of annotations to reveal; by default half of those hidden.
    step
        Number of annotations to ask for at a time, each for a different case; by default a tenth of the budget.
    metric, goal, compare, metrics, logits
        As for :func:`plausibly.plan`.
    model
        Aggregation model; by default dirichlet-categorical for labels and plackett-luce for rankings.
    truth
        True plausibilities (case, class), if they are known; they determine which decision is right. By default all
        annotations determine it.
    repetitions
        Number of random orders.
    ci_prob
        Probability of the interval of the metric.
    seed
        Random seed.
    progress
        Whether to show a progress bar.
    **arguments
        Arguments of :func:`plausibly.aggregate`, such as ``reliability``. With ``class_prior="population"``, the
        population is estimated once, from the annotations visible at the beginning of the first repetition.

    Returns
    -------
    Replay
        ``.table``, ``.verdict()``, ``.share_of_labels()``, ``.plot()``.

    Raises
    ------
    ArgumentError
        If an argument is out of range or unknown, nothing is hidden, or cases would not be independent.
    AnnotationError
        If ``annotations`` are not annotations.
    PredictionError
        If predictions do not match the cases or classes.

    Notes
    -----
    Interval widths are those of a normal distribution with the variance of the metric, the sum over independent cases.
    Classifiers that were simulated from all annotations know where hidden annotations differ from visible ones, so that
    an interval may widen as labels are revealed: simulate classifiers from the annotations visible at the beginning.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b", "a", "b"], ["a"] * 4, ["b", "b", "a", "b"]] * 10)
    >>> predictions = {"A": [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]] * 10}
    >>> found = replay(annotations, predictions, repetitions=1, budget=10, step=10, progress=False)
    >>> found.strategies, int(found.table["labels"].max())
    (['plan', 'random'], 10)
    """
    if not isinstance(annotations, Annotations):
        raise AnnotationError(f"annotations are needed, but {_show(annotations)} was given: read them first.")
    strategies = parse_strategies(strategy)
    for name, given in (("start", start), ("repetitions", repetitions), ("budget", budget), ("step", step)):
        optional = name in ("budget", "step")
        if not (optional and given is None) and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
            raise ArgumentError(f"{name} must be a whole number of at least 1, but {_show(given)} was given.")
    _check(goal, budget or 1, 0.95, ci_prob, seed)
    hidden = Hidden.of(annotations, start, repetitions, check_seed(seed))
    if hidden.n_hidden == 0:
        raise ArgumentError(
            f"no case has more than {start} annotations, so nothing can be hidden: choose a smaller start."
        )
    known = usual_model(annotations) if model is None else model
    settled = settle(annotations, known, seed=seed, **_settings(arguments))
    if settled.arguments.get("shared") == "sampled":
        raise ArgumentError(
            "a replay aggregates only cases with new annotations again, so cases must not share draws: leave "
            "shared='sampled' out."
        )
    if settled.borrows:
        of_one = np.arange(annotations.n_cases)
        begun = hidden.visible(of_one, hidden.first()[of_one])
        arguments["class_prior"] = learn_prior(settled, begun, seed=seed, progress=False).prior
    budget = min(budget or max(1, hidden.n_hidden // 2), hidden.n_hidden)
    step = step or max(1, budget // 10)
    metric = read_metric(metric, metrics, annotations.n_classes).name
    predictions = named_predictions(predictions, logits)
    world = _World(hidden, predictions, metric, goal, compare, known, metrics, arguments, seed, truth)
    rows = []
    with Progress(progress) as bars:
        advance = bars.task("Replaying", len(strategies) * -(-budget // step), "steps")
        for name, function in strategies.items():
            rows += [(name, *row) for row in _run(world, function, budget, step, ci_prob, seed, advance)]
    by_repetition = pd.DataFrame(rows, columns=["strategy", "repetition", "labels", "width", "right"])
    return Replay(by_repetition, goal, metric, ci_prob)


def _run(world, function, budget, step, ci_prob, seed, advance) -> Iterator[tuple]:
    """Replay one strategy in all repetitions at once."""
    hidden, random = world.hidden, np.random.default_rng([seed, 0x7265706C])
    visible, spent = hidden.first(), 0
    seen = world.look(np.arange(len(visible)), visible, function)
    yield from world.rows(spent, seen, ci_prob)
    while spent < budget:
        wanted = min(step, budget - spent)
        chosen = hidden.choose(seen.score, visible, wanted, random)
        if not len(chosen):
            break
        visible[chosen] += 1
        seen.update(chosen, world.look(chosen, visible[chosen], function))
        spent += wanted
        yield from world.rows(spent, seen, ci_prob)
        advance(1)


class _World:
    """Copies of the cases, what is visible of them, and the posterior of that."""

    def __init__(self, hidden: Hidden, predictions, metric, goal, compare, model, metrics, arguments, seed, truth):
        self.hidden, self._model, self._arguments, self._seed = hidden, model, arguments, seed
        self._metric, self._goal, self._metrics = metric, goal, metrics
        of = hidden.annotations
        self._predictions = {name: np.asarray(line_up(one, of)) for name, one in named_predictions(predictions).items()}
        if not self._predictions:
            raise ArgumentError("a replay needs the predictions of classifiers, but none were given: add predictions.")
        self._pairs = _pairs(tuple(self._predictions), compare, goal)
        self._right = self._sign_of_pair(truth) if self._pairs else 0.0

    def _sign_of_pair(self, truth: Any) -> float:
        """1 if the first of the pair is better, by the truth or all annotations; −1 if the second is, 0 for a tie.

        Of several pairs, that of the two classifiers that do best given all annotations is kept.
        """
        of = self.hidden.annotations
        source = self._source(self._aggregate(of), self._predictions)
        source, values = _best_pair(source, value(source))
        self._pairs = ((a, b),) = source.question.pairs
        if truth is None:
            return float(np.sign(values.mean[-1].mean()))
        means = metric_of_truth(truth, list(self._predictions.values()), of, self._metric, self._metrics)
        return float(np.sign(source.question.sign * (means[a] - means[b])))

    def _aggregate(self, annotations: Annotations):
        return unjudged(aggregate)(annotations, self._model, seed=self._seed, progress=False, **self._arguments)

    def _source(self, posterior, predictions) -> Source:
        annotators = (how_annotators_answer(posterior),)
        return ask(
            posterior, predictions, self._metric, self._metrics, lambda names: self._pairs, annotators, 1, self._seed
        )

    def look(self, copies: Int[np.ndarray, " copy"], visible: Int[np.ndarray, " copy"], function) -> Seen:
        """Aggregate what is visible of some copies, and value further labels of them."""
        posterior = self._aggregate(self.hidden.visible(copies, visible))
        predictions = {name: values[self.hidden.case[copies]] for name, values in self._predictions.items()}
        source = self._source(posterior, predictions)
        values = value(source)
        found = function(posterior, predictions, visible, score(values, self._goal, source)[0])
        urgency = np.asarray(found, float)
        if urgency.shape != (len(copies),) or not np.isfinite(urgency).all():
            raise ArgumentError(
                f"a strategy must return a finite number for each of the {len(copies)} cases of the posterior, but it "
                f"returned the shape {urgency.shape}."
            )
        return Seen(values.mean.astype(float), values.variance.astype(float), urgency)

    def rows(self, spent: int, seen: Seen, ci_prob: float) -> Iterator[tuple]:
        """Yield repetition, labels spent, width, and probability of the right decision."""
        n = len(self._predictions)
        shape = len(seen.mean), self.hidden.repetitions, -1
        mean = seen.mean.reshape(shape).mean(axis=2)
        variance = seen.variance.reshape(shape).sum(axis=2) / self.hidden.annotations.n_cases**2
        width = 2 * stats.norm.ppf((1 + ci_prob) / 2) * np.sqrt(variance)
        width = width[n] if self._goal == "better" else width[:n].mean(axis=0)
        right = np.full(len(width), np.nan)
        if self._right:
            right = stats.norm.cdf(self._right * mean[n] / np.sqrt(np.maximum(variance[n], 1e-30)))
        return ((at, spent, *pair) for at, pair in enumerate(zip(width, right, strict=True)))


def _settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that are a model's; what is drawn is checked by ``aggregate``."""
    return {name: given for name, given in arguments.items() if name not in ("draws", "chains", "warmup")}

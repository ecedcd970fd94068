"""The metric of a plan: a mean over cases of a function of predictions and plausibilities."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plausibly.errors import ArgumentError
from plausibly.evaluation import public_name, read_metrics
from plausibly.metrics import METRICS, SumMetric
from plausibly.metrics._declared import mean


class Planned(NamedTuple):
    """Metric of a plan."""

    name: str  #: in results of :func:`plausibly.evaluate`
    of_list: str  #: metric of ranked lists; empty for others
    k: int  #: length of the lists
    function: Callable[..., Any] | None  #: of a case's scores and plausibilities, if it is no metric of lists
    better: Literal["greater", "smaller"]
    takes: str = "scores"  #: as the prediction, as for :class:`plausibly.metrics.SumMetric`


@dataclass(frozen=True)
class _AgainstMostPlausible:
    """Numbers that a metric of labels adds up for a case whose true class is the most plausible one."""

    metric: SumMetric

    def __call__(self, scores: Float[Array, " class"], plausibility: Float[Array, " class"]) -> Float[Array, ""]:
        n, of = len(plausibility), self.metric
        prediction = jax.nn.one_hot(jnp.argmax(scores), n) if of.takes == "choice" else scores
        rows = of.rows(prediction, jax.nn.one_hot(jnp.argmax(plausibility), n))
        return rows[1] if of.by_class else rows


def read_metric(metric: Any, metrics: Any, n_classes: int) -> Planned:
    """Read the metric of a plan: one of ``metrics``, or another of :func:`plausibly.evaluate`, by name.

    By default it is the only one of ``metrics``, or ``"top1_accuracy"``. It must be a mean over cases.
    """
    listed = [] if metrics is None else list(metrics) if isinstance(metrics, list | tuple) else [metrics]
    listed = [item for item in listed if not (isinstance(item, Mapping) and not item)]
    asked = read_metrics(listed, None, n_classes) if listed else None
    names = [name for of in asked or () for name in of]
    name = public_name(metric) if metric is not None else names[0] if len(names) == 1 else "top1_accuracy"
    if name not in names and name == "accuracy":
        name = "top1_accuracy"  # the same, of which there are draws by case
    if asked is None or name not in names:
        asked = read_metrics([metric if name is None else name], None, n_classes)
    if name in asked.lists:
        of_list, k = asked.lists[name]
        return Planned(name, of_list, k, None, METRICS[of_list].better)
    if name in asked.own:
        return Planned(name, "", 0, asked.own[name].function, asked.own[name].better)
    of = asked.sums.get(name)
    if of is not None and of.value is mean and not of.along and (not of.by_class or n_classes == 2):
        return Planned(name, "", 0, _AgainstMostPlausible(of), of.better, of.takes)
    raise ArgumentError(
        f"a plan needs a metric that is a mean over cases, which {name!r} is not: choose for example top1_accuracy, "
        'top3_coverage or brier, or give a function of your own by metrics={"mine": function}.'
    )

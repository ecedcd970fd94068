"""What ``plan`` returns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Cases ordered by the value of further annotations, and a forecast of what these will bring.

    Attributes
    ----------
    table
        A row per case that may be annotated, the most valuable first: ``case``; ``place``, from 1; ``value``, the
        percentage by which one more annotation is expected to narrow the interval that the goal is about (for
        ``"information"``, the nats that it is expected to bring); ``information``, expected, in nats; ``labels`` to ask
        for within the budget;
        ``effective_draws`` behind the value; ``cost``, where it is not 1; and ``annotator``, where annotators differ.
    forecast
        By number of ``labels``, classifier and pair (``versus``): expected ``width`` of the interval of the metric,
        with the central 90 % of the simulations (``width_lower``, ``width_upper``); ``width_at_random``, the expected
        width if the same number of labels went to random cases; for pairs, the probability that the better one is then
        known (``decided``), with its Monte Carlo interval. For the goal ``"information"``, the expected gain in nats.
    sequence
        Name of the case of each label, in the order of asking.
    advice
        Sentences that say what to do, what it will bring, when to stop, and whether new cases would bring more.
    noise
        Annotation and sampling noise, as in :func:`plausibly.comparison.variance_split`, but without the total; None
        without predictions.
    goal, metric, compare, level, ci_prob, budget
        Arguments of :func:`plausibly.plan`; ``compare`` is the pair that the forecast is about.
    length
        Number of classes that an annotation is assumed to rank.
    n_cases
        Number of cases of the posterior.
    labels_per_case
        Number of annotations of a case so far, on average.
    label_cost
        Cost of a label, on average over cases.
    posterior_model, class_prior
        Name of the aggregation model, and its prior of classes, if it has one.
    """

    table: pd.DataFrame
    forecast: pd.DataFrame
    noise: pd.DataFrame | None
    goal: str
    metric: str
    compare: tuple[str, str] | None
    level: float
    ci_prob: float
    budget: float
    length: int
    n_cases: int
    labels_per_case: float
    label_cost: float
    posterior_model: str
    class_prior: str = ""
    sequence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def chosen(self) -> pd.DataFrame:
        """Rows of the cases to annotate within the budget."""
        return self.table[self.table["labels"] > 0].reset_index(drop=True)

    def verdict(self) -> str:
        """Return the advice in one paragraph."""
        return " ".join(self.advice)

    def tasks(self, data: Any = None) -> list[dict[str, Any]]:
        """List the chosen cases as tasks for Label Studio, to be written as JSON and imported there.

        Parameters
        ----------
        data
            Data that the labelling interface shows for each case in addition to its name, such as the address of an
            image: a data frame with a column ``case``, or mappings from names to values by case.

        Returns
        -------
        list
            A task per case, in the order of asking: ``data`` (the name of the ``case``, and what was given) and
            ``meta`` (``place``, ``labels`` to ask for, ``value``, and ``annotator`` where they differ).

        Raises
        ------
        ArgumentError
            If data are given and lack a case.
        """
        from plausibly.planning._tasks import tasks_of

        return tasks_of(self.chosen, data)

    def plot(self) -> "Figure":
        """Draw the forecast: widths of intervals, and the probability of a decision, by number of labels."""
        from plausibly.planning._plots import plot_forecast

        return plot_forecast(self)

    def __repr__(self) -> str:
        return f"{self.chosen.head(10).to_string(index=False, float_format='%.3g')}\n" + "\n".join(self.advice)

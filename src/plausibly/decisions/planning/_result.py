"""What ``plan`` returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from plausibly.base.errors import ArgumentError, show
from plausibly.base.shown import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Shown, kind="plan"):
    """Cases ordered by the value of further annotations, and a forecast of how much these will help.

    Attributes
    ----------
    table
        One row per case that may be annotated, the most valuable first: ``case``; ``place``, from 1; ``value``, the
        percentage by which one more annotation is expected to narrow the interval that the goal is about (for
        ``"information"``, the expected information in nats); ``information``, the expected information in nats;
        ``labels``, the number to ask for within the budget; ``effective_draws``, the number of draws behind the value;
        ``cost``, if it is not 1; and ``annotator``, if annotators differ.
    forecast
        By number of ``labels``, classifier and pair (``versus``): expected ``width`` of the interval for the metric,
        with the central 90 % of the simulations (``width_lower``, ``width_upper``); ``width_at_random``, the expected
        width if the same number of labels went to random cases; for pairs, the probability that the better one is then
        known (``decided``), with its Monte Carlo interval. For the goal ``"information"``, the expected gain in nats.
    sequence
        Name of the case for each label, in the order in which to ask.
    advice
        Sentences that say what to do for a claim about these cases and for one about new cases like these, and how much
        it will help. Where nothing is gained, they begin with that.
    noise
        Annotation and sampling noise, as from :func:`plausibly.comparison.variance_split`, but without the total; None
        without predictions.
    goal, metric, compare, level, ci_prob, budget
        Arguments of :func:`plausibly.plan`; ``compare`` is the pair that the forecast is about.
    length
        Number of blocks that the next annotation is assumed to have.
    n_cases
        Number of cases in the posterior.
    labels_per_case
        Mean number of annotations per case so far.
    label_cost
        Mean cost of a label over cases.
    posterior_model, class_prior
        Name of the aggregation model, and its prior over classes, if it has one.
    learns
        Whether further annotations of a case narrow the posterior of this model.
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
    learns: bool = True
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
            One task per case, in the order in which to ask: ``data`` (the name of the ``case`` and the given data) and
            ``meta`` (``place``, the number of ``labels`` to ask for, ``value`` and, if annotators differ,
            ``annotator``).

        Raises
        ------
        ArgumentError
            If a case is missing in ``data``.
        """
        return tasks_of(self.chosen, data)

    def plot(self) -> "Figure":
        """Draw the forecast: interval widths, and the probability of a decision, by number of labels."""
        from plausibly.app.plots.decisions import plot_forecast

        return plot_forecast(self)


def tasks_of(chosen: pd.DataFrame, data: Any = None) -> list[dict[str, Any]]:
    """Rows of a plan's table as tasks: ``data`` (what the labelling interface shows), ``meta`` (why it is asked).

    Examples
    --------
    >>> chosen = pd.DataFrame({"case": ["p1"], "place": [1], "value": [0.4], "labels": [2]})
    >>> tasks_of(chosen, {"p1": {"image": "https://example.org/p1.jpg"}})[0]["data"]
    {'case': 'p1', 'image': 'https://example.org/p1.jpg'}
    """
    if isinstance(data, pd.DataFrame):
        if "case" not in data:
            raise ArgumentError("data of tasks must have the column case, but has none: rename the one with the names.")
        data = {str(row.pop("case")): row for row in data.to_dict("records")}
    data = {} if data is None else data
    if not isinstance(data, Mapping):
        raise ArgumentError(
            f'data of tasks must be mappings by case, but {show(data)} was given: write {{"p1": {{"image": "…"}}}}.'
        )
    if lacking := [name for name in chosen["case"] if data and str(name) not in data]:
        raise ArgumentError(f"data of tasks lack the case {str(lacking[0])!r}: add it, or leave the data out.")
    tasks = []
    for row in chosen.to_dict("records"):
        name = str(row["case"])
        meta = {"place": int(row["place"]), "labels": int(row["labels"]), "value": float(row["value"])}
        if "annotator" in row:
            meta["annotator"] = row["annotator"]
        own = {str(key): _plain(value) for key, value in data.get(name, {}).items()}
        tasks.append({"data": {"case": name, **own}, "meta": meta})
    return tasks


def _plain(value: Any) -> Any:
    """Values of NumPy as those of Python, which JSON can hold."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value

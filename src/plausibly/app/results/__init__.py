"""What results say: a headline, what limits it, tables and figures, in one module for each kind of result.

Commands print and write what :func:`of` returns, notebooks display it, and pages begin with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from plausibly.app.screen import Screen


def kind_of(result: Any) -> str:
    """Module that puts a result into words; empty if it is none."""
    of_evaluate = type(result).__name__ == "Dataset" and type(result).__module__.startswith("xarray.")
    return "evaluation" if of_evaluate else getattr(result, "kind_of_result", "")


def of(result: Any, *given: Any, **options: Any) -> "Screen":
    """Put a result into words: one sentence, a table, what limits it, and the tables and figures behind it.

    Printed, it is the screen of 25 lines that the command of the result shows; in a notebook, it is displayed.

    Parameters
    ----------
    result
        Result of :func:`plausibly.sweep`, :func:`plausibly.plan`, :func:`plausibly.conformal`,
        :func:`plausibly.agreement.judge` or any other function that answers a question.
    given, options
        What the module of its kind takes besides, such as ``ci_prob``.

    Raises
    ------
    ArgumentError
        If it is no result.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"]] * 9 + [["b", "b", "b"]] * 9)
    >>> scores = np.repeat([[0.9, 0.1], [0.2, 0.8]], 9, axis=0)
    >>> print(of(pb.conformal(annotations, {"A": scores}, target="vote")).headline)
    For a new case of the same kind as the 18 calibration cases, a set contains the class with the most votes with a \
probability of at least 0.9.
    """
    if not (kind := kind_of(result)):
        from plausibly.base.errors import ArgumentError, show

        raise ArgumentError(
            f"results of plausibly can be put into words, but {show(result)} was given: pass what one of its functions "
            "returned."
        )
    return import_module(f"plausibly.app.results.{kind}").screen(result, *given, **options)


def summary(results: Any, ci_prob: float | None = None) -> "pd.DataFrame":
    """Tabulate what a result says: the metrics of an evaluation, or the table that :func:`of` shows first.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`, or of any other function that answers a question, such as
        :func:`plausibly.systems`; or a posterior of :func:`plausibly.aggregate`.
    ci_prob
        Probability of the equal-tailed intervals of an evaluation, by default that of the results, or of a posterior,
        by default 0.94.

    Returns
    -------
    pandas.DataFrame
        Of an evaluation, the numbers of :func:`plausibly.evaluation.summary`: one row per classifier and metric. Of a
        posterior, one row per case and class that has draws of its own: ``case``, ``class_name``, ``mean``, ``sd``,
        ``lower`` and ``upper`` of its plausibility; diagnostics of a case are those of ``az.summary`` of
        :func:`plausibly.case_draws`. Of other results, the rows of their first screen, as text.

    Raises
    ------
    ArgumentError
        If it is no result, or ``ci_prob`` is not between 0 and 1.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"system": ["s", "s", "t", "t"], "case": ["p", "q"] * 2, "rater": "ann", "outcome": [1, 1, 0, 1]}
    >>> summary(pb.systems(pd.DataFrame(rows), people=["ann"], progress=False))["system"].tolist()
    ['s', 't']
    """
    import pandas as pd

    if kind_of(results) == "evaluation" and not hasattr(results, "runs"):
        from plausibly.evaluation import summary as of_evaluation

        return of_evaluation(results, ci_prob)
    if type(results).__name__ in ("InferenceData", "DataTree"):
        from plausibly.app.results.posterior import by_slot

        return by_slot(results, ci_prob)
    table = of(results).table
    return pd.DataFrame() if table is None else pd.DataFrame([*table.rows, *table.foot], columns=[*table.columns])

"""The alternative annotator test, which asks whether a model may take the place of an annotator."""

from collections.abc import Callable, Mapping
from typing import Any

from plausibly.agreement.discrepancy._discrepancy_ratio import discrepancy_ratio
from plausibly.agreement.judge._test_result import AlternativeAnnotatorTest
from plausibly.agreement.judge._tests import FEW
from plausibly.base.bootstrap import check_probability
from plausibly.base.checks import check_share, check_whole
from plausibly.base.errors import renamed


@renamed(groups="clusters")
def alternative_annotator_test(
    labels: Any,
    predictions: Any,
    *,
    epsilon: float = 0.2,
    distance: str | Callable[[Any, Any], float] | None = None,
    fdr: float = 0.05,
    few_cases: int = FEW,
    clusters: str | Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    progress: bool = True,
) -> AlternativeAnnotatorTest:
    r"""Test whether a model can stand in for an annotator, given that annotators cost more.

    Every annotator :math:`j` is left out in turn. In each case :math:`i` that she shares with others, the model's mean
    distance to the labels of the others is compared with her own. Let :math:`W^f_{ij}` be 1 if the model is at least as
    close as she is, else 0, and :math:`W^h_{ij}` be 1 if she is at least as close as the model, else 0. The advantages
    are :math:`\rho^f_j = \mathrm{mean}_i W^f_{ij}` and :math:`\rho^h_j = \mathrm{mean}_i W^h_{ij}`. For each annotator,
    a paired one-sided test asks whether

    .. math:: H_{0j}: \rho^f_j \le \rho^h_j - \varepsilon

    can be rejected. This is a t-test, or Wilcoxon's signed-rank test if there are few cases; the false discovery rate
    over annotators is controlled (Benjamini & Yekutieli). The winning rate :math:`\omega` is the share of annotators
    for whom the hypothesis is rejected. The model passes if it is at least one half. The published test ends here; the
    result also has bootstrap intervals over clusters of cases, and the power.

    Parameters
    ----------
    labels
        Long table with the columns ``case``, ``annotator``, ``label``: see :meth:`Labels.of`. Annotators need not label
        every case, and may label a case several times. Cases with fewer than two annotators do not count.
    predictions
        Labels of a model, or of several by name, as for :func:`discrepancy_ratio`.
    epsilon
        Cost-benefit parameter ε, from 0 to 1: how far an annotator's advantage may exceed the model's because the
        model costs less. The authors suggest 0.2 for experts, 0.15 for skilled annotators and 0.1 for crowd workers.
    distance
        Distance between two labels: classes (``"nominal"``), numbers (``"squared"``: the comparison of root mean
        squared errors; ``"absolute"``, ``"hinge"``), or any distance of :mod:`plausibly.distances` for texts, boxes,
        partial rankings and others; see ``distance`` of :func:`discrepancy_ratio`, also for the default. Only the order
        of distances matters.
    fdr
        False discovery rate over annotators.
    few_cases
        Number of cases below which Wilcoxon's signed-rank test replaces the t-test; 30, as published. With 0, the
        t-test is always used. Wilcoxon's test is not a test of the mean if differences are −1, 0 and 1: in simulations
        with fewer than 30 cases, models that were worse by a little more than ε passed in up to 39 % of studies, and
        with the t-test in at most 5 %.
    clusters
        Clusters that the bootstrap draws, such as patients with several cases, as for :func:`discrepancy_ratio`. The
        tests always assume independent cases, as published.
    tolerance
        Tolerance λ of ``"hinge"``.
    progress
        Whether to show progress.

    Returns
    -------
    AlternativeAnnotatorTest
        Result with ``winning_rate``, ``advantage``, ``passed``, ``table`` (by model and annotator), ``notes`` (what
        limits the conclusion, such as few annotators or many equal distances), ``interval()`` and ``power()``.

    Raises
    ------
    ArgumentError
        If ``epsilon``, ``fdr`` or a distance is out of range or unknown.
    PlausiblyError
        As for :func:`discrepancy_ratio`.

    References
    ----------
    Calderon, Reichart & Dror (2025), The alternative annotator test for LLM-as-a-judge: how to statistically justify
    replacing human annotators with LLMs, arXiv 2501.10970; Benjamini & Yekutieli (2001), The control of the false
    discovery rate in multiple testing under dependency, Annals of Statistics 29.

    Examples
    --------
    >>> says = {"ann": "aabb" * 15, "bob": "aabb" * 14 + "bbbb", "cy": "aabb" * 14 + "aaaa"}
    >>> rows = [(str(case), who, label) for who, labels in says.items() for case, label in enumerate(labels)]
    >>> test = alternative_annotator_test(rows, {"A": [(str(case), label) for case, label in enumerate("aabb" * 15)]})
    >>> test.winning_rate.to_dict(), test.advantage.round(3).to_dict()
    ({'A': 1.0}, {'A': 1.0})
    """
    check_share("epsilon", epsilon, "give 0.2, or 0.1 in a crowd")
    check_whole("few_cases", few_cases, 0, "give 30")
    check_probability("fdr", fdr)
    compared = discrepancy_ratio(labels, predictions, distance, clusters, tolerance=tolerance, progress=progress)
    return AlternativeAnnotatorTest(compared, float(epsilon), float(fdr), few_cases)

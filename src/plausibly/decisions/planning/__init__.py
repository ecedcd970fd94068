"""Planning of annotations: the value of one more label, whom to ask about which case, and when to stop.

Notation: the metric of a classifier is a mean over cases, ``M = N^{-1} Σ_i g_i``, where ``g_i`` is a function of the
plausibilities ``λ_i``, such as whether the most plausible class is the predicted one. The draws ``λ_i^s`` show how
uncertain ``g_i`` is. The next annotator of case i names class y with probability ``p_y = E λ_iy``, after which draws
have the weights ``w_y ∝ λ_iy^s``. No model is fitted again: after each possible answer, mean and variance of ``g_i``
are those of the weighted draws, and **the value of a label is the variance that it is expected to remove**::

    Δ_i = Var(g_i) − Σ_y p_y Var_{w_y}(g_i)  =  Σ_y p_y (E_{w_y} g_i − E g_i)²     (labels that count once)

Cases are independent, so the variance of M is the sum of theirs, and labels with the largest ``Δ_i`` per cost are the
best for a budget. Parameters that cases share add a covariance; where they are learned from the L annotations of these
cases, n more leave ``L / (L + n)`` of it, so that every label also removes an equal part of it. *Information*,
``H(E λ_i) − E H(λ_i)``, is another goal: it favours the labels that reveal most about the plausibilities, whether or
not a metric depends on them. Tables and files show ``Δ_i`` as the percentage by which the label
is expected to narrow the interval for M, ``1 − √(1 − Δ_i / Σ_j Var(g_j))``.

``_program`` has the compiled programs, one for the next label and one that simulates several annotations or rankings;
``_values`` reads the metric and runs them over ranges of cases; ``_annotators`` determines who may be asked; ``_worth``
spends the budget; ``_forecast`` simulates the results, and ``advice`` puts them into words.
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)

"""Sets of classes with a guarantee, even if experts disagree about the answer.

Conformal prediction gives *sets* of classes that contain the answer with a probability of, say, 0.9 on average over
cases, however good or bad the classifier's own probabilities are. But if each case has one voted label, the guarantee
is about the vote only. Here the answer of a case is a distribution over classes, and the loss of a set is the
plausibility of the classes that it misses.

Notation: case i has plausibilities ``λ_i`` and scores ``s(x_i, k)``, greater for more plausible classes. For a
threshold ``τ`` the set is ``C_τ(x) = {k : s(x, k) ≥ τ}``, and case i loses ``L_i(τ) = Σ_k λ_ik 1[s(x_i, k) < τ]``. The
threshold is the largest with ``(Σ_i L_i(τ) + 1) / (n + 1) ≤ α``: conformal risk control (Angelopoulos et al. 2022). For
a new case that is exchangeable with the n others, ``P(Y ∈ C_τ(X)) ≥ 1 − α`` if ``Y`` is drawn from its plausibilities.

Departures from Monte Carlo conformal prediction (Stutz et al. 2023), which draws m labels for each case and pools them:
weights are exact, which is the limit of large m; the guarantee is ``1 − α`` instead of ``1 − 2α``, since the share of
missed labels is treated as a loss; and thresholds are order statistics, not interpolated between them.

You choose what ``λ_i`` is (:func:`conformal`, ``target=``): the posterior mean of the plausibilities, the annotations
themselves, or the majority vote. :func:`conformal_coverage` measures how well sets calibrated for one of them cover the
others, and :func:`conformal_sweep` calibrates under every model and reliability.
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)

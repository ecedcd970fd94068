"""Did the chains converge? R-hat, effective sample sizes, divergences and energies of every case, and a verdict.

The rule
--------
A case has converged if

* no trajectory diverged (for samplers with trajectories);
* every plausibility has a bulk and a tail effective sample size of at least 100 per chain;
* every plausibility has an R-hat of at most 1.01, or at most the limit that converged chains exceed with a probability
  of at most 0.05 / Q, for the Q plausibilities of all cases together;
* in every chain the energy's Bayesian fraction of missing information, E-BFMI, is at least 0.3 (for samplers with
  energies).

The thresholds of effective sample size and R-hat are those of Vehtari et al. (2021), meant for a handful of quantities.
Among ten thousand quantities, dozens exceed 1.01 by chance alone, so the R-hat rule corrects for the number of tests:
for the means of m independent half-chains, each worth n effective draws, (m − 1) n (R-hat² − 1) is about chi-squared
with m − 1 degrees of freedom. Where R-hat compares distances from the median, n is the number of effective draws of
these distances: NUTS may give draws that alternate, while their distances hardly change from one draw to the next. A
single chain is split into two halves.

E-BFMI (Betancourt 2016) compares the change of the energy between kept draws with its variance: it is near 2 for
independent draws, and near 0 if momenta are too small for the range of energies of the posterior. It is computed from
the kept draws, as by ``az.bfmi``. Cases that are drawn exactly have no trajectories and no energies, and always pass.

R-hat and effective sample sizes are those of ArviZ, computed for thousands of quantities at once
(:func:`r_hat_and_ess`, :func:`ess_of_mean`).

Under models of one true class, each draw of a case is the probability of its classes given what cases share, which
averages over true classes, and is not one of these. There, 100 effective draws in all are enough: of these
probabilities, of what all cases share, and of what belongs to an annotator of the case; R-hat has the same limit. So it
is with what raters of scores have of their own. In tables of annotators, a quantity has converged by the whole rule.

The share of trajectories that reached the maximum tree depth is reported, too. A large share means that sampling was
slow, not that it was wrong, and does not affect the verdict.
"""

from plausibly.posterior.diagnostics._convergence import E_BFMI as E_BFMI
from plausibly.posterior.diagnostics._convergence import ESS_PER_CHAIN as ESS_PER_CHAIN
from plausibly.posterior.diagnostics._convergence import FALSE_ALARM as FALSE_ALARM
from plausibly.posterior.diagnostics._convergence import R_HAT as R_HAT
from plausibly.posterior.diagnostics._convergence import convergence as convergence
from plausibly.posterior.diagnostics._convergence import diagnose as diagnose
from plausibly.posterior.diagnostics._convergence import enough_energy as enough_energy
from plausibly.posterior.diagnostics._convergence import judge as judge
from plausibly.posterior.diagnostics._convergence import judge_shared as judge_shared
from plausibly.posterior.diagnostics._convergence import passed as passed
from plausibly.posterior.diagnostics._convergence import r_hat_bound as r_hat_bound
from plausibly.posterior.diagnostics._convergence import shared_convergence as shared_convergence
from plausibly.posterior.diagnostics._convergence import trajectories as trajectories
from plausibly.posterior.diagnostics._many import ess_of_mean as ess_of_mean
from plausibly.posterior.diagnostics._many import r_hat_and_ess as r_hat_and_ess
from plausibly.posterior.diagnostics.verdicts import verdict as verdict

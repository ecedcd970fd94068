"""Whether every sampler draws from the distribution that it claims to draw from.

``python -m validation`` (``make validate``) runs all checks, writes ``results/validation/report.html`` and exits with
status 1 if one of them fails; ``--quick`` runs a short form of most of them. ``--break NAME`` first breaks a sampler on
purpose, by little, and has to fail.

* ``calibration``: simulation-based calibration of every sampler, reading of reliability and treatment of unranked
  classes, see :mod:`validation._joint` for the pairs and :mod:`validation._ranks` for the statistic;
* ``agreement``: NUTS and Gibbs on the real cases, or simulated ones where those are absent: means, probabilities of
  being the most plausible class, certainties;
* ``engines``: small posteriors of every other model by two engines, Gibbs, exact draws or proposals against NUTS;
* ``reliability``, ``conformal``, ``true-class``, ``ordinal``, ``ratings``, ``rasch``: each of these by simulation,
  see the modules;
* ``crowds``: whether probabilities of the true class can be believed in crowds that differ from the models, and
  whether language models that err together are noticed;
* ``verification``: whether metrics against gold labels of what readers or classifiers call suspicious cover;
* ``few-labels``: whether a classifier that knows what experts say looks calibrated with two or three labels a case;
* ``goodness``: what ``PartialPlackettLuce.sample`` draws, counted, against ``log_prob`` and against a likelihood
  written out here.

**The declared rate.** Every check makes p-values, each uniform or larger if nothing is wrong. The run fails if one of
its m p-values is below 0.01 / m (Bonferroni; Holm's procedure rejects nothing at all in the same runs). So a run in
which nothing is wrong fails with a probability of at most 0.01, over seeds: with another ``--seed`` all random numbers
are other ones.

A new check is a module with a function ``check(settings)`` that yields :class:`validation._result.Result`, and a line
in :data:`validation.__main__.CHECKS`.

References
----------
Talts, Betancourt, Simpson, Vehtari & Gelman (2018), Validating Bayesian inference algorithms with simulation-based
calibration; Modrák et al. (2023), Simulation-based calibration checking for Bayesian computation: the choice of test
quantities shapes sensitivity.
"""

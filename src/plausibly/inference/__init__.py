"""Engines: what turns a model and annotations into draws of the plausibilities.

* exact draws, where the posterior is a Dirichlet distribution (``_exact``) or a tree of such (``_dirichlet_tree``);
* exact draws of the mean and the variance of scores, and their prior from all cases (``_scores``);
* NUTS for any NumPyro program, all cases and chains side by side (``_engines`` over ``_sampler`` and ``_nuts``);
* Gibbs sampling of Plackett-Luce where every annotation counts a whole number of times (``_gibbs_engine`` over
  ``_gibbs``, ``_ties`` and ``_random``), also as a kernel of NumPyro's ``MCMC`` (``_kernel``);
* HMC of cases within Gibbs sampling of annotators' reliabilities, all cases as one model (``_joint`` over ``_slice``);
* maximum likelihood, a fixed point iterated for all cases at once (``_engines``).

Cases are independent, so the work is sorted into buckets of similar size (``_batching``), each compiled once and run on
all cores, in chunks or through seats (``_chunks``). ``_program`` turns a NumPyro program into the functions that
engines call.
"""

from plausibly.inference._batching import bucket_cases as bucket_cases
from plausibly.inference._program import Program as Program
from plausibly.inference.exact._dirichlet import dirichlet as dirichlet
from plausibly.inference.exact._dirichlet_tree import dirichlet_tree as dirichlet_tree
from plausibly.inference.exact._dirichlet_tree import nested_cases as nested_cases
from plausibly.inference.exact._scores import Sums as Sums
from plausibly.inference.exact._scores import bucket_scores as bucket_scores
from plausibly.inference.exact._scores import draw_scores as draw_scores
from plausibly.inference.exact._scores import estimate_prior as estimate_prior
from plausibly.inference.gibbs._engine import gibbs as gibbs
from plausibly.inference.gibbs._engine import sweeps_per_draw as sweeps_per_draw
from plausibly.inference.gibbs._kernel import PlackettLuceGibbs as PlackettLuceGibbs
from plausibly.inference.gibbs._kernel import check_repeats as check_repeats
from plausibly.inference.joint._sampler import LEAPS as LEAPS
from plausibly.inference.joint._sampler import Prior as Prior
from plausibly.inference.joint._sampler import sample_jointly as sample_jointly
from plausibly.inference.nuts._engine import MAX_TREE_DEPTH as MAX_TREE_DEPTH
from plausibly.inference.nuts._engine import THINNING as THINNING
from plausibly.inference.nuts._engine import log_likelihood as log_likelihood
from plausibly.inference.nuts._engine import maximum_likelihood as maximum_likelihood
from plausibly.inference.nuts._engine import no_trajectories as no_trajectories
from plausibly.inference.nuts._engine import nuts as nuts

"""Engines: how a model and annotations become draws of the plausibilities.

An engine knows no model by name. It is given a NumPyro program of one case, or the statistics that an exact posterior
or a Gibbs sampler needs, and returns plausibilities by (chain, draw, slot) with statistics by (chain, draw, case).

=======================  ==========================================================================================
``exact/``               independent draws: Dirichlet posteriors, trees of them, mean and variance of scores
``nuts/``                the No-U-Turn sampler for any NumPyro program, all cases and chains side by side
``gibbs/``               Plackett-Luce at whole reliabilities by ``mode="power"``; also a kernel of NumPyro's ``MCMC``;
                         scores that are categories
``joint/``               all cases as one model: reliabilities inferred, by HMC within Gibbs sampling; and models of
                         labels with one true class per case, by Gibbs sampling
``_likelihood``          log probabilities of annotations at draws of any engine
``_maximum_likelihood``  an accelerated fixed point for all cases at once
=======================  ==========================================================================================

Cases are independent, and the engines share what follows from that:

* ``program`` turns a NumPyro program into the functions that engines call: potential, constrained values, likelihood.
* ``_shapes`` decides on the shapes to which cases are padded: more of them, the more there is to compute.
* ``_batching`` sorts cases into *buckets*, one for each shape.
* ``_scheduling`` runs one program per shape over the cases of all buckets (:mod:`plausibly.base.compute`), in *chunks*
  of a fixed number of cases or in *seats*, each of which takes the next case when its case has finished.

Random numbers depend on the key of a case alone, and draws on its data and its shape besides. Shapes are decided from
all cases of a data set, so its draws do not depend on shards, chunks or devices. The same case in another data set may
have another shape, and then other draws from the same posterior.
"""

from plausibly.inference._answers import log_answers as log_answers
from plausibly.inference._batching import bucket_cases as bucket_cases
from plausibly.inference._batching import plan_shapes as plan_shapes
from plausibly.inference._integrals import expected_answers as expected_answers
from plausibly.inference._likelihood import check_likelihood as check_likelihood
from plausibly.inference._likelihood import likelihood_shapes as likelihood_shapes
from plausibly.inference._likelihood import log_likelihood as log_likelihood
from plausibly.inference._maximum_likelihood import maximum_likelihood as maximum_likelihood
from plausibly.inference._maximum_likelihood import point_shapes as point_shapes
from plausibly.inference._shapes import Shape as Shape
from plausibly.inference.exact._dirichlet import dirichlet as dirichlet
from plausibly.inference.exact._dirichlet import dirichlet_tree as dirichlet_tree
from plausibly.inference.exact._dirichlet import nested_cases as nested_cases
from plausibly.inference.exact._forms import DRAWN_BY as DRAWN_BY
from plausibly.inference.exact._forms import KINDS as KINDS
from plausibly.inference.exact._forms import Dirichlets as Dirichlets
from plausibly.inference.exact._forms import Form as Form
from plausibly.inference.exact._forms import Regressions as Regressions
from plausibly.inference.exact._forms import class_shapes as class_shapes
from plausibly.inference.exact._forms import draw_in_place as draw_in_place
from plausibly.inference.exact._forms import slot_shapes as slot_shapes
from plausibly.inference.exact._scores import bucket_scores as bucket_scores
from plausibly.inference.exact._scores import draw_scores as draw_scores
from plausibly.inference.exact._scores import estimate_prior as estimate_prior
from plausibly.inference.exact._scores import normal_log_likelihood as normal_log_likelihood
from plausibly.inference.gibbs._engine import gibbs as gibbs
from plausibly.inference.gibbs._engine import gibbs_shapes as gibbs_shapes
from plausibly.inference.gibbs._engine import sweeps_per_draw as sweeps_per_draw
from plausibly.inference.gibbs._ordinal import ORDINAL_THINNING as ORDINAL_THINNING
from plausibly.inference.gibbs._ordinal import Categories as Categories
from plausibly.inference.gibbs._ordinal import estimate_ordinal_prior as estimate_ordinal_prior
from plausibly.inference.gibbs._ordinal import ordinal as ordinal
from plausibly.inference.joint._density import Prior as Prior
from plausibly.inference.joint._moves import LEAPS as LEAPS
from plausibly.inference.joint._sampler import sample_jointly as sample_jointly
from plausibly.inference.nuts._engine import MAX_TREE_DEPTH as MAX_TREE_DEPTH
from plausibly.inference.nuts._engine import STATISTICS as STATISTICS
from plausibly.inference.nuts._engine import THINNING as THINNING
from plausibly.inference.nuts._engine import no_trajectories as no_trajectories
from plausibly.inference.nuts._engine import nuts as nuts
from plausibly.inference.nuts._engine import nuts_of_all_cases as nuts_of_all_cases
from plausibly.inference.nuts._engine import nuts_shapes as nuts_shapes
from plausibly.inference.nuts._grouped import with_rows as with_rows
from plausibly.inference.program import Program as Program
from plausibly.inference.program import log_ways as log_ways

"""From annotations to a posterior over plausibilities.

``registry`` finds models by name, declaration or program. ``_arguments`` checks model, arguments and annotations
against each other before anything is computed. ``layout`` computes everything that needs no draws: slots, point
estimates, exact posteriors. ``_infer`` runs an engine on all annotations or on a shard, and checks convergence.
``_on_demand`` computes log likelihoods and point estimates when they are read. ``_aggregate`` has the public function,
which divides the work and describes the result; ``_judged`` warns of chains that did not converge. ``_variants`` lists
the runs of several models.
"""

from plausibly.aggregation._aggregate import aggregate as aggregate
from plausibly.aggregation._aggregate import refit as refit
from plausibly.aggregation._arguments import settle as settle
from plausibly.aggregation._judged import unjudged as unjudged
from plausibly.aggregation._variants import PlannedRun as PlannedRun
from plausibly.aggregation._variants import Variant as Variant
from plausibly.aggregation._variants import Variants as Variants
from plausibly.aggregation._variants import parse_variant as parse_variant
from plausibly.aggregation._variants import parse_variants as parse_variants
from plausibly.aggregation._variants import plan_runs as plan_runs
from plausibly.aggregation._variants import read_variants as read_variants
from plausibly.aggregation._variants import run_label as run_label
from plausibly.aggregation._with_prior import learn_prior as learn_prior
from plausibly.aggregation.layout import expected_plausibility as expected_plausibility
from plausibly.aggregation.registry import SETTINGS as SETTINGS
from plausibly.aggregation.registry import AnyModel as AnyModel
from plausibly.aggregation.registry import accepted as accepted
from plausibly.aggregation.registry import find_model as find_model
from plausibly.families import Settled as Settled

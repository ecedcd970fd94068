"""From annotations to a posterior over plausibilities.

``_catalogue`` has the models by name and what each of them takes. ``_settle`` checks that a model, its arguments and
annotations go together, and computes nothing. ``_expected`` is what needs no draws: point estimates, exact posteriors,
and where the slots of a model lie. ``_infer`` runs an engine on annotations, whether of all cases or of a shard, and
judges its convergence. ``_aggregate`` is the front door, which divides the work and says what it did.
"""

from plausibly.aggregation._aggregate import aggregate as aggregate
from plausibly.aggregation._aggregate import refit as refit
from plausibly.aggregation._arguments import settle as settle
from plausibly.aggregation._point_estimates import expected_plausibility as expected_plausibility
from plausibly.aggregation._registry import CHOICES as CHOICES
from plausibly.aggregation._registry import MODELS as MODELS
from plausibly.aggregation._registry import SETTINGS as SETTINGS
from plausibly.aggregation._registry import Model as Model
from plausibly.aggregation._registry import find_model as find_model
from plausibly.aggregation._registry import takes as takes

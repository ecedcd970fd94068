"""ArviZ container with draws of the plausibilities of all cases, a different number of classes in each.

Annotators usually name only a few of the K classes of a case. The variable ``plausibility`` in group ``posterior``
therefore has the dimensions (chain, draw, slot): a *slot* is a case with one of its named classes, or a case with its
*remainder*, which stands for all unnamed classes (``class_index`` −1, their number in ``n_classes``). The slots of a
case sum to one. The remainder is distributed over its classes as Dirichlet(concentration · 1), and is split only when
single classes are needed: :func:`dense` splits it completely, :func:`top_classes` as far as ranked lists need.
:func:`case_draws` returns the draws of one case by the names of its classes, and :func:`as_weighted_rows` labels with
weights for other libraries.

Under a model of one true class, plausibilities are probabilities of being the true one, and what reads draws as truth
reads a class drawn from them.

A posterior of scores also has the ``mean`` and the ``variance`` of each case's scores, (chain, draw, scored_case), and
in ``constant_data`` the ``score_certainty`` of each case. If the share of the prior in the posterior is known,
``constant_data`` has it for each slot as ``prior_share``.

The other groups are ``sample_stats`` (if the engine has any), ``log_likelihood`` (if the model has one that enters the
posterior once; computed when it is read, and stored in files only on request), or else ``pseudo_log_likelihood`` (if it
enters by a power, or is no probability of the annotation: ArviZ cannot compare it), ``observed_data`` (the annotations)
and ``constant_data`` (the model's point estimate, the names of the classes).
"""

from plausibly.posterior._container import REMAINDER_NAME as REMAINDER_NAME
from plausibly.posterior._container import annotations_of as annotations_of
from plausibly.posterior._container import build_posterior as build_posterior
from plausibly.posterior._container import case_names as case_names
from plausibly.posterior._container import check_posterior as check_posterior
from plausibly.posterior._container import model_of as model_of
from plausibly.posterior._container import remainder_concentration as remainder_concentration
from plausibly.posterior._container import scores_of as scores_of
from plausibly.posterior._container import slots_of as slots_of
from plausibly.posterior._files import check_path as check_path
from plausibly.posterior._files import load as load
from plausibly.posterior._files import opened as opened
from plausibly.posterior._files import reading as reading
from plausibly.posterior._files import save as save
from plausibly.posterior._store import Store as Store
from plausibly.posterior._store import remove_store as remove_store
from plausibly.posterior._views import as_weighted_rows as as_weighted_rows
from plausibly.posterior._views import case_draws as case_draws
from plausibly.posterior._views import dense as dense
from plausibly.posterior._views import dense_slots as dense_slots
from plausibly.posterior._views import draws_apart as draws_apart
from plausibly.posterior._views import stacked_draws as stacked_draws
from plausibly.posterior._views import top_classes as top_classes
from plausibly.posterior.on_demand import LIKELIHOOD as LIKELIHOOD
from plausibly.posterior.on_demand import LIKELIHOODS as LIKELIHOODS
from plausibly.posterior.on_demand import PSEUDO_LIKELIHOOD as PSEUDO_LIKELIHOOD
from plausibly.posterior.says import ONE_TRUE_CLASS as ONE_TRUE_CLASS
from plausibly.posterior.says import has_true_class as has_true_class
from plausibly.posterior.store_reading import difference as difference
from plausibly.posterior.store_reading import read_fingerprint as read_fingerprint

"""Aggregation models, one file each: NumPyro programs of one case.

Every program is called as ``model(case, **arguments)`` with a :class:`plausibly.case.Case`, and has a site
"plausibility" of shape (slot,). Programs of your own with that signature run through the same engines. Programs of
scores, such as :func:`normal_scores`, are called with a :class:`plausibly.case.ScoredCase`. The exceptions are
:func:`rasch`, which :func:`plausibly.agreement.weighted_reliability` samples, and :func:`tempered_plackett_luce`, which
:func:`plausibly.infer_reliability` does: programs of all cases.
"""

from .dirichlet_categorical import dirichlet_categorical as dirichlet_categorical
from .irn import irn as irn
from .majority_vote import majority_vote as majority_vote
from .normal_scores import normal_scores as normal_scores
from .plackett_luce import plackett_luce as plackett_luce
from .plackett_luce_ml import plackett_luce_ml as plackett_luce_ml
from .prirn import prirn as prirn
from .rasch import rasch as rasch
from .tempered_plackett_luce import tempered_plackett_luce as tempered_plackett_luce

"""Aggregation models, one file each: a NumPyro program for one case, and its declaration.

Every program is called as ``program(case, **arguments)`` with a :class:`plausibly.case.Case`, or with a
:class:`plausibly.case.ScoredCase` if the model takes scores, and has a site "plausibility" of shape (slot,). To add a
model, write a file like the others that ends with a :class:`plausibly.Model`, and add this to :data:`MODELS`. Programs
of models with one true class per case, such as :func:`dawid_skene`, describe all cases at once: they are called with a
:class:`plausibly.case.LabelledCases`; so do :func:`ordinal_ratings` and :func:`normal_ratings`, of ratings by raters
who differ. Three programs for all cases have no declaration: :func:`rasch`, which
:func:`plausibly.agreement.weighted_reliability` samples, :func:`tempered_plackett_luce`, which
:func:`plausibly.infer_reliability` samples, and :func:`judged_outcomes`, which :func:`plausibly.systems` samples.
"""

import sys

from plausibly.families.model import Model

from .common_confusion import common_confusion as common_confusion
from .dawid_skene import dawid_skene as dawid_skene
from .dirichlet_categorical import dirichlet_categorical as dirichlet_categorical
from .irn import irn as irn
from .judged_outcomes import judged_outcomes as judged_outcomes
from .majority_vote import majority_vote as majority_vote
from .normal_scores import normal_ratings as normal_ratings
from .normal_scores import normal_scores as normal_scores
from .one_coin import one_coin as one_coin
from .ordinal_scores import ordinal_ratings as ordinal_ratings
from .ordinal_scores import ordinal_scores as ordinal_scores
from .plackett_luce import plackett_luce as plackett_luce
from .plackett_luce_ml import plackett_luce_ml as plackett_luce_ml
from .prirn import prirn as prirn
from .rasch import rasch as rasch
from .tempered_plackett_luce import tempered_plackett_luce as tempered_plackett_luce

_files = [sys.modules[value.__module__] for value in vars().values() if callable(value)]
_declared = [file.model for file in _files if hasattr(file, "model")]

MODELS: dict[str, Model] = {model.name: model for model in sorted(_declared, key=lambda model: model.name)}

"""Annotators: how well they agree with each other and with classifiers, and how reliable each of them is.

Agreement and overlap are computed from the rankings alone, without a model. :func:`agreement_correlation` relates
agreement to a model's certainty, and :func:`annotator_reliabilities` tabulates inferred reliabilities. Under a model
that assumes one true class in every case, :func:`annotator_accuracies` says how often annotators are right, and
:func:`annotator_confusions` what they name instead. Measures are those of Stutz et al. (2025), arXiv 2307.02191,
appendices C (overlap) and E (agreement). An argument out of range raises :class:`plausibly.ArgumentError`.
Under a model of ratings by raters who differ, :func:`severities` says who rates higher than others, and
:func:`mean_ratings` what cases, or groups of them, would get from raters like these, with
:func:`rank_probabilities` of these.

For labels of any kind, :meth:`plausibly.agreement.Agreement.annotators` finds bad annotators.
"""

from plausibly.agreement.annotators._rating_errors import rating_errors as rating_errors
from plausibly.evaluation.rankings import agreement_correlation as agreement_correlation
from plausibly.evaluation.rankings import annotator_agreement as annotator_agreement
from plausibly.evaluation.rankings import annotator_overlap as annotator_overlap
from plausibly.evaluation.rankings import classifier_overlap as classifier_overlap
from plausibly.families.ratings.tables import mean_ratings as mean_ratings
from plausibly.families.ratings.tables import rank_probabilities as rank_probabilities
from plausibly.families.ratings.tables import rank_sentences as rank_sentences
from plausibly.families.ratings.tables import rating_draws as rating_draws
from plausibly.families.ratings.tables import severities as severities
from plausibly.families.ratings.tables import severity_sentences as severity_sentences
from plausibly.posterior.annotator_tables import COMMON as COMMON
from plausibly.posterior.annotator_tables import annotator_accuracies as annotator_accuracies
from plausibly.posterior.annotator_tables import annotator_confusions as annotator_confusions
from plausibly.posterior.annotator_tables import annotator_reliabilities as annotator_reliabilities
from plausibly.posterior.annotator_tables import group_sentences as group_sentences

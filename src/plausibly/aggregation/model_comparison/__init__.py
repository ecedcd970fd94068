"""Comparison of aggregation models with the annotations.

:func:`compare_models` leaves annotations out and asks which model gives them the highest probability.
"""

from plausibly.aggregation.model_comparison._compare import ComparisonPlan as ComparisonPlan
from plausibly.aggregation.model_comparison._compare import compare_models as compare_models
from plausibly.aggregation.model_comparison._predictive_check import PredictiveCheck as PredictiveCheck
from plausibly.aggregation.model_comparison._predictive_check import predictive_check as predictive_check
from plausibly.aggregation.model_comparison._summary import Comparison as Comparison
from plausibly.aggregation.model_comparison.sensitivities import Sensitivity as Sensitivity
from plausibly.aggregation.model_comparison.sensitivities import prior_sensitivity as prior_sensitivity

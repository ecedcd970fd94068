"""The option that names models, apart from the others because its help lists all models there are."""

from typing import Annotated

from plausibly.app.cli import _options as options
from plausibly.data.annotations.usual_models import MOST_CATEGORIES, OF_LABELS, OF_RANKINGS, OF_SCORES
from plausibly.models import MODELS

MODEL_NAMES = ", ".join(MODELS)
_RANKINGS = " and ".join(OF_RANKINGS)


def _option(default: str):
    return options.modelling(
        "--model",
        metavar="NAME@R1,R2:OPTION=VALUE",
        help="Aggregation model with its reliabilities and options. A reliability says how far you trust the "
        "annotators; unless you have reasons for other values, leave out @R1,R2 to get all usual ones "
        f"(listed on the page Reliability of the documentation). Repeat for each model. NAME is one of {MODEL_NAMES}, "
        f"or a Python file that declares a model. {default}",
    )


_OF_CLASSES = f"Default for labels and counts: {OF_LABELS[0]}; for rankings: {_RANKINGS}"
ModelNames = Annotated[
    list[str] | None,
    _option(
        f"{_OF_CLASSES}; for scores: {OF_SCORES[0]}, or {OF_SCORES[1]} if there are more than {MOST_CATEGORIES} "
        "distinct ones."
    ),
]
EvaluatedModelNames = Annotated[
    list[str] | None,
    _option(
        "Default: every annotation counts once, and the prior is learned from the predictions "
        "(class_prior=predictions; with --annotations-only class_prior=learned); beside it the published method, "
        f"{OF_LABELS[0]} for labels and counts, {OF_RANKINGS[0]} for rankings. For scores: {OF_SCORES[0]} or "
        f"{OF_SCORES[1]}."
    ),
]
ModelNamesOfClasses = Annotated[list[str] | None, _option(f"{_OF_CLASSES}.")]
ComparedModelNames = Annotated[list[str] | None, _option(f"By default {_RANKINGS}.")]

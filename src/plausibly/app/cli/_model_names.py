"""The option that names models, apart from the others because its help lists all models there are."""

from typing import Annotated

import typer

from plausibly.data.annotations.usual_models import OF_LABELS, OF_RANKINGS, OF_SCORES
from plausibly.models import MODELS

MODEL_NAMES = ", ".join(MODELS)
_RANKINGS, _SCORES = " and ".join(OF_RANKINGS), " or ".join(OF_SCORES)


def _option(default: str):
    return typer.Option(
        "--model",
        metavar="NAME@R1,R2:OPTION=VALUE",
        help="Aggregation model with its reliabilities and options. A reliability says how far you trust the "
        "annotators; unless you have reasons for other values, leave out @R1,R2 to get all usual ones "
        f"(listed on the page Reliability of the documentation). Repeat for each model. NAME is one of {MODEL_NAMES}, "
        f"or a Python file that declares a model. By default {default}.",
    )


ModelNames = Annotated[
    list[str] | None,
    _option(f"{OF_LABELS[0]} for labels and counts, {_RANKINGS} for rankings, {_SCORES} for scores"),
]
EvaluatedModelNames = Annotated[
    list[str] | None,
    _option(
        "every annotation counts once, and the prior is learned from the predictions (class_prior=predictions; with "
        "--annotations-only class_prior=learned); beside it the published method, "
        f"{OF_LABELS[0]} for labels and counts, {OF_RANKINGS[0]} for rankings. For scores {_SCORES}"
    ),
]
ComparedModelNames = Annotated[list[str] | None, _option(_RANKINGS)]

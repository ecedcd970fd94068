"""The option that names models, apart from the others because its help lists all models there are."""

from typing import Annotated

from plausibly.cli import _options as options
from plausibly.models import MODELS

MODEL_NAMES = ", ".join(MODELS)

ModelNames = Annotated[
    list[str] | None,
    options.modelling(
        "--model",
        metavar="NAME@R1,R2:OPTION=VALUE",
        help="Aggregation model with its reliabilities and options; without @, its usual reliabilities. Repeat for "
        f"each model. NAME is one of {MODEL_NAMES}, or a Python file that declares a model. Default for labels and "
        f"counts: {options.DEFAULT_MODELS_OF_LABELS[0]}; for rankings: {' and '.join(options.DEFAULT_MODELS)}; for "
        f"scores: {options.DEFAULT_MODELS_OF_SCORES[0]}, or {options.DEFAULT_MODELS_OF_SCORES[1]} if there are more "
        f"than {options.MOST_CATEGORIES} distinct ones.",
    ),
]

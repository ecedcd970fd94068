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
        help="Aggregation model, its reliabilities (without @ its usual ones) and options; once for each. NAME is one "
        f"of {MODEL_NAMES}, or a Python file that declares a model. By default, for labels and counts "
        f"{options.DEFAULT_MODELS_OF_LABELS[0]}, for rankings {' and '.join(options.DEFAULT_MODELS)}, for scores "
        f"{options.DEFAULT_MODELS_OF_SCORES[0]}, above {options.MOST_CATEGORIES} distinct ones "
        f"{options.DEFAULT_MODELS_OF_SCORES[1]}.",
    ),
]

"""``plausibly models compare``: aggregation models by how well they predict left-out annotations."""

from typing import Any

from plausibly.aggregation import parse_variants
from plausibly.aggregation.model_comparison import ComparisonPlan
from plausibly.aggregation.model_comparison import compare_models as find_best
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._model_names import ComparedModelNames
from plausibly.app.cli._output import speaker
from plausibly.app.results import of
from plausibly.data.annotations.usual_models import OF_RANKINGS, recommended_models, usual_models


@example(
    """
    plausibly models compare annotations.json \\
        --model plackett-luce@1,3,10 --model prirn@10,30,100
    """
)
@options.of(find_best, "observation folds:N method seed")
def compare_models(
    data: options.ClassifiedData,
    predictions: list[str] | None = None,
    model: ComparedModelNames = None,
    *,
    modelling: options.ModelOptions,
    sampling: options.SamplingOptions,
    output: options.Output,
    **asked: Any,
) -> None:
    """Compare aggregation models by how well they predict left-out annotations.

    Each annotation is left out in turn and predicted from the others. The best model gives the left-out annotations the
    highest probability. Models named with class_prior=predictions learn from --predictions, which others ignore. With
    --out, also writes models.csv, left-out.csv (one row per model and annotation) and
    models.png.
    """
    read = data.read(progress=not output.quiet)
    asked |= vars(modelling) | vars(sampling) | {"predictions": options.parse_files(predictions) or None}
    usual = usual_models(read)
    names = usual if usual == OF_RANKINGS else recommended_models(read, predictions=asked["predictions"] is not None)
    plan = ComparisonPlan.of(read, parse_variants(model or names), **asked)
    make_folder(output.out, [data.annotations])
    say_progress = speaker(output.quiet)
    compared = plan.run(
        progress=not output.quiet,
        before=lambda number, label: say_progress(f"[{number + 1} of {len(plan.labels)}] {label}"),
    )
    output.publish(of(compared))

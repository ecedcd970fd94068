"""``plausibly models priors``: how much the results depend on priors and conventions."""

from typing import Annotated

import typer

from plausibly.aggregation import model_comparison, parse_variants
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._model_names import ModelNames
from plausibly.app.cli._output import check_converged
from plausibly.app.results import of
from plausibly.base.bootstrap import CI_PROB
from plausibly.data.annotations.usual_models import usual_models


@example(
    """
    plausibly models priors annotations.json --classes conditions.txt \\
        --predictions A=a.csv --predictions B=b.npy \\
        --model plackett-luce@3 --model prirn@30 --out results
    """
)
@options.of(model_comparison.prior_sensitivity)
def prior_sensitivity(
    data: options.AnnotatedData,
    predictions: list[str] | None = None,
    model: ModelNames = None,
    concentration: Annotated[str | None, typer.Option(metavar="A1,A2")] = None,
    prior_kappa: Annotated[str | None, typer.Option(metavar="K1,K2")] = None,
    metric: str = "top1_accuracy",
    k: str | None = None,
    *,
    sampling: options.SamplingOptions,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    output: options.StrictOutput,
) -> None:
    """Evaluate again under other priors and conventions, changing one choice at a time.

    The choices are the prior concentration, or the prior of the concentration where it is learned, the treatment of
    unranked classes and the weight of ties. With --out, also writes sensitivity.csv and sensitivity.svg.

    Options
    -------
    metric METRIC
        Metric to print.
    """
    read = data.read(progress=not output.quiet)
    texts = {"concentration": concentration, "prior_kappa": prior_kappa}
    tried = {
        name: options.parse_numbers(text, f"--{name.replace('_', '-')}", "0.1,1,10")
        for name, text in texts.items()
        if text is not None
    }
    make_folder(output.out, [data.annotations])
    sensitivity = model_comparison.prior_sensitivity(
        read,
        options.parse_files(predictions),
        parse_variants(model or usual_models(read)),
        **tried,
        k=options.parse_numbers(k, *options.LENGTHS),
        **vars(sampling),
        ci_prob=ci_prob,
        seed=seed,
        progress=not output.quiet,
    )
    metric = metric if predictions or metric != "top1_accuracy" else "annotation_certainty_1"
    output.publish(of(sensitivity, metric))
    check_converged(sensitivity.table["converged"].all(), strict=output.strict)

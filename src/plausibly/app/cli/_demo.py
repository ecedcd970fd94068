"""``plausibly demo``: everything once, on bundled data."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plausibly.aggregation.sweeps import Sweep
from plausibly.app.cli import _options as options
from plausibly.app.cli import _simulate
from plausibly.app.cli._app import example
from plausibly.app.cli._evaluate import ModelChoice, finish, run
from plausibly.app.cli._output import say, write
from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.base.programs import tell_of_first_run
from plausibly.data.predictions import read_predictions

CASES, CLASSES, QUALITIES = 100, 40, [0.9, 0.8, 0.7, 0.6]
MODELS = (
    "plackett-luce@1:class_prior=predictions",
    "plackett-luce@1,3,10",
    "prirn@30",
)  # recommended, and as published
_BELOW = 1  # lines for the simulated truth
COMMAND = "evaluate.sh"


@dataclass
class DemoOutput(options.IntoResults):
    """Where the results go."""

    out: Path = Path("results/demo")


@example(
    """
    plausibly demo --out results/demo
    """
)
def demo(
    seed: int = 0,
    *,
    output: DemoOutput,
) -> None:
    """Evaluate four classifiers on simulated data, under the recommended model and as published by Stutz et al. (2025).

    Also writes the input files, as examples of the formats, and evaluate.sh, the command that repeats the evaluation.
    """
    out, quiet = output.out, output.quiet
    names = _simulate.write_simulation(out, CASES, CLASSES, 1.0, QUALITIES, seed)
    more = [word for model in MODELS for word in ("--model", model)]
    command = _simulate.evaluation_command(out, names, *more, "--seed", str(seed), "--out", str(out))
    if not quiet:
        tell_of_first_run()
    done = run(
        options.EvaluatedData(
            annotations=out / _simulate.ANNOTATIONS,
            classes=out / _simulate.CLASSES,
            risks=out / _simulate.RISKS,
            predictions=[f"{name}={out / f'predictions-{name}.csv'}" for name in names],
        ),
        ModelChoice([*MODELS]),
        options.SweepOptions(seed=seed),
        options.MetricOptions(),
        output,
        store={"fresh": True},
        below=_BELOW,
    )
    write(f"{command}\n", out / COMMAND)
    if not quiet:
        say(_simulated(out, done.swept))
    finish(done, output)


def _simulated(out: Path, swept: Sweep) -> str:
    """Put the accuracy on the simulated truth next to the interval of its estimate."""
    top, run, told = np.load(out / _simulate.TRUTH).argmax(1), swept.runs[0], []
    for name in swept.classifiers:
        scores = read_predictions(out / f"predictions-{name}.csv", swept.annotations)
        lower, upper = interval(run.results["top1_accuracy"].sel(classifier=name).values, CI_PROB)
        told.append(f"{name} {(scores.argmax(1) == top).mean():.0%} ({100 * lower:.0f}–{100 * upper:.0f})")
    return f"Simulated truth: {', '.join(told).replace('%', ' %')}"

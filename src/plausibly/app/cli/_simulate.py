"""``plausibly simulate``: annotations and classifiers whose truth is known."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder, writing
from plausibly.app.cli._output import say, write_table
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import write_annotations
from plausibly.data.datasets import simulate_classifiers, simulate_differentials, simulate_risks

ANNOTATIONS, CLASSES, RISKS, TRUTH = "annotations.json", "classes.txt", "risks.txt", "truth.npy"


@example(
    """
    plausibly simulate --cases 200 --classes 50 --qualities 0.9,0.6 --out sim/
    plausibly evaluate sim/annotations.json --risks sim/risks.txt \\
        --predictions A=sim/predictions-A.csv \\
        --predictions B=sim/predictions-B.csv --out results/
    """
)
def simulate(
    cases: int = 200,
    classes: int = 50,
    reliability: float = 1.0,
    qualities: str = "0.9,0.8,0.7,0.6",
    seed: int = 0,
    out: Path = Path("simulated"),
    quiet: bool = False,
) -> None:
    """Simulate differential diagnoses by several annotators, and classifiers of different quality.

    Writes annotations.json, classes.txt, risks.txt, predictions-….csv for each classifier (A, B, …), and truth.npy: the
    plausibilities (cases × classes) that annotations and predictions were drawn from.

    Options
    -------
    cases
        Number of cases.
    classes
        Number of classes; in Python, 419 by default.
    reliability
        Reliability of the annotators; at 1 they draw from the plausibilities.
    qualities Q1,Q2
        Quality of each classifier, from 0 (noise) to 1 (the truth).
    """
    graded = options.parse_numbers(qualities, "--qualities", "0.9,0.6")
    names = write_simulation(out, cases, classes, reliability, graded, seed)
    if not quiet:
        files = [ANNOTATIONS, CLASSES, RISKS, *(f"predictions-{name}.csv" for name in names), TRUTH]
        say(f"Wrote {', '.join(files)} to {out}. To evaluate:")
    say(evaluation_command(out, names))


def write_simulation(
    out: Path, cases: int, classes: int, reliability: float, qualities: list[float], seed: int
) -> list[str]:
    """Write simulated data, and return the names of the classifiers."""
    again = (out / TRUTH).exists()
    if (out / ANNOTATIONS).exists() and not again:
        raise ArgumentError(f"{out} holds {ANNOTATIONS} that was not simulated: name another folder with --out.")
    simulated = simulate_differentials(cases, classes, reliability, seed)
    classifiers = simulate_classifiers(simulated.plausibilities, qualities, seed)
    annotations = simulated.annotations
    make_folder(out)
    write_annotations(annotations, out / ANNOTATIONS)
    with writing(out):
        (out / CLASSES).write_text("".join(f"{name}\n" for name in annotations.classes), encoding="utf-8", newline="\n")
        risks = simulate_risks(annotations.n_classes, seed)
        (out / RISKS).write_text("".join(f"{risk}\n" for risk in risks), encoding="utf-8", newline="\n")
        np.save(out / TRUTH, simulated.plausibilities)
    for name, scores in classifiers.items():
        table = pd.DataFrame(scores, columns=annotations.classes)
        table.insert(0, "case", annotations.cases)
        path = out / f"predictions-{name}.csv"
        if again:  # of an earlier simulation, which is replaced as the other files are
            path.unlink(missing_ok=True)
        write_table(table, path)
    return list(classifiers)


def evaluation_command(folder: Path, names: list[str], *more: str) -> str:
    """Return the command that evaluates simulated classifiers, for a shell."""
    words = ["plausibly", "evaluate", str(folder / ANNOTATIONS), "--classes", str(folder / CLASSES)]
    words += ["--risks", str(folder / RISKS)]
    for name in names:
        words += ["--predictions", f"{name}={folder / f'predictions-{name}.csv'}"]
    return shlex.join([*words, *more])

"""All aggregation models of rankings side by side, on real annotations: what each predicts, reproduces and concludes.

``python -m benchmarks.models`` takes the annotations of :mod:`benchmarks._data`; ``--data FOLDER`` a folder with one
``.json`` file of rankings and one ``*_conditions.txt`` or ``classes.txt`` file of class names; ``--cases N`` the first
N cases. For every model: the mean log probability of a left-out first choice (shared parameters come from other cases),
how many statistics of the posterior predictive check lie inside their 94 % intervals, the mean certainty of the most
plausible class, how many cases it settles, the accuracy of simulated classifiers, and their order. Classifiers are
simulated from the shares of first choices, the same for all models. What a model refuses is said in its row.
``--elpd-only`` predicts left-out annotations and does nothing else.
"""

import argparse
import time
from pathlib import Path

from benchmarks import _data

SETTLED = 0.95  # certainty from which on a case counts as settled
QUALITIES = {"A": 0.75, "B": 0.7, "C": 0.65, "D": 0.6}
CLASSIFIER_SEEDS = 3


def variants() -> dict[str, dict]:
    """Models by label, with their arguments."""
    found = {f"plackett-luce@{r}": {"model": "plackett-luce", "reliability": r} for r in (1, 3, 10)}
    found |= {f"prirn@{r}": {"model": "prirn", "reliability": r} for r in (10, 30, 100)}
    for model, reliability in (("plackett-luce", 1), ("plackett-luce", 3), ("prirn", 10), ("prirn", 30)):
        options = {"model": model, "reliability": reliability, "class_prior": "learned"}
        found[f"{model}@{reliability}:learned"] = options
    return found


def read(folder: Path | None, cases: int | None):
    """Read the annotations, and say what they are."""
    import plausibly as pb

    if folder is None:
        annotations, what = _data.annotations(quick=False)
    else:
        (rankings,) = folder.glob("*.json")
        names = next((path for suffix in ("*conditions.txt", "classes.txt") for path in folder.glob(suffix)), None)
        annotations = pb.read_annotations(rankings, classes=names)
        what = f"{annotations.n_cases:,} cases of {rankings}"
    if cases is not None and cases < annotations.n_cases:
        annotations, what = annotations.select(annotations.cases[:cases]), f"the first {cases:,} of {what}"
    return annotations, what


def first_choices(annotations):
    """Share of each class among the first choices of a case, tied ones sharing, (case, class)."""
    import numpy as np

    first = annotations.entry_block == 0
    size = np.bincount(annotations.entry_annotation[first], minlength=annotations.n_annotations)
    shares = np.full((annotations.n_cases, annotations.n_classes), 1e-3)
    at = annotations.entry_case[first], annotations.entry_class[first]
    np.add.at(shares, at, 1 / size[annotations.entry_annotation[first]])
    return shares / shares.sum(1, keepdims=True)


def predict(annotations, models: dict[str, dict], draws: int):
    """Tabulate by how much models predict left-out first choices, in nats per annotation, best first."""
    import plausibly as pb

    compared = pb.compare_models(annotations, models, draws=draws, chains=2, progress=False)
    print(compared.verdict())
    table = compared.table[["elpd", "elpd_diff", "dse"]] / annotations.n_annotations
    return table.rename(columns={"elpd_diff": "behind", "dse": "se"})


def measure(annotations, models: dict[str, dict], *, draws: int, replicates: int, compare: bool = True):
    """Tabulate the models.

    Parameters
    ----------
    annotations
        Partial rankings.
    models
        Arguments of :func:`plausibly.aggregate` by label.
    draws
        Kept draws of each of two chains.
    replicates
        Of a posterior predictive check.
    compare
        Whether to predict left-out annotations, which takes longest.
    """
    import pandas as pd

    import plausibly as pb

    truth = first_choices(annotations)
    predictions = pb.datasets.simulate_classifiers(truth, QUALITIES, seed=CLASSIFIER_SEEDS)
    settings = {"draws": draws, "chains": 2, "progress": False}
    rows = []
    for label, options in models.items():
        row, began = {"model": label}, time.process_time()
        try:
            posterior = pb.aggregate(annotations, **options, **settings)
            checked = pb.predictive_check(posterior, replicates=replicates, progress=False).table
            results = pb.evaluate(posterior, predictions, k=1, progress=False)
            status = checked["status"].value_counts()
            row["reproduced"] = f"{status.get('reproduced', 0)} of {checked['status'].ne('given').sum()}"
            certainty = results["annotation_certainty_1"].values
            row |= {"certainty": certainty.mean(), "settled": (certainty >= SETTLED).mean()}
            means = results["top1_accuracy"].mean("draw").to_series()
            row |= {f"accuracy of {name}": value for name, value in means.items()}
            row["order"] = " > ".join(means.sort_values(ascending=False).index)
        except pb.PlausiblyError as error:
            row["remark"] = str(error)
        rows.append(row | {"CPU s": time.process_time() - began})
        print(f"{label}: {rows[-1]['CPU s']:.0f} CPU s", flush=True)
    table = pd.DataFrame(rows).set_index("model")
    if compare:
        able = {label: models[label] for label in table.index if "remark" not in row_of(table, label)}
        table = predict(annotations, able, draws).join(table).sort_values("elpd", ascending=False)
    return table


def row_of(table, label: str) -> dict:
    """Cells of a row that are not missing."""
    return table.loc[label].dropna().to_dict()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with rankings and class names")
    parser.add_argument("--cases", type=int, help="how many cases, the first ones")
    parser.add_argument("--only", default="", metavar="A,B", help="only models whose label contains one of these")
    parser.add_argument("--draws", type=int, default=250, help="kept draws of each of two chains")
    parser.add_argument("--replicates", type=int, default=200, help="replicates of the posterior predictive check")
    parser.add_argument("--no-elpd", action="store_true", help="do not predict left-out annotations")
    parser.add_argument("--elpd-only", action="store_true", help="predict left-out annotations alone")
    given = parser.parse_args()
    annotations, what = read(given.data, given.cases)
    print(f"{what}, {annotations.n_annotations:,} annotations, {annotations.n_classes} classes", flush=True)
    wanted = given.only.split(",")
    models = {label: options for label, options in variants().items() if any(text in label for text in wanted)}
    if given.elpd_only:
        table = predict(annotations, models, given.draws)
    else:
        table = measure(annotations, models, draws=given.draws, replicates=given.replicates, compare=not given.no_elpd)
    print(table.to_string(float_format="{:.3f}".format, na_rep=""))


if __name__ == "__main__":
    main()

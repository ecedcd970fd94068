"""Panels of other experts: how often intervals under a posterior contain what readers decide whom nobody asked.

``python -m validation.other_experts --data FOLDER`` prints which scales of the priors of strictness and skill fit
public sets of annotations, and how three published models fare on chest X-rays by three of eight radiologists, against
what panels of the five others decide. The check simulates readers who differ in strictness and in skill.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import binomtest

import plausibly as pb
from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.base.errors import PlausiblyWarning
from plausibly.evaluation import experts
from validation._result import Result, Settings

METRICS = ("accuracy", "auroc", "sensitivity", "specificity")
COVERAGE = {
    True: (0.88, 1.0),
    False: (0.85, 1.0),
}  #: where the true coverage may lie, with five annotators or with fewer
WORLDS, QUICK = 200, 24


class Design(NamedTuple):
    """Annotators of simulated cases: how many, how many of them read a case, and the spread of their strictness."""

    annotators: int
    each: int
    strictness: float

    def __str__(self) -> str:
        return f"{self.each} of {self.annotators} annotators, strictness {self.strictness:g}"


DESIGNS = (
    Design(3, 3, 0.3),
    Design(3, 3, 0.7),
    Design(5, 5, 0.7),
    Design(5, 5, 1.2),
    Design(10, 10, 0.3),
    Design(10, 2, 0.7),
)
_CASES, _SKILL, _POPULATION = 300, 0.3, 400


def world(
    design: Design, random: np.random.Generator, n: int = _CASES
) -> tuple[pb.Annotations, dict[str, np.ndarray], np.ndarray]:
    """Annotations, scores of two classifiers, and log odds of every case for an expert without strictness."""
    odds = random.normal(-0.3, 2, n)
    strict = design.strictness * np.sqrt(2) * random.normal(size=(design.annotators, 1))  # between two classes
    said = random.random((design.annotators, n)) < expit(np.exp(_skills(random, design.annotators)) * odds + strict)
    reads = random.permuted(np.tile(np.arange(design.annotators), (n, 1)), axis=1)[:, : design.each]
    case = np.repeat(np.arange(n), design.each)
    label = np.where(said[reads.ravel(), case], "yes", "no")
    table = pd.DataFrame({"case": case.astype(str), "annotator": reads.ravel().astype(str), "label": label})
    annotations = pb.Annotations.from_table(table, ["no", "yes"])
    noise = {"better": 0.8, "worse": 1.6}
    scores = {name: expit(odds + sd * random.normal(size=n)) for name, sd in noise.items()}
    return annotations, scores, odds


def _skills(random: np.random.Generator, n: int) -> np.ndarray:
    return _SKILL * random.normal(size=(n, 1))


def decided(odds: np.ndarray, strictness: float, size: int, random: np.random.Generator) -> np.ndarray:
    """What panels of further experts decide, (panel, case)."""
    n = _POPULATION
    strict = strictness * np.sqrt(2) * random.normal(size=(n, size, 1))
    skill = np.exp(_skills(random, n * size)).reshape(n, size, 1)
    votes = (random.random((n, size, len(odds))) < expit(skill * odds + strict)).sum(axis=1)
    return votes > size / 2


def values(named: np.ndarray, score: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Metrics of a classifier against panels, expected over these."""
    found = np.array([_values(named, score, one) for one in truth])
    return dict(zip(METRICS, np.nanmean(found, axis=0), strict=True))


def _values(named: np.ndarray, score: np.ndarray, truth: np.ndarray) -> tuple[float, ...]:
    rank = pd.Series(score).rank().to_numpy()
    yes, no = int(truth.sum()), int((~truth).sum())
    if not yes or not no:
        return (float((named == truth).mean()), np.nan, np.nan, np.nan)
    area = (rank[truth].sum() - yes * (yes + 1) / 2) / (yes * no)
    return float((named == truth).mean()), area, float(named[truth].mean()), float((~named[~truth]).mean())


def evaluated(annotations: pb.Annotations, scores: dict[str, np.ndarray], size: int, **options: Any) -> Any:
    """Results against panels of other experts, under the default model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausiblyWarning)
        posterior = pb.aggregate(annotations, predictions=scores, seed=0, progress=False)
        return pb.evaluate(
            posterior, scores, metrics=list(METRICS), truth="panel", panel=size, progress=False, seed=0, **options
        )


def run(design: Design, n: int, seed: int, size: int = 5) -> dict[str, list[tuple[bool, float]]]:
    """Whether intervals cover, and by how much means are off: of metrics, and of the difference of two classifiers."""
    random = np.random.default_rng([seed, *design[:2], round(10 * design.strictness)])
    found: dict[str, list[tuple[bool, float]]] = {}
    for _ in range(n):
        annotations, scores, odds = world(design, random)
        truth = decided(odds, design.strictness, size, random)
        results = evaluated(annotations, scores, size)
        true = {name: values(score >= 0.5, score, truth) for name, score in scores.items()}
        for metric in METRICS:
            draws = results[metric].values
            rows = {metric: (draws[0], true["better"][metric])}
            rows[f"{metric}, difference"] = draws[0] - draws[1], true["better"][metric] - true["worse"][metric]
            for name, (own, at) in rows.items():
                lower, upper = interval(own, CI_PROB)
                found.setdefault(name, []).append((bool(lower <= at <= upper), float(np.nanmean(own) - at)))
    return found


def without_model(design: Design, n: int, seed: int) -> dict[str, list[tuple[bool, float]]]:
    """The same of agreement, panels of three and AUROC without a model, for new cases and other readers."""
    random = np.random.default_rng([seed, *design[:2], round(10 * design.strictness), 1])
    true: dict[str, float] = {}
    size = min(3, design.each)
    large = [_alone(*world(design._replace(annotators=400, each=6), random, 400)[:2], size) for _ in range(15)]
    for name in large[0]:
        true[name] = float(np.mean([one[name][0] for one in large]))
    found: dict[str, list[tuple[bool, float]]] = {}
    for _ in range(n):
        for name, (value, drawn) in _alone(*world(design, random)[:2], size).items():
            lower, upper = interval(drawn, CI_PROB)
            found.setdefault(name, []).append((bool(lower <= true[name] <= upper), value - true[name]))
    return found


def _alone(
    annotations: pb.Annotations, scores: dict[str, np.ndarray], size: int
) -> dict[str, tuple[float, np.ndarray]]:
    """Values, and replicates, of what is measured without a model."""
    results = pb.evaluation.panels(annotations, scores, most=size)
    area = pb.evaluate(annotations, scores, metrics=["auroc"], truth="annotator", progress=False)
    found = {}
    for name, of in (("agreement", results["expert_agreement"]), ("panels", results["panel_accuracy"].isel(n=-1))):
        drawn = results["expert_agreement_total" if name == "agreement" else "panel_accuracy_total"]
        drawn = drawn.values if name == "agreement" else drawn.isel(n=-1).values
        found[name] = float(of[0]), drawn[0]
        found[f"{name}, difference"] = float(of[0] - of[1]), drawn[0] - drawn[1]
    found["experts agree"] = float(results["human_level"]), results["human_level_total"].values
    found["auroc"] = float(area["auroc"][0, 0]), area["auroc_total"].values[0]
    return found


def check(settings: Settings) -> Iterator[Result]:
    """Test that intervals for other experts cover what panels of them decide, and what others say of new cases."""
    n = QUICK if settings.quick else WORLDS
    for design in (DESIGNS[4:] if settings.quick else DESIGNS[2:]) if settings.only != "drawn" else ():
        for name, rows in without_model(design, n, settings.seed).items():
            covered, off = np.array(rows, float).T
            p_value = binomtest(int(covered.sum()), n, COVERAGE[True][0], "less").pvalue
            remark = f"covers {covered.mean():.3f}, off by {off.mean():+.4f}"
            what = f"{design}, no model"
            yield Result("other-experts", what, name, {"too few": float(p_value)}, n, remark=remark)
    for design in DESIGNS[1:4:2] if settings.quick else DESIGNS:
        if settings.only not in str(design):
            continue
        least, _ = COVERAGE[design.annotators >= experts.FEW_READERS]
        for name, rows in run(design, n, settings.seed).items():
            covered, off = np.array(rows, float).T
            p_value = binomtest(int(covered.sum()), n, least, "less").pvalue
            remark = f"covers {covered.mean():.3f}, off by {off.mean():+.4f}"
            yield Result("other-experts", str(design), name, {"too few": float(p_value)}, n, remark=remark)


def public(folder: Path) -> Iterator[tuple[str, pb.Annotations]]:
    """Public sets of labels by annotators with names, those of scores above and below their median."""
    with np.load(folder / "chexpert_readers" / "two_findings.npz") as data:
        for finding, labels in zip(data["findings"], data["labels"], strict=True):
            yield str(finding), _named(pd.DataFrame(labels).stack())
    for path in sorted((folder / "complex_annotations" / "snow_affect").glob("*.tsv")):
        table = pd.read_csv(path, sep="\t").rename(columns={"!amt_worker_ids": "annotator", "orig_id": "case"})
        score = table["response"]
        table["label"] = np.where(score > score.median(), "more", "less")
        yield path.name.split(".")[0], pb.Annotations.from_table(table[["case", "annotator", "label"]])
    votes = pd.read_csv(folder / "llmfao" / "crowd-comparisons.csv")
    votes = votes.assign(case=votes["prompt"].astype(str) + votes["left"] + votes["right"])
    votes = votes.rename(columns={"worker": "annotator", "winner": "label"})[["case", "annotator", "label"]]
    yield "llmfao", pb.Annotations.from_table(votes.drop_duplicates(["case", "annotator"]))
    readings = pd.read_csv(folder / "reader_study" / "vandyke.csv")
    for condition, of in readings.groupby("treatment"):
        yield f"Van Dyke, {condition}", _named((of.set_index(["case", "reader"])["rating"] >= 3).astype(int))


def _named(labels: pd.Series) -> pb.Annotations:
    table = labels.rename_axis(["case", "annotator"]).rename("label").reset_index()
    return pb.Annotations.from_table(table.astype(str), sorted(table["label"].astype(str).unique()))


def scales(folder: Path) -> pd.DataFrame:
    """Log evidence of each public set, under half-normal priors of several scales; last, of all together."""
    rows = []
    for name, annotations in public(folder):
        annotations = annotations.annotated
        logs = experts.evidence(annotations)
        for what, grid, of in zip(("strictness", "skill"), (experts.GRID, experts.SKILLS), logs, strict=True):
            most = float(grid[of.argmax()])
            for scale in np.arange(0.1, 1.55, 0.05):
                prior = np.exp(-0.5 * (grid / scale) ** 2)
                total = float(np.log(np.exp(of - of.max()) @ (prior / prior.sum())))
                rows.append({"set": name, "what": what, "likeliest": most, "scale": round(scale, 2), "log": total})
    table = pd.DataFrame(rows)
    together = table.groupby(["what", "scale"], as_index=False)["log"].sum()
    return pd.concat([table, together.assign(set="all")], ignore_index=True)


def radiologists(folder: Path, sizes: Sequence[int] = (1, 3, 5), step: int = 1) -> pd.DataFrame:
    """Against panels of five others, all triples of eight radiologists: coverage and mean error by size and metric."""
    rows = []
    with np.load(folder / "chexpert_readers" / "two_findings.npz") as data:
        labels, predictions = data["labels"], data["predictions"]
        models, readers = data["models"], data["readers"]
    for finding in range(len(labels)):
        scores = {str(name): values for name, values in zip(models, predictions[finding], strict=True)}
        for triple in [*combinations(range(8), 3)][::step]:
            given, others = labels[finding][:, triple], np.delete(labels[finding], triple, axis=1)
            said = np.where(given == 1, "yes", "no").tolist()
            annotations = pb.Annotations.from_labels(said, ["no", "yes"], annotators=readers[[*triple]].tolist())
            for size in sizes:
                results = evaluated(annotations, scores, size, positive="yes")
                panels = [others[:, list(of)].sum(axis=1) > size / 2 for of in combinations(range(5), size)]
                for name, score in scores.items():
                    true = values(score >= 0.5, score, np.stack(panels))
                    for metric in METRICS:
                        own = results[metric].sel(classifier=name).values
                        lower, upper = interval(own, CI_PROB)
                        row = {"panel": size, "metric": metric, "covers": lower <= true[metric] <= upper}
                        rows.append(row | {"error": own.mean() - true[metric], "width": upper - lower})
    return pd.DataFrame(rows).groupby(["panel", "metric"], sort=False).mean().round(3)


def main() -> None:
    """Print scales that fit, and the table of radiologists."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of public data")
    parser.add_argument("--step", type=int, default=1, help="take every so many of the 56 triples (1)")
    given = parser.parse_args()
    table = scales(given.data)
    for what, of in table[table["set"] == "all"].groupby("what"):
        best = of.loc[of["log"].idxmax()]
        print(f"{what}: the scale {best['scale']:g} fits best")
    likeliest = table.drop_duplicates(["set", "what"]).pivot_table(index="set", columns="what", values="likeliest")
    print(likeliest.round(2).to_string())
    print(f"\nThree of eight radiologists, {100 * CI_PROB:g} % intervals against panels of the others:")
    print(radiologists(given.data, step=given.step).to_string())


if __name__ == "__main__":
    main()

"""Published numbers beside ours: ``python -m validation.published --data FOLDER``.

Printed and written as ``published.csv`` and ``published.md``: the source, what was measured, the printed number, ours
with its standard deviation, and whether they agree. The folder holds the data that the sources released
(:data:`WHERE`). Rows of the first case, of textbooks and of closed forms need none.

**Agreement.** A number is met if it differs from ours by less than half a unit of its last digit and three times the
standard deviation of the difference. Of posteriors, ours is the mean over runs of 1,000 draws, as many as the source
drew, and the standard deviation is that of one run; of agreement by sampled pairs, likewise over samples.
"""

import argparse
import ast
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

import plausibly as pb
from plausibly.aggregation import refit
from validation.readers import against_readers, two_conditions

ROOT = Path(__file__).resolve().parent.parent
STUTZ = "Stutz et al. (2025)"
BRAYLAN = "Braylan, Alonso & Lease (2022), table 1"
#: Folder of each kind of data, where it comes from, and its licence.
WHERE = {
    "dermatology_ddx": "github.com/google-deepmind/uncertain_ground_truth, CC BY 4.0",
    "cifar10h": "github.com/jcpeterson/cifar-10h, CC BY-NC-SA 4.0",
    "complex_annotations": "github.com/Praznat/annotationmodeling, BSD 3-Clause",
    "reader_study": "Van Dyke et al. (1993), as in github.com/brian-j-smith/MRMCaov; simulated readers as in "
    "github.com/Google-Health/google-health",
}
SEEDS = range(25)  #: samples of pairs
RUNS = 4  #: of posteriors

#: Two more cases of the released set: model, arguments, and the accuracies of two top-3 sets.
MEDIUM = {"plackett-luce": {"reliability": 3}, "prirn": {"reliability": 30, "ties": "full"}}
FIGURE_17 = {
    1057: (
        ("Diabetic ulcer", "Pyoderma Gangrenosum", "Venous Stasis Ulcer"),
        ("Arterial ulcer", "Cellulitis", "Pyoderma Gangrenosum"),
        {"plackett-luce": ("0.39", "0.58"), "prirn": ("0.41", "0.61")},
    ),
    357: (
        ("Acne", "Folliculitis", "Folliculitis decalvans"),
        ("Acne keloidalis", "Folliculitis", "Folliculitis decalvans"),
        {"plackett-luce": ("0.27", "0.42"), "prirn": ("0.40", "0.62")},
    ),
}
#: Alpha, superiority (printed as KS) and sigma by distance.
TABLE_1 = {
    "emotions": {
        "share_unequal": ("0.1277", "0.5011", "0.1151"),
        "rmse": ("0.2146", "0.5885", "0.1593"),
    },
    "rankings": {
        "tau@5": ("0.2005", "0.6099", "0.6158"),
        "tau": ("0.4915", "0.9893", "1.0000"),
        "rho": ("0.5413", "0.9867", "1.0000"),
    },
    "boxes": {
        "box_count": ("0.4365", "0.6169", "0.3736"),
        "box_l2": ("0.6873", "0.9130", "0.7640"),
        "box_iou": ("0.5046", "0.9543", "0.8418"),
        "box_giou": ("0.5069", "0.9615", "0.8711"),
    },
}


@dataclass(frozen=True)
class Row:
    """A printed number and ours.

    Attributes
    ----------
    source, what
        Where it is printed, and what it is of.
    printed
        As printed, with its digits; a percentage ends in "%".
    values
        Ours, in the unit of the printed number, one of each run; none where there are no data.
    missing
        Folder of the data that would be needed.
    chance
        Whether the printed number varies by chance as a run of ours does.
    least_sd
        Standard deviation of one run that independent draws would have: four runs tell it too roughly.
    """

    source: str
    what: str
    printed: str
    values: Sequence[float] = field(default=())
    missing: str = ""
    chance: bool = True
    least_sd: float = 0.0

    @property
    def ours(self) -> float:
        """The mean over runs."""
        return float(np.mean(self.values))

    @property
    def sd(self) -> float:
        """Standard deviation of one run, 0 of a number without chance."""
        return max(float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0, self.least_sd)

    @property
    def allowed(self) -> float:
        """The greatest difference by which the two agree."""
        digits = len(self.printed.rstrip("%").partition(".")[2])
        spread = self.sd * np.sqrt(float(self.chance) + 1 / max(len(self.values), 1))
        return 0.5 * 10.0**-digits + 3 * spread + 1e-9

    @property
    def met(self) -> bool | None:
        """Whether they agree; None without data."""
        if self.missing:
            return None
        return bool(abs(self.ours - float(self.printed.rstrip("%"))) <= self.allowed)

    def cells(self) -> tuple[str, ...]:
        """Source, what, printed, ours, standard deviation, and whether it is met."""
        if self.missing:
            return self.source, self.what, self.printed, "", "", f"no data: {self.missing}"
        digits = len(self.printed.rstrip("%").partition(".")[2]) + 1
        sd = f"{self.sd:.1g}" if self.sd else ""
        said = "yes" if self.met else f"no: differs by {self.ours - float(self.printed.rstrip('%')):+.{digits}f}"
        unit = "%" if self.printed.endswith("%") else ""
        return self.source, self.what, self.printed, f"{self.ours:.{digits}f}{unit}", sd, said


def runs(annotations: pb.Annotations, model: str, **arguments) -> Iterator:
    """Posteriors of 1,000 draws each, one from every chain, without what only other questions need."""
    posterior = refit(annotations, model, draws=1000, chains=RUNS, seed=0, progress=False, **arguments)
    for chain in range(RUNS):
        yield posterior.sel(chain=[chain])


def independent(share: float) -> float:
    """Standard deviation of a share of 1,000 independent draws."""
    return float(np.sqrt(share * (1 - share) / 1000))


def top_3(annotations: pb.Annotations, predictions: dict[str, np.ndarray], model: str) -> dict[str, list[float]]:
    """Uncertainty-adjusted top-3 accuracy of each classifier in each run."""
    found = [
        pb.evaluate(one, predictions, k=3, progress=False)["top3_accuracy"].mean("draw")
        for one in runs(annotations, model, **MEDIUM[model])
    ]
    return {name: [float(one.sel(classifier=name)) for one in found] for name in predictions}


def one_case(data: Path) -> Iterator[Row]:
    """The case of figures 3 and 5."""
    case = pb.datasets.published_case()
    printed = {"plackett-luce": ("0.70", "1.00"), "prirn": ("0.52", "0.99")}
    for model, numbers in printed.items():
        found = top_3(case.annotations, case.predictions, model)
        for (name, values), number in zip(found.items(), numbers, strict=True):
            yield Row(
                f"{STUTZ}, figures 3 and 5",
                f"top-3 accuracy of {name.lower()}, {model}",
                number,
                values,
                least_sd=independent(float(number)),
            )


def dermatology(data: Path) -> pb.Annotations | None:
    """The released differential diagnoses."""
    folder = data / "dermatology_ddx"
    if not folder.is_dir():
        return None
    return pb.read_annotations(folder / "dermatology_selectors.json", classes=folder / "dermatology_conditions.txt")


def two_cases(data: Path) -> Iterator[Row]:
    """The cases of figure 17."""
    annotations = dermatology(data)
    for index, (first, second, by_model) in FIGURE_17.items():
        for model, numbers in by_model.items():
            values: list[Sequence[float]] = [(), ()]
            if annotations is not None:
                case = annotations.select([annotations.cases[index]])
                classes = np.asarray(annotations.classes)
                sets = {name: np.isin(classes, names)[None] * 1.0 for name, names in (("1", first), ("2", second))}
                assert all(scores.sum() == 3 for scores in sets.values()), index
                values = list(top_3(case, sets, model).values())
            for names, number, found in zip((first, second), numbers, values, strict=True):
                what = f"case {index}, top-3 accuracy of {{{', '.join(names)}}}, {model}"
                missing = "" if len(found) else "dermatology_ddx"
                least_sd = independent(float(number))
                yield Row(f"{STUTZ}, figure 17", what, number, found, missing, least_sd=least_sd)


def all_cases(data: Path) -> Iterator[Row]:
    """Certainty of the whole set."""
    what = {
        "uncertain": ("cases with certainty below 0.99, plackett-luce", "59%"),
        "risky": ("cases with risk certainty below 0.99, plackett-luce", "38.2%"),
        "models": ("correlation of the certainties under plackett-luce and prirn", "0.9"),
        "agreement": ("correlation of certainty and annotator agreement, plackett-luce", "0.85"),
    }
    found: dict[str, list[float]] = {name: [] for name in what}
    annotations = dermatology(data)
    if annotations is not None:
        risks = data / "dermatology_ddx" / "dermatology_risks.txt"
        both = (runs(annotations, model, **arguments) for model, arguments in MEDIUM.items())
        for pair in zip(*both, strict=True):
            ranked, normalised = (pb.evaluate(one, {}, sizes=1, risks=risks, progress=False) for one in pair)
            certainty = ranked["annotation_certainty_1"].values
            found["uncertain"].append(100 * float((certainty < 0.99).mean()))
            found["risky"].append(100 * float((ranked["risk_certainty"].values < 0.99).mean()))
            found["models"].append(correlation(certainty, normalised["annotation_certainty_1"].values))
            found["agreement"].append(correlation(certainty, ranked["annotator_agreement"].values))
    for name, (text, number) in what.items():
        yield Row(f"{STUTZ}, all 1,947 cases", text, number, found[name], "" if found[name] else "dermatology_ddx")


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's, of what is known of both."""
    known = np.isfinite(x) & np.isfinite(y)
    return float(np.corrcoef(x[known], y[known])[0, 1])


def cifar(data: Path) -> Iterator[Row]:
    """Images whose labels leave a doubt."""
    path = data / "cifar10h" / "cifar10h-counts.npy"
    values: list[float] = []
    if path.is_file():
        annotations = pb.Annotations.from_counts(np.load(path))
        for one in runs(annotations, "dirichlet-categorical", reliability=1):
            results = pb.evaluate(one, {}, sizes=1, progress=False)
            values.append(int((results["annotation_certainty_1"].values < 0.99).sum()))
    what = "CIFAR-10H, images with certainty below 0.99, dirichlet-categorical"
    yield Row(STUTZ, what, "178", values, "" if values else "cifar10h")


def emotions(folder: Path) -> pd.DataFrame:
    """Labels of six emotions and valence, by headline and worker."""
    table = None
    for path in sorted((folder / "snow_affect").glob("*.tsv")):
        one = pd.read_csv(path, sep="\t").rename(columns={"orig_id": "case", "!amt_worker_ids": "annotator"})
        one = one[["case", "annotator", "response"]].rename(columns={"response": path.stem})
        table = one if table is None else table.merge(one, on=["case", "annotator"])
    assert table is not None, folder
    rest = table.drop(columns=["case", "annotator"])
    return table[["case", "annotator"]].assign(label=rest.to_numpy().tolist())


def rankings(folder: Path) -> pd.DataFrame:
    """Simulated lists, best first."""
    table = pd.read_csv(folder / "rankings_simdata.csv").rename(columns={"uid": "annotator", "topic_item": "case"})
    return table.assign(label=[[int(one) for one in cell.strip("[]").split()] for cell in table["rankings"]])


def boxes(folder: Path) -> pd.DataFrame:
    """Boxes drawn by workers."""
    table = pd.read_csv(folder / "boundingbox_data.csv").rename(columns={"uid": "annotator", "item": "case"})
    return table.assign(label=[ast.literal_eval(cell) for cell in table["annotation"]])


LABELS: dict[str, Callable[[Path], pd.DataFrame]] = {"emotions": emotions, "rankings": rankings, "boxes": boxes}


def agreement(data: Path) -> Iterator[Row]:
    """Alpha, superiority and sigma of three kinds of labels."""
    folder = data / "complex_annotations"
    for kind, distances in TABLE_1.items():
        labels = LABELS[kind](folder) if folder.is_dir() else None
        for distance, numbers in distances.items():
            found: list[Sequence[float]] = [()] * 3
            if labels is not None:
                made = (pb.agreement.agreement(labels, distance, preset="braylan2022", seed=seed) for seed in SEEDS)
                found = list(zip(*((one.alpha, one.ks.superiority, one.sigma) for one in made), strict=True))
            for name, number, values in zip(("alpha", "superiority", "sigma"), numbers, found, strict=True):
                missing = "" if len(values) else "complex_annotations"
                yield Row(BRAYLAN, f"{kind}, {distance}: {name}", number, values, missing)


def textbooks(data: Path) -> Iterator[Row]:
    """Numbers that can be worked out on paper."""
    n = None
    table = [  # four annotators, twelve units
        [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
        [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
    ]
    rows = [(u, a, v) for a, values in enumerate(table) for u, v in enumerate(values) if v is not None]
    for distance, number in {"nominal": "0.743", "ordinal": "0.815", "interval": "0.849", "ratio": "0.797"}.items():
        alpha = pb.agreement.agreement(rows, distance, weighting="units").alpha
        yield Row("Krippendorff (2011)", f"alpha of his example, {distance}", number, [alpha], chance=False)
    accuracy = 100 * pb.agreement.actual_accuracy(0.98, 0.85)
    what = "actual accuracy where 98 % are measured against labels of 85 %"
    yield Row("Cabitza, Campagner et al. (2020)", what, "83%", [accuracy], chance=False)


def noise(data: Path) -> Iterator[Row]:
    """The simulation of the discrepancy ratio, whose expectation is known.

    Of ten classes, a model keeps a share X of the true labels, an annotator all but p, and both choose evenly instead;
    so the ratio is (1 − X q − (1 − X) r) / (1 − q² − 9 r²), r = p / 10 and q = 1 − 9 r.
    """
    for swap in (0.05, 0.2):
        r = swap / 10
        q = 1 - 9 * r
        made = [pb.datasets.simulate_label_noise(swap=swap, models=(1.0, 0.9, 0.8), seed=seed) for seed in range(10)]
        found = [pb.agreement.discrepancy_ratio(one.labels, one.predictions, "nominal").ratio for one in made]
        for kept in (1.0, 0.9, 0.8):
            expected = (1 - kept * q - (1 - kept) * r) / (1 - q**2 - 9 * r**2)
            values = [float(one[f"{kept:g}"]) for one in found]
            what = f"discrepancy ratio of a model right in {kept:.0%}, annotators who swap {swap:.0%} of labels"
            yield Row("Lovchinsky et al. (2020), closed form", what, f"{expected:.3f}", values, chance=False)


def reader_studies(data: Path) -> Iterator[Row]:
    """A model against ten simulated readers, and five readers of images of two kinds."""
    beside, two = "RJafroc, simulated readers", "MRMCaov, Van Dyke et al. (1993)"
    folder = data / "reader_study"
    there = folder.is_dir()
    numbers = {"effect": "-0.00584125", "lower": "-0.0323318", "upper": "0.0206493", "df": "31.00905", "p": "0.656045"}
    numbers |= {"t of a margin of 0.05": "3.39975", "p_noninferior": "0.000936"}
    tables = [(beside, "AUROC of a model against readers", numbers, against_readers, {})]
    numbers = {"effect": "-0.04380032", "se": "0.0206825", "df": "15.06611", "lower": "-0.0878672"}
    numbers |= {"upper": "0.0002666", "p": "0.0512330"}
    options = {"metric": "auroc", "covariance": "delong"}
    tables.append((two, "AUROC, cine minus spin-echo", numbers, two_conditions, options))
    numbers = {"effect": "-0.09777778", "se": "0.03780451", "df": "15.71732", "p": "0.02008822"}
    options = {"metric": "sensitivity", "threshold": 3}
    tables.append((two, "sensitivity from rating 3 on, cine minus spin-echo", numbers, two_conditions, options))
    for source, what, printed, study, chosen in tables:
        found = dict(study(folder, **chosen).table.iloc[0]) if there else {"effect": 0.0, "se": 1.0}
        found["t of a margin of 0.05"] = (found["effect"] + 0.05) / found["se"]
        for name, number in printed.items():
            values, missing = ([float(found[name])], "") if there else ((), "reader_study")
            yield Row(source, f"{what}: {name}", number, values, missing, chance=False)
    ends = ("effect", "lower", "upper", "df")
    means = two_conditions(folder, covariance="delong").means_of_readers if there else None
    for at, (side, *printed) in enumerate(
        [
            ("cine", "0.8970370", "0.8253461", "0.9687280", "12.59597"),
            ("spin-echo", "0.9408374", "0.8942155", "0.9874592", "12.56530"),
        ]
    ):
        for name, number in zip(ends, printed, strict=True):
            values, missing = ((), "reader_study") if means is None else ([float(means[name][at])], "")
            yield Row(two, f"AUROC of readers, {side}: {name}", number, values, missing, chance=False)


TABLES = (one_case, two_cases, all_cases, cifar, agreement, noise, textbooks, reader_studies)
HEAD = ("source", "what", "printed", "ours", "sd of a run", "met")


def markdown(rows: Sequence[Row]) -> str:
    """A table for each source, with a row for the numbers of one thing, and where the data come from."""
    met, judged, lines = sum(row.met is True for row in rows), sum(row.met is not None for row in rows), [""]
    for source in dict.fromkeys(row.source for row in rows):
        things: dict[str, list[str]] = {}
        for _, what, printed, ours, sd, said in (row.cells() for row in rows if row.source == source):
            thing, _, name = what.rpartition(": ")
            number = f"{printed} ({ours or '–'}{sd and f' ± {sd}'})" + ("" if said == "yes" else f", {said}")
            things.setdefault(thing or name, []).append(f"{name} {number}" if thing else number)
        lines += [f"## {source}", "", "| what | printed (ours ± sd of a run) |", "|---|---|"]
        lines += [f"| {thing} | {'; '.join(numbers)} |" for thing, numbers in things.items()] + [""]
    data = [f"* `{folder}`: {source}." for folder, source in WHERE.items()]
    return "\n".join([f"{met} of {judged} numbers are met.", *lines, "## Data", "", *data, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write the table; returns 0 if all numbers with data are met, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m validation.published", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data", metavar="FOLDER", help="released data"
    )
    parser.add_argument("--out", type=Path, default=Path("results/published"), metavar="FOLDER", help="of the table")
    parser.add_argument("--only", choices=[table.__name__ for table in TABLES], help="one part of the table")
    given = parser.parse_args(arguments)
    rows: list[Row] = []
    for table in TABLES:
        if given.only in (None, table.__name__):
            for row in table(given.data):
                rows.append(row)
                print("  ".join(cell for cell in row.cells() if cell), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "published.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEAD, *(row.cells() for row in rows)])
    (given.out / "published.md").write_text(markdown(rows))
    failed = [row for row in rows if row.met is False]
    print(f"\n{markdown(rows).splitlines()[0]} {given.out / 'published.md'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""``plausibly evaluate`` of ratings alone, without a threshold: means, and how well raters agree."""

from pathlib import Path

import numpy as np
import pandas as pd

from plausibly.agreement import agreement
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import Publisher
from plausibly.app.screen import Piece, Screen, Table
from plausibly.data.annotations import Scores
from plausibly.data.annotations.scores import MOST_GRADES

_SHOWN = 5  # cases with the highest and the lowest means
NEXT = (
    "To evaluate classifiers, give the rating above which a case is positive (--threshold). To infer how severe "
    f"raters are, give at most {MOST_GRADES} different ratings by named raters, or add --threshold, --raters differ "
    "and --model normal-scores."
)


def describe_ratings(scores: Scores, output: Publisher, *, data: Path, suffix: str, fresh: bool) -> None:
    """Write and print means by case and by rater, and print agreement."""
    table = pd.DataFrame(
        {
            "case": scores.cases[scores.annotation_case],
            "rater": scores.annotators[scores.annotation_annotator],
            "rating": scores.score,
        }
    )
    by_case = table.groupby("case", sort=False)["rating"]
    cases = by_case.agg(n_ratings="size", mean="mean", sd="std", lowest="min", highest="max").reset_index()
    make_folder(output.out, [data], fresh=fresh)
    files = [Piece("ratings.csv", cases)]
    if not scores.anonymous:
        n, total = by_case.transform("size"), by_case.transform("sum")
        others = ((total - table["rating"]) / (n - 1).replace(0, np.nan)).rename("others")
        table["difference"] = table["rating"] - others
        by_rater = table.groupby("rater", sort=False)
        raters = by_rater.agg(n_ratings=("rating", "size"), mean=("rating", "mean"), difference=("difference", "mean"))
        files.append(Piece("raters.csv", raters.reset_index()))
    told = f"{scores}: mean {scores.score.mean():.2f}; {_agreement(table)}."
    ranked = cases.sort_values("mean", ascending=False, kind="stable")
    ends = pd.concat([ranked.head(_SHOWN), ranked.iloc[max(_SHOWN, len(ranked) - _SHOWN) :]])
    title, frame = "Cases with the highest and the lowest means", ends[["case", "n_ratings", "mean", "sd"]]
    if not scores.anonymous:
        title, frame = "Raters (difference: from the others in the same cases)", raters.reset_index()
    table = Table.of(frame.astype({frame.columns[0]: str}), ".2f", title)
    output.publish(Screen(told, table, [NEXT], files[0].file, files=files), suffix=suffix)


def _agreement(table: pd.DataFrame) -> str:
    """Say how well raters agree, corrected for chance."""
    several = table.groupby("case")["rating"].transform("size") > 1
    pairable = table[several]
    if len(set(pairable["case"])) < 2 or len(set(pairable["rating"])) < 2:
        return "too few cases have several ratings to say whether raters agree"
    labels = pairable.rename(columns={"rater": "annotator", "rating": "label"})[["case", "annotator", "label"]]
    alpha = {name: agreement(labels, name, weighting="units", progress=False).alpha for name in ("interval", "ordinal")}
    return "Krippendorff's alpha " + ", ".join(f"{value:.2f} ({name})" for name, value in alpha.items())

"""Sets of classes with a guarantee, and how often they contain an answer: what they say."""

from collections.abc import Iterator, Mapping

import pandas as pd

from plausibly.app.screen import About, Piece, Screen, Table, cell
from plausibly.decisions.conformal import Conformal, ConformalSweep, Coverage

_DIGITS = ",.4g"
_FIT = (
    "Coverage of the plausibilities minus coverage of the annotators' choices, for the same sets. A negative "
    "difference means that the model gives plausibility to classes that annotators do not choose first"
)
_COVERED = (
    "{} in test cases (mean over repeated splits), where the answer is the majority vote, the next annotator's choice, "
    "or a class drawn from the plausibilities. Target: the answer that the sets were calibrated on"
)
_ABOUT = About("How large must a set of answers be?")


def screen(
    result: Conformal | ConformalSweep | Coverage | Mapping[float, ConformalSweep],
    measured: Coverage | None = None,
    sets: pd.DataFrame | None = None,
) -> Screen:
    """Thresholds by level, with what was `measured` of sets, and `sets` of new cases; or what was measured alone."""
    if isinstance(result, Coverage):
        return _of_coverage(result)
    result = ConformalSweep({"": result}) if isinstance(result, Conformal) else result
    swept = {next(iter(result.runs.values())).alpha: result} if isinstance(result, ConformalSweep) else result
    common = {at: next(iter(one.runs.values())) if len(one.runs) == 1 else one.common for at, one in swept.items()}
    thresholds = pd.concat([one.table.assign(alpha=level) for level, one in swept.items()], ignore_index=True)
    *others, headline = [one.headline for one in common.values()]
    priors = [one.prior.told for one in common.values() if one.prior is not None and one.prior.told]
    notes = [*priors[:1], *([] if measured is None else [measured.headline]), *others, *_of_new(sets)]
    files = [Piece("thresholds.csv", thresholds, "Thresholds of scores, and mean sizes of sets")]
    files += [] if sets is None else [Piece("sets.csv", sets, "Sets of new cases")]
    drawn = "Guaranteed coverage by threshold, and the threshold that was chosen, for alpha {:g}"
    files += [Piece(f"thresholds-{at:g}.png", one.plot, drawn.format(at)) for at, one in common.items()]
    files += [] if measured is None else _of_coverage(measured).files
    return Screen(headline, _table(thresholds, measured), notes, "thresholds.csv", files=files, about=_ABOUT)


def _of_coverage(result: Coverage) -> Screen:
    """Coverage of sets in test cases, and whether the model fits the annotators' choices."""
    caption = _COVERED.format(
        "Expected risk level that sets miss" if result.loss else "Share of answers that sets contain"
    )
    columns = ["alpha", "classifier", "target", *result.measures, "size"]
    of_all = result.table["group"] == "all"
    groups = result.table.loc[~of_all, ["group", "n", *columns]].reset_index(drop=True)
    covered = result.table.loc[of_all, columns].reset_index(drop=True)
    files = [
        Piece("coverage.csv", result.table, caption, covered),
        Piece("", groups, f"{caption}, by group" if len(groups) else ""),
        *([] if result.fit is None else [Piece("model-fit.csv", result.fit, _FIT)]),
        Piece("coverage.png", result.plot, f"{caption} (filled points). Lines are intervals over splits"),
    ]
    notes = [result.prior.told] if result.prior is not None and result.prior.told else []
    table = Table.of(covered, target="", classifier="", title="")
    return Screen(
        result.headline, table._replace(n_left=1, left=(1, 2)), notes, "coverage.csv", files=files, about=_ABOUT
    )


def _table(thresholds: pd.DataFrame, measured: Coverage | None) -> Table:
    """A row for each classifier, group, level and run, with what was measured of its sets."""
    known: dict[tuple, float] = {}
    if measured is not None and measured.measures:
        of_all = measured.table.loc[measured.table["group"] == "all"]
        known = {(row["alpha"], row["classifier"]): row[measured.measures[0]] for row in of_all.to_dict("records")}
    several = {name: thresholds[name].nunique() > 1 for name in ("run", "group", "alpha")}
    rows = []
    for row in thresholds.to_dict("records"):
        named = [str(row["classifier"]), *(f"{row[name]}" for name in several if several[name])]
        covered = known.get((row["alpha"], row["classifier"]), float("nan"))
        numbers = [cell(row["n"]), cell(float(row["threshold"]), _DIGITS), cell(float(row["mean_size"]), _DIGITS)]
        rows.append((" · ".join(named), *numbers, cell(covered, _DIGITS)))
    what = "risk missed" if measured is not None and measured.loss else "coverage measured"
    return Table(("classifier", "cases", "threshold", "mean size of sets", what), rows)


def _of_new(sets: pd.DataFrame | None) -> Iterator[str]:
    """Say how large sets of the new cases are."""
    if sets is None:
        return
    for (level, name), sizes in sets.groupby(["alpha", "classifier"], sort=False)["size"]:
        yield (
            f"Sets of {len(sizes):,} new cases by {name} at alpha {level:g} have {sizes.mean():.1f} classes each, "
            f"{sizes.min():,} to {sizes.max():,}: sets.csv lists them."
        )

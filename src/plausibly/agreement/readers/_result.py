"""The result of a reader study."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from plausibly.agreement.readers._compare import Effect
from plausibly.agreement.readers._figures import FIGURES, Figure
from plausibly.agreement.readers._read import Answers, Study
from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError
from plausibly.base.names import listed, many
from plausibly.base.shown import Shown
from plausibly.metrics.words import capitalised, metric_name

FEW_READERS = 5  #: below which other readers cannot be known
_OTHER_HALF = {"sensitivity": "specificity", "specificity": "sensitivity"}
_SURE = 0.05  # p-value of a verdict


@dataclass(frozen=True)
class Comparison:
    """One comparison: its two sides, the second of which is empty for a mean over readers alone."""

    first: str
    second: str
    effect: Effect
    estimates: tuple[float, float]

    @property
    def name(self) -> str:
        """Both sides."""
        return f"{self.first} − {self.second}" if self.second else self.first


@dataclass(frozen=True, eq=False)
class ReaderStudy(Shown, kind="readers"):
    """Comparisons of models, readers and conditions, for other readers and other cases.

    Parameters
    ----------
    study
        What was read.
    figure
        Figure of merit.
    margin
        Margin of non-inferiority.
    ci_prob
        Probability of the intervals.
    comparisons
        Models against the readers (of each condition), and one condition against the other; or, of a study that
        compares nothing, the mean of the readers.
    means
        Mean of the readers in each condition.
    constant
        For accuracy, the commonest class, and the effect of always answering it against the readers; else None.
    """

    study: Study
    figure: Figure
    margin: float
    ci_prob: float
    comparisons: tuple[Comparison, ...]
    means: tuple[Comparison, ...]
    constant: tuple[str, Effect] | None = None

    def __repr__(self) -> str:
        study = self.study
        return (
            f"ReaderStudy({'; '.join(self._sentence(one) for one in self.comparisons)}; "
            f"{many(len(study.readers), 'reader')}, {many(len(study.cases), 'case')})"
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """Comparisons, a row each.

        Columns ``comparison``, ``effect`` (first minus second), ``lower``, ``upper``, ``se``, ``df``, ``p`` (two-sided,
        of no effect), ``p_noninferior`` (that the first is worse by the margin or more), ``first`` and ``second`` (the
        estimates of both sides), and what the effect varies by: ``mean_square`` (variance of the readers' numbers),
        ``error`` and ``covariance`` (due to cases, of one reader's number and of two readers').
        """
        rows = []
        for one in self.comparisons:
            alone = not one.second
            rows.append(
                {"comparison": one.name}
                | self._numbers(one)
                | {
                    "p": np.nan if alone else one.effect.p_value(),
                    "p_noninferior": np.nan if alone else one.effect.p_value(self.margin),
                    "first": one.estimates[0],
                    "second": one.estimates[1],
                    "mean_square": one.effect.mean_square,
                    "error": one.effect.error,
                    "covariance": one.effect.covariance,
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def means_of_readers(self) -> pd.DataFrame:
        """Mean of the readers in each condition: ``side``, ``effect``, ``lower``, ``upper``, ``se``, ``df``."""
        return pd.DataFrame([{"side": one.first} | self._numbers(one) for one in self.means])

    @cached_property
    def by_reader(self) -> pd.DataFrame:
        """Readers and models, a row each: ``who``, ``kind``, ``condition``, ``n_cases``, and every figure of merit.

        A figure is NaN if it is of decisions, and no threshold makes any of scores. Where readers are the truth, a
        reader's figures are against the others, and a model's against all.
        """
        study, rows = self.study, []
        for t, condition in enumerate(study.conditions):
            for j, reader in enumerate(study.readers):
                own = study.read[t, j]
                one = _of_reader(study.answers, (t, j))
                what = {"who": reader, "kind": "reader", "condition": condition, "n_cases": int(own.sum())}
                rows.append(what | self._figures(one, j))
        for name, model in study.models.items():
            what = {"who": name, "kind": "model", "condition": "", "n_cases": len(study.cases)}
            rows.append(what | self._figures(model, None))
        frame = pd.DataFrame(rows)
        return frame.drop(columns="condition") if study.conditions == [""] else frame

    def _ends(self, one: Comparison) -> tuple[float, float]:
        """Ends of an interval; those of a mean are not beyond 0 and 1, unless a user's function may be."""
        ends = one.effect.ends(self.ci_prob)
        return ends if one.second or self.figure.own else tuple(np.clip(ends, 0, 1).tolist())

    def _numbers(self, one: Comparison) -> dict[str, float]:
        lower, upper = self._ends(one)
        return {"effect": one.effect.value, "lower": lower, "upper": upper, "se": one.effect.se, "df": one.effect.df}

    def _figures(self, answers: Answers, reader: int | None) -> dict[str, float]:
        """All figures of one reader or model, of which those of two classes are for two classes."""
        study, found = self.study, {}
        for figure in {**FIGURES, self.figure.name: self.figure}.values():
            if study.positive is None and figure.name != self.figure.name:
                continue
            known = answers.scores if figure.of == "scores" or answers.decisions is None else answers.decisions
            if figure.of != "scores" and answers.decisions is None and not figure.own:
                found[figure.name] = np.nan
                continue
            truths = [one for j, one in enumerate(study.truths) if study.truth is not None or j != reader]
            there = ~np.isnan(known)
            values = [float(figure.value(truth[there], known[there])) for truth in truths]
            found[figure.name] = float(np.mean(values))
        return found

    def plan(
        self,
        readers: Sequence[int] = (5, 10, 15, 20),
        cases: Sequence[int] = (),
        difference: float | None = None,
        comparison: str | None = None,
        level: float = _SURE,
    ) -> pd.DataFrame:
        """Compute what a next study would show, by its numbers of readers and cases (Hillis & Obuchowski 2011).

        Parameters
        ----------
        readers, cases
            Numbers of readers, and of cases (or clusters) in the same mix of positive and negative ones. By default as
            many cases as here, twice and four times as many.
        difference
            True difference to find; by default the margin.
        comparison
            Name of a comparison; by default the first.
        level
            Level of the tests.

        Returns
        -------
        pandas.DataFrame
            ``n_readers``, ``n_cases``, ``width`` of the interval, ``power`` to find the difference, and
            ``power_noninferior`` to show that two equal sides differ by less than the margin.

        Raises
        ------
        ArgumentError
            If an argument is out of range, or not every reader read every case.
        """
        named = {one.name: one.effect for one in self.comparisons}
        effect = named.get(self.comparisons[0].name if comparison is None else comparison)
        if effect is None:
            raise ArgumentError(f"there is no comparison {comparison!r}: choose of {listed(list(named))}.")
        if effect.known:
            raise ArgumentError(
                "planning needs readers who all read the same cases, but some are missing: plan with those that all "
                "read."
            )
        difference = self.margin if difference is None else float(difference)
        rows = []
        for n_readers in (check_whole("readers", one, 2) for one in readers):
            for n_cases in (
                check_whole("cases", one, 4) for one in cases or np.multiply(effect.n_units, [1, 2, 4]).tolist()
            ):
                other = effect.of_size(n_readers, n_cases)
                lower, upper = other.ends(self.ci_prob)
                powers = other.power(difference, level), other.power_noninferior(self.margin, level)
                rows.append((n_readers, n_cases, upper - lower, *powers))
        return pd.DataFrame(rows, columns=["n_readers", "n_cases", "width", "power", "power_noninferior"])

    def verdict(self) -> str:
        """Say of every comparison what it comes to."""
        return " ".join(f"{capitalised(self._sentence(one))}." for one in self.comparisons)

    def answer(self, comparison: Comparison) -> str:
        """Whether the first side is better, not worse by the margin, or worse; else "open" or "cannot tell"."""
        lower, upper = comparison.effect.ends(self.ci_prob)
        if not comparison.effect.se > 0:
            return "cannot tell"
        if upper < 0:
            return "worse, within the margin" if comparison.effect.p_value(self.margin) < _SURE else "worse"
        if lower > 0 or comparison.effect.p_value(self.margin) < _SURE:
            passes = self.constant is not None and self.constant[1].p_value(self.margin) < _SURE
            if passes or comparison.first in self._unfair or self._traded(comparison):
                return "cannot tell"
            return "better" if lower > 0 else "not worse"
        return "open"

    @property
    def _unfair(self) -> list[str]:
        """Models whose AUROC is that of scores, where readers gave decisions."""
        models = self.study.models if self.figure.of == "scores" and not self.study.answers.scored else {}
        return [name for name, one in models.items() if one.scored]

    def _traded(self, one: Comparison) -> bool:
        """Whether a model's other half of sensitivity and specificity is lower by more than the margin."""
        half, models = _OTHER_HALF.get(self.figure.name), self.study.models
        if half is None or one.first not in models:
            return False
        table = self.by_reader
        of_readers = table.loc[table["kind"] == "reader", half].mean()
        first, second = (table.loc[table["who"] == who, half].mean() for who in (one.first, one.second))
        return bool(first < (second if one.second in models else of_readers) - self.margin)

    def passes(self, comparison: Comparison) -> bool:
        """Whether the first side is better, or not worse by the margin."""
        return self.answer(comparison) in ("better", "not worse", "worse, within the margin")

    def _sentence(self, one: Comparison) -> str:
        lower, upper = self._ends(one)
        ends = "no interval, as nothing varies" if np.isnan(lower) else f"{lower:z.3f} to {upper:z.3f}"
        of, name = f"({100 * self.ci_prob:g} % interval {ends})", metric_name(self.figure.name)
        if not one.second:
            return f"the mean {name} of {one.first} is {one.estimates[0]:.3f} {of}"
        higher = "above" if one.effect.value >= 0 else "below"
        words = f"{name} of {one.first} is {abs(one.effect.value):.3f} {higher} that of {one.second} {of}"
        margin, p = f"by {self.margin:g} or more", f"p {one.effect.p_value(self.margin):.2g}"
        said = {
            "better": "it is better",
            "not worse": f"it is not worse {margin} ({p})",
            "worse": "it is worse",
            "worse, within the margin": f"it is worse, but not {margin} ({p})",
            "open": f"whether it is worse {margin} is open ({p})",
            "cannot tell": "whether it is as good cannot be told from this",
        }
        return f"{words}: {said[self.answer(one)]}"

    @property
    def understood(self) -> str:
        """What was compared, in a sentence."""
        study = self.study
        whom = listed(list(study.models)) + " against " if study.models else ""
        sides = [side.removeprefix("readers (").rstrip(")") for side in study.sides]
        within = "" if study.conditions == [""] else f", {listed(sides)}"
        truth = "the readers themselves" if study.truth is None else "gold labels"
        of = f", positive {study.positive!r}" if study.positive is not None else ""
        left = f", {study.n_left_out:,} more left out" if study.n_left_out else ""
        return (
            f"{whom}{many(len(study.readers), 'reader')}{within}: {many(len(study.cases), 'case')}, truth by {truth}"
            f"{of}{left}."
        )

    @property
    def notes(self) -> list[str]:
        """What limits the answers, the gravest first."""
        study, found = self.study, []
        n = len(study.readers)
        if (
            self.figure.name == "auroc"
            and study.truth is not None
            and max(one.effect.value for one in self.means) < 0.5
        ):
            found.append(
                f"Readers order cases the wrong way round: if {study.positive!r} is not what they look for, name the "
                "positive class with positive=."
            )
        if self.constant is not None and any(self.answer(one) == "cannot tell" for one in self.comparisons):
            found.append(
                f"Always answering {self.constant[0]} would pass, too, so that {metric_name(self.figure.name)} shows "
                "nothing here: measure auroc, or sensitivity and specificity."
            )
        if self._unfair:
            found.append(
                f"Readers gave decisions, and {listed(self._unfair)} scores, whose AUROC is higher for that alone: "
                "compare sensitivity and specificity."
            )
        if n < FEW_READERS:
            found.append(f"What other readers would do cannot be known from {n}; five or more are needed.")
        if half := _OTHER_HALF.get(self.figure.name):
            mean = self.by_reader.groupby("kind")[half].mean()
            models = f", {listed([*study.models])} {mean['model']:.3f}" if study.models else ""
            more = "positive" if half == "specificity" else "negative"
            found.append(
                f"More {more} answers alone raise {metric_name(self.figure.name)}; {metric_name(half)}: readers "
                f"{mean['reader']:.3f}{models}."
            )
        if not study.crossed:
            found.append(
                "Not every reader read every case: intervals are from random weights of readers and cases, and a model "
                "is measured on the cases of each reader."
            )
        if study.truth is None:
            found.append("The readers are the truth: what they all get wrong counts as right.")
        return found


def _of_reader(answers: Answers, at: tuple[int, int]) -> Answers:
    return Answers(answers.scores[at], None if answers.decisions is None else answers.decisions[at])

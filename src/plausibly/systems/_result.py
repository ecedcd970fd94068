"""The result: tables of systems and judges, and what they mean in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.base.arviz import Posterior
from plausibly.base.names import listed, probability_in_words, some
from plausibly.base.shown import Shown
from plausibly.data.outcomes import Outcomes

FEW, FEW_CLUSTERS, FEW_OF_A_KIND = 30, 20, 10  #: cases rated by people, below which intervals cover too rarely
SURE = 0.01  #: p-value below which systems are said to differ in a judge's bias
UNLIKE_PEOPLE = 0.05  #: p-value below which a judge is said to differ from people more than these from one another
BEST = 0.95  #: probability from which a system whose differences to all others leave out 0 is called the best
#: Estimators in words.
NAMES = {
    "people": "people alone",
    "judge": "judge alone",
    "ppi": "PPI",
    "ppi++": "PPI++",
    "rogan-gladen": "Rogan–Gladen",
    "strengths": "strengths",
    "adjusted": "adjusted",
    "model": "model",
    "model-these": "model, these cases",
    "model-people": "model, other people",
}
#: What each interval is for.
MEANT = {
    "people": "mean outcome that people would give, on new cases like these",
    "judge": "mean outcome that the judge would give, on new cases like these; not people's",
    "ppi": "mean outcome that people would give, on new cases like these",
    "ppi++": "mean outcome that people would give, on new cases like these",
    "rogan-gladen": "mean outcome that people would give, on new cases like these",
    "strengths": "win rate that people would give against each of the others equally often, on new cases like these",
    "adjusted": "mean outcome that the average of these people would give, on new cases like these, the same for all",
    "model": "mean outcome that people would give, on new cases like these",
    "model-these": "mean outcome that people would give, on these cases",
    "model-people": "mean outcome that other people like these would give, on new cases like these",
}


@dataclass(frozen=True, eq=False)
class Systems(Shown, kind="systems"):
    """Mean outcomes that people would give systems, from a few of theirs and many of judges.

    Parameters
    ----------
    outcomes
        What was read; where systems do not have the same cases, perhaps only those of the common ones.
    table
        One row per system and estimator: ``system``; ``estimator`` (``people``, ``judge``, ``ppi``, ``ppi++``,
        ``rogan-gladen``; where systems were not judged alike, ``strengths`` or ``adjusted``; and of the model
        ``model``, ``model-these`` and ``model-people``); ``judge``, its name, empty for people alone and the model;
        ``n_people`` and ``n_judge``, the number of cases (of pairs, comparisons) that
        they saw; ``mean`` with ``lower``, ``upper`` and standard error ``se``; ``weight`` of the judge; ``meant``, what
        the interval is for.
    ranking
        One row per system, the best first, by the estimator ``main``: ``mean``, ``lower``, ``upper``, ``p_best``, and
        the interval of the rank, ``rank_lower`` to ``rank_upper``. By the model, also the intervals on these cases
        alone (``these_lower``, ``these_upper``), and of other people like these (``people_lower``, ``people_upper``).
    differences
        One row per two systems, paired by case: ``difference`` of their means with ``lower`` and ``upper``, and
        ``p_better``, the probability that the first one is better, by a normal approximation.
    bias
        One row per judge and system: ``bias``, the judge's mean outcome minus the people's on the same cases, with
        ``lower`` and ``upper``; ``own``, whether the judge's name is in that of the system.
        NaN for a judge on another scale than people.
    people
        If several people rated the same, one row per person and system: ``n_shared`` cases, and ``difference``, the
        person's mean outcome minus that of the others on the same cases, with standard error ``se``; ``others``, the
        mean number of others.
    judges
        One row per judge: ``n_cases`` that it saw and ``n_shared`` with people, counted for each system (of pairs,
        comparisons); ``agreement``, how often it says what a person says (of pairs, a tie agrees by half with either);
        of pass/fail and classes ``sensitivity`` and ``specificity``, of the outputs that people count, and do not
        count, the shares in which it does the same, over all systems, with intervals (``sensitivity_lower``, …);
        ``correlation`` with people within systems; ``bias``, the mean over systems; ``p_bias_differs``, the p-value of
        the same bias in all systems; ``p_unlike_people``, that of a bias that differs between systems no more than one
        person's mean minus that of the others, and ``p_level_unlike_people``, of a mean bias no farther from 0 (NaN
        unless two people rated the same); ``p_own``, that of the same bias in systems with its name as in others;
        ``p_drift``, that of a bias that does not move with time; ``worth``, the number of outputs (of pairs,
        comparisons) that people would have to rate without it, to do what those here do with it.
    drift
        If outcomes have dates, one row per judge and period: ``start``, ``end``, ``n_shared``, and ``bias`` with
        ``lower`` and ``upper``, differences between systems taken out. Of pairs it is how far judge and people are
        apart.
    plan
        One row per system and number of ``more`` cases that people might rate of each: ``n_people``, the number then;
        ``width`` of the interval; ``p_told``, the probability that the system is told from the first one, if they
        differ as estimated (for the first one, of the system that is hardest to tell from it). Cases are chosen at
        random among those that only the judge saw.
    advice
        What the plan says, in sentences.
    notes
        What limits the results, in sentences, the cautions first.
    main, judge
        Estimator of ``ranking`` and ``differences``, and its judge, empty for people alone. The model uses all judges;
        the one named is that of PPI++.
    posterior
        Draws of the model, with its ``convergence``; None without the model.
    checks
        If there is a model, one row per posterior predictive ``check``: ``observed``, ``expected``, ``lower``,
        ``upper`` and p-value ``p``.
    ci_prob, replicates, seed
        Probability of the intervals, number of draws of the ranking, and random seed.
    needed
        What it would take to call the first system the best, in a sentence.
    other_scales
        Judges on another scale than people, and from where to where both go.
    cautions
        What was not the same for all systems (people, cases, opponents), and what was done about it, in sentences.
    comparable
        Whether P(best) can be told; otherwise it and ``p_better`` are NaN, and all ranks are possible.
    """

    outcomes: Outcomes
    table: pd.DataFrame
    ranking: pd.DataFrame
    differences: pd.DataFrame
    bias: pd.DataFrame
    judges: pd.DataFrame
    drift: pd.DataFrame
    plan: pd.DataFrame
    advice: tuple[str, ...]
    notes: tuple[str, ...]
    main: str
    judge: str
    ci_prob: float
    replicates: int
    seed: int
    posterior: Posterior | None = None
    checks: pd.DataFrame = field(default_factory=pd.DataFrame)
    cautions: tuple[str, ...] = ()
    comparable: bool = True
    people: pd.DataFrame = field(default_factory=pd.DataFrame)
    needed: str = ""
    other_scales: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        first = self.ranking.iloc[0]
        return f"Systems({self.outcomes!r}, {first['system']!r} first with {first['mean']:.3f})"

    @property
    def by(self) -> str:
        """By what the systems are ranked, in words."""
        if self.main == "model":
            return "the model of all outcomes"
        if self.main == "strengths":
            return "strengths, people alone"
        adjusted = ", adjusted" if self.main == "adjusted" else ""
        return (f"PPI++ with {self.judge}" if self.judge else "people alone") + adjusted

    @property
    def quantity(self) -> str:
        """What the systems are ranked by is called."""
        words = f"{self.outcomes.quantity} that people would give"
        return f"{words} against each of the others equally often" if self.main == "strengths" else words

    @property
    def headline(self) -> str:
        """The best system in one sentence, or that none can be called so, and what that would take."""
        best = self.ranking.iloc[0]
        words = f"{self.quantity}: {best['mean']:.3f}"
        words += "" if pd.isna(best["lower"]) else f" ({best['lower']:.3f} to {best['upper']:.3f})"
        if len(self.ranking) == 1:
            return f"{best['system']}, {words}."
        highest = f"{best['system']} has the highest {words}"
        if not self.comparable:
            return f"Which system is best cannot be told: these were not judged alike. {highest}."
        if best["p_best"] >= BEST and self._is_told(best["system"]):
            others = "" if best["rank_upper"] == 1 else f", and its rank may be {best['rank_upper']:.0f}"
            return f"{highest}; P(best) is {probability_in_words(best['p_best'])}{others}."
        sure = f"P(best) is {probability_in_words(best['p_best'])}"
        sure = "so few outcomes do not tell how surely" if pd.isna(best["p_best"]) else sure
        needed = self.needed or "Let people rate more outputs of each system."
        return f"No system can be called best yet: {highest}, but {sure}. {needed}"

    def _is_told(self, system: str) -> bool:
        """Whether the intervals of all differences between a system and the others leave out 0."""
        own = self.differences[(self.differences[["system", "other"]] == system).any(axis=1)]
        return bool(((own["lower"] > 0) | (own["upper"] < 0)).all())

    @property
    def summary(self) -> list[str]:
        """What the tables say, in sentences: the best system, what to rate next, and what judges are worth."""
        notes = self.notes[len(self.cautions) :]
        return [*self.cautions, self.headline, *self.advice, *self._of_judges(), *notes]

    def _of_judges(self) -> Iterator[str]:
        rows = self.table.to_dict("records")
        alone = [row for row in rows if row["estimator"] == "judge" and row["judge"] == self.judge]
        if len(alone) > 1 and all(np.isfinite(row["mean"]) for row in alone):
            by_judge = max(alone, key=lambda row: row["mean"])["system"]
            if by_judge != self.ranking["system"].iloc[0]:
                yield f"By {self._the(self.judge)} alone, {by_judge} would come first."
        used = self.table.loc[(self.table["weight"] > 0) & (self.table["estimator"] == "ppi++"), "judge"].unique()
        for row in self.judges[self.judges["judge"].isin(used)].to_dict("records"):
            if pd.notna(row["worth"]):
                seen = f"{self._n_seen():,} {self.outcomes.unit}s that people rated"
                yield f"With {self._the(row['judge'])}, the {seen} tell as much as {row['worth']:,.0f} would without."
        for row in self.judges[self.judges["judge"].isin(self.outcomes.judges)].to_dict("records"):
            yield from self._of_agreement(row)
            yield from self._of_bias(row)

    def _n_seen(self) -> int:
        """Number of outputs, or comparisons, that people rated."""
        seen = int(self.table.loc[self.table["estimator"] == "people", "n_people"].sum())
        return seen // 2 if self.outcomes.kind == "pairs" else seen

    def _the(self, judge: str) -> str:
        return judge if judge in self.outcomes.judges else f"the {judge}"

    def _of_agreement(self, row: dict) -> Iterator[str]:
        if not row["n_shared"] or pd.isna(row["agreement"]):
            return
        words = f"{row['judge']} agrees with people in {100 * row['agreement']:.0f} % of the {row['n_shared']:,} "
        words += f"{self.outcomes.unit}s that both rated"
        yes, no = ("pass", "fail") if self.outcomes.kind == "pass" else (f"call {self.outcomes.positive!r}", "do not")
        if pd.notna(row["sensitivity"]) and pd.notna(row["specificity"]):
            hit, right = (
                f"{100 * row[rate]:.0f} % ({100 * row[f'{rate}_lower']:.0f} to {100 * row[f'{rate}_upper']:.0f} %)"
                for rate in ("sensitivity", "specificity")
            )
            words += f": in {hit} of those that people {yes}, and in {right} of those that they {no}"
        yield f"{words}."

    def _of_bias(self, row: dict) -> Iterator[str]:
        judge = row["judge"]
        if judge in self.other_scales:
            yield (
                f"{judge} rates on another scale than people ({self.other_scales[judge]}): its mean is not compared "
                "with theirs, only used where the two go together."
            )
        own = self.bias[self.bias["judge"] == judge].dropna(subset=["bias"])
        unlike, level = row["p_unlike_people"], row["p_level_unlike_people"]
        who = self.outcomes.people[0] if len(self.outcomes.people) == 1 else "these people"
        beyond = "" if unlike < UNLIKE_PEOPLE else f" by the outcomes of {who}"
        alike = unlike >= UNLIKE_PEOPLE
        if row["p_bias_differs"] < SURE:
            least, most = own.loc[own["bias"].idxmin()], own.loc[own["bias"].idxmax()]
            ends = f"from {least['system']} ({least['bias']:+.3f}) to {most['system']} ({most['bias']:+.3f})"
            yield (
                f"{judge}'s mean minus people's differs between systems, {ends}, but people differ from one another as "
                "much: do not rank by it alone, nor by one person."
                if alike
                else f"{judge} favours some systems{beyond} (p {p_in_words(row['p_bias_differs'])}), {ends}: do not "
                "rank by it alone."
            )
        elif len(own) and (own["lower"].min() > 0 or own["upper"].max() < 0):
            word = "generous" if row["bias"] > 0 else "strict"
            by = f"by {abs(row['bias']):.3f} on average over systems"
            yield (
                f"{judge} is more {word} than people, {by}, but people differ from one another as much."
                if level >= UNLIKE_PEOPLE
                else f"{judge} is too {word}, {by}."
            )
        if own["own"].any() and not own["own"].all():
            mine, others = (own.loc[own["own"] == one, "bias"].mean() for one in (True, False))
            certain = row["p_own"] < SURE and not alike
            prefers = "prefers its own outputs" if mine > others else "is stricter with its own outputs"
            verdict = prefers if certain else "shows no clear preference for its own outputs"
            yield (
                f"{judge} {verdict} (p {p_in_words(row['p_own'])}): bias {mine:+.3f} for "
                f"{listed(own.loc[own['own'], 'system'].tolist())}, {others:+.3f} for others."
            )


def few_in_words(few: list[str], *, binary: bool) -> str:
    """Warn of systems with few outcomes by people."""
    rare = f", or with fewer than {FEW_OF_A_KIND} successes or failures" if binary else ""
    return (
        f"People rated few cases of {some(few)}: below {FEW} cases or {FEW_CLUSTERS} clusters{rare}, intervals may "
        "contain the true value too rarely."
    )


def p_in_words(value: float) -> str:
    """Write a p-value with its relation sign."""
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def in_ranks(read: Outcomes, order: Int[np.ndarray, " system"], columns: Mapping[str, Any]) -> pd.DataFrame:
    """Table of the ranking, in the order given, from columns in the order of the systems."""
    frame = pd.DataFrame({"system": read.systems, **columns})
    return frame.iloc[order].reset_index(drop=True).astype({"rank_lower": int, "rank_upper": int})


def table_of_differences(read: Outcomes, first, second, difference, lower, upper, p_better) -> pd.DataFrame:
    """Table of differences of the first systems from the second."""
    names = {"system": read.systems[first], "other": read.systems[second]}
    return pd.DataFrame(names | {"difference": difference, "lower": lower, "upper": upper, "p_better": p_better})

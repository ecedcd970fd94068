"""Posterior predictive checks: whether a model, as fitted, would have annotators say what they said."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Int

from plausibly.aggregation._answers import FIRST_CHOICE, GROUP, LABEL
from plausibly.aggregation.model_comparison._statistics import (
    DESCRIPTIONS,
    GIVEN,
    OF_FIRST_BLOCKS,
    OF_RANKINGS,
    ORDER,
    Said,
    statistics,
)
from plausibly.base.arviz import Posterior, to_groups
from plausibly.base.bootstrap import CI_PROB, check_probability, check_replicates, interval
from plausibly.base.checks import check_seed
from plausibly.base.errors import ArgumentError
from plausibly.base.names import figures
from plausibly.base.progress import Progress
from plausibly.base.random_streams import Stream, case_keys, generator, select, stream_words
from plausibly.base.shown import Shown
from plausibly.data.annotations import Annotations
from plausibly.families.true_class.confusion import Confusion
from plausibly.inference.draws import categorical
from plausibly.posterior import (
    annotations_of,
    check_posterior,
    dense_slots,
    draws_apart,
    model_of,
    remainder_concentration,
    slots_of,
)
from plausibly.posterior.says import declared, has_true_class

OF_MODEL = (*OF_FIRST_BLOCKS, *OF_RANKINGS, ORDER)
GOOD, BAD = "reproduced", "not reproduced"

_TOGETHER = 32  # cases whose remainders are split at a time


@dataclass(frozen=True, repr=False)
class PredictiveCheck(Shown, kind="models"):
    """Statistics of the annotations, compared with those of replicates.

    Replicates are annotations that the fitted model would produce. For each statistic, ``probability`` is the share of
    replicates whose value exceeds the observed one (a posterior predictive p-value): near 0.5 the data look like
    replicates, near 0 the observed value is larger than the model expects, near 1 it is smaller. A statistic is not
    reproduced if the observed value lies outside the central interval of the replicates: by default of 94 %, so
    roughly if ``probability`` is below 0.03 or above 0.97. If there are many statistics, a few may fail by chance.
    """

    model: str  #: name of the model, with its reliability and the options that differ from their defaults
    replicated: xr.DataArray  #: (statistic, replicate): means over cases, NaN where a model says nothing
    observed: xr.DataArray  #: (statistic,), those that are given included
    #: dataset over (statistic, case): ``observed``, ``expected`` (the mean over replicates) and ``probability``, the
    #: share of replicates that exceed what was observed, ties counting half
    by_case: xr.Dataset
    #: which of ``"reliability"`` and ``"concentration"`` the model has, and are not learned from the annotations
    chosen: tuple[str, ...] = ("reliability", "concentration")
    ci_prob: float = CI_PROB  #: of the interval of the replicates

    @property
    def table(self) -> pd.DataFrame:
        """One row per statistic.

        Columns: ``statistic`` and its meaning; ``observed``, its value; ``mean``, ``sd`` and the interval from
        ``lower`` to ``upper`` of the replicates; ``probability``, the share of replicates that exceed the observed
        value, with ties counting half; and ``status``: ``"reproduced"`` if the observed value lies within the interval,
        else ``"not reproduced"``; ``"given"`` if replicates take it from the annotations; ``"not modelled"`` if the
        model says nothing about it.
        """
        rows = []
        for name in self.observed["statistic"].values:
            observed = float(self.observed.sel(statistic=name))
            row = {"statistic": str(name), "description": DESCRIPTIONS[name], "observed": observed}
            row |= dict.fromkeys(("mean", "sd", "lower", "upper", "probability"), np.nan)
            row["status"] = "given" if name in GIVEN else "not modelled"
            values = np.empty(0) if name in GIVEN else self.replicated.sel(statistic=name).dropna("replicate").values
            if len(values) and not np.isnan(observed):
                lower, upper = interval(values, self.ci_prob)
                row |= {"mean": values.mean(), "sd": values.std(ddof=1), "lower": lower, "upper": upper}
                row["probability"] = float(_exceeding(values, observed))
                # Rounding apart: of a statistic that hardly varies, as a share of 1.
                row["status"] = GOOD if lower - 1e-9 <= observed <= upper + 1e-9 else BAD
            rows.append(row)
        return pd.DataFrame(rows)

    def verdict(self) -> str:
        """Say in a sentence what the model does not reproduce."""
        table = self.table.set_index("statistic")
        checked = table.loc[table["status"].isin([GOOD, BAD])]
        failed = checked.loc[checked["status"] == BAD]
        if not len(checked):
            return f"{self.model} has no statistic that these annotations can check."
        if not len(failed):
            return f"{self.model} reproduces all {len(checked)} statistics that it models."
        first = failed.iloc[0]
        observed, lower, upper = (figures(first[name], 3) for name in ("observed", "lower", "upper"))
        which = f"{'such as ' * (len(failed) > 1)}{first['description']}: {observed} observed"
        return (
            f"{self.model} does not reproduce {len(failed)} of {len(checked)} statistics, {which}, {lower}–{upper} "
            f"replicated. {_advise(failed, self.chosen)}"
        )


def predictive_check(
    posterior: Posterior, *, replicates: int = 200, ci_prob: float = CI_PROB, seed: int = 0, progress: bool = True
) -> PredictiveCheck:
    r"""Compare the annotations with posterior predictive replicates.

    Each replicate uses one draw of the plausibilities: every annotator of every case draws classes from it without
    replacement, with the same block sizes as in the data.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    replicates
        Number of replicates, at least 20. Each uses one draw, and the draws used are equally spaced; if there are fewer
        draws than replicates, draws are used more than once.
    ci_prob
        Probability of the interval of the replicates, outside which a statistic is not reproduced.
    seed
        Random seed of the replicates and the split of the remainder.
    progress
        Whether to show progress.

    Returns
    -------
    PredictiveCheck
        Its ``table`` has one row per statistic, ``by_case`` lists the cases that deviate, and ``verdict()`` summarises
        the result. Statistics are means over cases:

        * for first blocks: ``first_agreement``, the overlap of two annotators' first blocks (the intersection as a
          share of the union); ``first_classes``, the number of different classes that appear in first blocks;
          ``largest_share``, the share of annotators who have the most frequent class in their first block;
        * for all named classes: ``named_agreement``, ``named_classes``, and ``lone_classes``, the number of classes
          that only one annotator names;
        * ``order_agreement``, how often two annotators rank two classes in the same order, counting only pairs of
          classes that neither of them ties;
        * ``tie_size``, the number of classes in a block, and ``named_per_annotator``, the number of classes that an
          annotator names.

        Cases with one annotator count only in statistics that need no second annotator.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior, a number is out of range, or annotators do not choose by the plausibilities
        and there are no replicates of what they answer.

    Notes
    -----
    No model describes how many classes annotators name or tie: replicates take both from the annotations, so
    ``tie_size`` and ``named_per_annotator`` are reproduced by construction and have the status ``"given"``. The check
    can then detect misfit only in the choice of classes and in how annotators agree about it. The Plackett-Luce model
    describes whole rankings, the Dirichlet-categorical model single labels. The other models give probabilities for the
    first choice only, so only first blocks are replicated, and the other statistics have the status ``"not modelled"``.
    Labels of a program of your own that do not follow its plausibilities are drawn by what it observes, and those of a
    family by its function ``replicate``; without either, they are refused.
    For a model of one true class, replicates draw the true class of each case, and labels from each annotator's
    confusion matrix. Under ``mode="temper"``, annotators draw with weights :math:`\lambda^\gamma`, each with her own
    reliability if the posterior has one for each. The posterior has already seen the annotations that its replicates
    are compared with, so the check can miss small deviations; :func:`plausibly.compare_models` leaves annotations out.

    References
    ----------
    Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies.

    Examples
    --------
    >>> annotations = Annotations.from_counts([[4, 1, 0], [0, 5, 0], [1, 1, 3]])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", seed=0, progress=False)
    >>> check = predictive_check(posterior, progress=False)
    >>> check.table[["statistic", "status"]].iloc[0].tolist(), float(check.table["observed"][0].round(3))
    (['first_agreement', 'reproduced'], 0.633)
    """
    check_posterior(posterior)
    check_seed(seed)
    check_replicates(replicates, least=20)
    check_probability("ci_prob", ci_prob)
    annotations, slots = annotations_of(posterior), slots_of(posterior)
    _check_answers(posterior)
    weights, powers, confusion, labels = _chosen(posterior, int(replicates))
    words = stream_words(case_keys(seed, annotations.cases))
    rankings = declared(posterior).get("replicate") == "rankings" and "answers" not in declared(posterior)
    names = list(OF_MODEL)
    shape = (len(names), annotations.n_cases)
    observed, expected, probability = (np.full(shape, np.nan) for _ in range(3))
    totals, numbers = (np.zeros((len(names), replicates)) for _ in range(2))
    n_classes, concentration = annotations.n_classes, remainder_concentration(posterior)
    ones = np.ones_like(weights)
    with Progress(progress) as bars:
        advance = bars.task("Replicating annotations", annotations.n_cases, "cases")
        for case in range(annotations.n_cases):
            said = _observed(annotations, case)
            own = slice(*slots.start[case : case + 2])
            if case % _TOGETHER == 0:
                some = np.arange(case, min(case + _TOGETHER, annotations.n_cases))
                split = dense_slots(ones, slots, some, select(words, some), n_classes, concentration)
            # The same for all annotators of a case, whatever their reliability.
            shares = split[:, case % _TOGETHER]
            slot = np.full(n_classes, own.stop - own.start - 1)
            slot[slots.class_index[own][~slots.is_remainder[own]]] = np.flatnonzero(~slots.is_remainder[own])
            who = annotations.annotation_annotator[slice(*annotations.case_start[case : case + 2])]
            random = generator(words[Stream.REPLICATES][case])
            if labels is not None:
                again = _named(labels[:, slice(*annotations.case_start[case : case + 2])], shares, slot, random)
            elif confusion is None:
                dense = [choice[:, slot] * shares for choice in _choices(weights[:, own], powers, who)]
                again = _replicate(said, dense, random, rankings)
            else:
                again = _replicate(said, confusion.labels(weights[:, own], who, random), random, rankings)
            found = statistics(said, rankings=True)
            for name, values in statistics(again, rankings).items():
                row = names.index(name)
                known = ~np.isnan(values)
                totals[row] += np.where(known, values, 0)
                numbers[row] += known
                if known.any():
                    expected[row, case] = values[known].mean()
                    probability[row, case] = _exceeding(values[known], found[name][0])
            observed[:, case] = [found[name][0] for name in names]
            advance(1)
    with np.errstate(invalid="ignore"):
        replicated = totals / numbers
    means = [np.nanmean(row) if not np.isnan(row).all() else np.nan for row in observed]
    given = [annotations.block_sizes.mean(), np.diff(annotations.annotation_start).mean()]
    by_case = {"observed": observed, "expected": expected, "probability": probability}
    return PredictiveCheck(
        model_of(posterior),
        xr.DataArray(replicated, dims=("statistic", "replicate"), coords={"statistic": names}),
        xr.DataArray(means + given, dims="statistic", coords={"statistic": names + list(GIVEN)}),
        xr.Dataset(
            {name: (("statistic", "case"), values) for name, values in by_case.items()},
            coords={"statistic": names, "case": annotations.cases},
        ),
        _chosen_numbers(posterior),
        ci_prob,
    )


def _chosen_numbers(posterior: Posterior) -> tuple[str, ...]:
    """Name the numbers that somebody chose for the model, and might choose otherwise."""
    given = json.loads(str(posterior.attrs.get("arguments", "{}")))
    known = ["reliability"] if isinstance(given.get("reliability"), int | float) else []
    learned = str(given.get("class_prior", "uniform")) != "uniform"
    return (*known, *(["concentration"] if "concentration" in given and not learned else []))


def _advise(failed: pd.DataFrame, chosen: tuple[str, ...]) -> str:
    """Say what to try where statistics are not reproduced, of the numbers that were chosen for the model."""
    rows = failed.loc[failed.index.isin(("first_agreement", "largest_share", "named_agreement", "order_agreement"))]
    others = "compare other models (pb.compare_models, or plausibly models compare)"
    if len(rows) and (rows["observed"] > rows["upper"]).all():
        ways = {"reliability": "raise the reliability", "concentration": "lower the concentration"}
        fix = ", or ".join([*filter(None, [" or ".join(ways[name] for name in chosen)]), others])
        return f"Annotators agree more than the model expects: {fix}."
    if len(rows) and (rows["observed"] < rows["lower"]).all():
        fix = f"lower the reliability, or {others}" if "reliability" in chosen else others
        return f"Annotators agree less than the model expects: {fix}."
    why = "No single reliability will fix that: " if "reliability" in chosen else ""
    others = others if why else f"C{others[1:]}"
    return f"{why}{others}, and look at the cases in by_case that deviate most."


def _exceeding(values: Float[np.ndarray, " replicate"], observed: float) -> float:
    gap = values - observed
    return np.mean(np.where(np.abs(gap) <= 1e-9, 0.5, gap > 0))


def _chosen(
    posterior: Posterior, replicates: int
) -> tuple[
    Float[np.ndarray, "replicate slot"],
    Float[np.ndarray, "replicate annotator"] | None,
    Confusion | None,
    Int[np.ndarray, "replicate annotation"] | None,
]:
    """Plausibilities at draws of equal distances, and how annotators choose.

    By powers, one or one each; where one class is true, by the probability of each label given that class; or by labels
    that a program or a family has drawn itself.
    """
    group = posterior["posterior"]
    variable = group["plausibility"].transpose("chain", "draw", "slot")
    at = draws_apart(group, replicates)
    weights = np.asarray(variable.isel(at).transpose("replicate", "slot").values, np.float32)
    if "answers" in declared(posterior):
        own = to_groups(posterior)[GROUP]
        if LABEL in own:
            labels = own[LABEL].isel(at).transpose("replicate", "annotation").values
            return weights, None, None, labels
        weights = own[FIRST_CHOICE].isel(at).transpose("replicate", "slot").values
        return np.asarray(weights, np.float32), None, None, None
    if has_true_class(posterior.attrs):
        return weights, None, Confusion.of(posterior, group.isel(at)), None
    if "annotator_reliability" in group:
        return weights, group["annotator_reliability"].isel(at).transpose("replicate", "annotator").values, None, None
    if "reliability" in group:
        return weights, group["reliability"].isel(at).values[:, None], None, None
    power = declared(posterior).get("choice_power")
    return weights, None if power is None else np.full((replicates, 1), power), None, None


def _check_answers(posterior: Posterior) -> None:
    """Refuse a posterior of a user's own model that has no replicates of its own."""
    if "answers" in declared(posterior) and GROUP not in to_groups(posterior):
        raise ArgumentError(
            f"{model_of(posterior)} has labels that do not follow its plausibilities, and no replicates of them here: "
            "check the posterior that plausibly.aggregate returns, or one that it wrote to a file .nc, of a program "
            "whose probabilities of all classes sum to 1 or a family with a function replicate, or declare "
            "answers='plausibility' if annotators choose by the plausibilities."
        )


def _named(
    labels: Int[np.ndarray, "replicate annotation"],
    shares: Float[np.ndarray, "replicate class"],
    slot: Int[np.ndarray, " class"],
    random: np.random.Generator,
) -> Said:
    """Labels of a case, an unnamed class (−1) drawn from the remainder by its shares."""
    classes, rest = [], shares * (slot == slot.max())
    for named in labels.T:
        unnamed = categorical(np.maximum(rest, 1e-30).T, random) if (named < 0).any() else 0
        classes.append(np.where(named < 0, unnamed, named)[:, None])
    return Said.of(classes, [np.zeros(1, int)] * len(classes))


def _choices(
    weights: Float[np.ndarray, "replicate slot"],
    powers: Float[np.ndarray, "replicate annotator"] | None,
    who: Int[np.ndarray, " annotation"],
) -> list[Float[np.ndarray, "replicate slot"]]:
    """By what each annotator of a case chooses."""
    if powers is None:
        return [weights] * len(who)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    # From the greatest down: powers of small plausibilities may all be too small for a number.
    logs -= logs.max(1, keepdims=True)
    columns = (who if powers.shape[1] > 1 else np.zeros_like(who)).tolist()
    raised = {column: np.exp(logs * powers[:, [column]]) for column in set(columns)}
    chosen = {column: weight / weight.sum(1, keepdims=True) for column, weight in raised.items()}
    return [chosen[column] for column in columns]


def _observed(annotations: Annotations, case: int) -> Said:
    classes, blocks = [], []
    for number in range(*annotations.case_start[case : case + 2]):
        own = slice(*annotations.annotation_start[number : number + 2])
        classes.append(annotations.entry_class[None, own])
        blocks.append(annotations.entry_block[own].astype(np.int64))
    return Said.of(classes, blocks)


def _replicate(
    said: Said, weights: Sequence[Float[np.ndarray, "replicate class"]], random: np.random.Generator, rankings: bool
) -> Said:
    """Draw classes for annotators, each by her weights, in a race of exponentials: all blocks, or the first."""
    blocks = [block if rankings else block[block == 0] for block in said.blocks]
    classes: list[Int[np.ndarray, "replicate named"]] = []
    for block, weight in zip(blocks, weights, strict=True):
        depth = len(block)
        times = random.standard_exponential(weight.shape, dtype=np.float32)
        with np.errstate(divide="ignore", over="ignore"):
            times = np.maximum(times, np.finfo(np.float32).tiny) / weight
        first = np.argpartition(times, min(depth, times.shape[1] - 1), axis=1)[:, :depth]
        order = np.argsort(np.take_along_axis(times, first, 1), axis=1, kind="stable")
        classes.append(np.take_along_axis(first, order, 1))
    return Said.of(classes, blocks)

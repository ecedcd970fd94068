"""What labels of each case are worth towards a goal, which of them are chosen, and the table of cases.

Chosen are the largest expected gains per cost. The metric of a data set is a mean over cases whose plausibilities are
independent, so what labels of one case remove from its variance does not depend on those of the others, and taking the
largest gains first is optimal as long as a case's gains fall from one label to the next. Where they rise, because two
labels can overturn what one cannot, they are replaced by their mean over the labels that bring most together: the
slopes of the concave majorant.
"""

import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy import special

from plausibly.aggregation.layout import exact_posterior, lay_out
from plausibly.aggregation.model_comparison.folds import slots_or_remainder
from plausibly.base.arviz import Posterior
from plausibly.data.annotations import Annotations, Slots
from plausibly.decisions.planning._annotators import Asked, how_annotators_answer
from plausibly.decisions.planning._values import Bank, Source, Values, simulate
from plausibly.evaluation.measure import predicted_lists
from plausibly.models import MODELS


@dataclass(frozen=True, eq=False)
class Dirichlets:
    """Dirichlet posteriors of all cases, to which a label adds its count.

    A remainder stands for several classes with equal shapes.
    """

    slots: Slots
    shape: Float[np.ndarray, " slot"]

    @classmethod
    def of(cls, posterior: Posterior, annotations: Annotations) -> "Dirichlets | None":
        """Recover the shapes from the annotations; None where the posterior is not known to be of this form."""
        attrs = posterior.attrs
        model = MODELS.get(str(attrs.get("model")))
        arguments = json.loads(str(attrs.get("arguments", "{}")))
        if attrs.get("engine") != "exact" or model is None or model.exact is None:
            return None
        if model.of_scores or arguments.get("class_prior", "uniform") != "uniform":
            return None
        power, count = how_annotators_answer(posterior)
        if power != 1 or count == 0:
            return None
        slots, prior = lay_out(annotations, arguments)
        return cls(slots, exact_posterior(model, annotations, slots, prior, arguments))

    @property
    def total(self) -> Float[np.ndarray, " case"]:
        """Sum of the shapes of each case."""
        return np.add.reduceat(self.shape, self.slots.start[:-1])

    def information(self) -> Float[np.ndarray, " case"]:
        r"""Expected information of one more label, in nats.

        .. math:: H(a / A) - \psi(A + 1) + \sum_k \frac{a_k}{A} \psi(a_k + 1), \quad A = \sum_k a_k
        """
        share = self.shape / self.total[self.slots.case]
        each = self.shape / self.slots.n_classes
        terms = special.entr(share) + share * (np.log(self.slots.n_classes) + special.digamma(each + 1))
        return np.add.reduceat(terms, self.slots.start[:-1]) - special.digamma(self.total + 1)

    def of_classes(self, classes: Int[np.ndarray, "case place"], n_classes: int) -> Float[np.ndarray, "case place"]:
        """Shapes of single classes; unnamed ones have an equal share of the remainder's."""
        case = np.repeat(np.arange(len(classes)), classes.shape[1])
        slot = slots_or_remainder(self.slots, case, classes.ravel(), n_classes).reshape(classes.shape)
        return np.where(slot < 0, 0, self.shape[slot] / self.slots.n_classes[slot])

    def coverage_left(self, source: Source, count: float, n: int) -> Float[np.ndarray, "row case"]:
        r"""Variance of coverage, and of differences in it, expected after n labels that count c times.

        For :math:`\sum_k w_k \lambda_k`, with :math:`v = \sum_k w_k^2 a_k / A - (\sum_k w_k a_k / A)^2` and
        :math:`A' = A + cn`, it is :math:`v (1 - c^2 n (A + n) / ((A + 1) A'^2)) / (A' + 1)`; for c = 1,
        :math:`v A / ((A + 1) (A + n))`.
        """
        question, total = source.question, self.total
        lists = [predicted_lists(np.asarray(values), question.k, None) for values in source.predictions]
        shapes = [self.of_classes(np.maximum(named, 0), question.n_classes) * (named >= 0) for named in lists]
        covered = [shape.sum(axis=1) for shape in shapes]
        spread = [shape / total - (shape / total) ** 2 for shape in covered]
        for a, b in question.pairs:
            both = ((lists[a][:, :, None] == lists[b][:, None]).any(axis=2) * shapes[a]).sum(axis=1)
            squares = covered[a] + covered[b] - 2 * both
            spread.append(squares / total - ((covered[a] - covered[b]) / total) ** 2)
        after = total + count * n
        return np.stack(spread) * (1 - count**2 * n * (total + n) / ((total + 1) * after**2)) / (after + 1)


def is_linear(source: Source) -> bool:
    """Whether the metric is coverage, of lists without random ties, which is linear in the plausibilities."""
    question = source.question
    return bool(question.k) and question.metric == "coverage" and question.break_ties == "order"


def with_closed_forms(source: Source, values: Values, known: Dirichlets | None) -> Values:
    """Replace what draws tell of single labels by closed forms, where there are some."""
    if known is None:
        return values
    information = np.broadcast_to(known.information().astype(np.float32), values.information.shape).copy()
    values = replace(values, information=np.maximum(information, 0))
    if not is_linear(source):
        return values
    variance = known.coverage_left(source, 1.0, 0)
    removed = np.stack([variance - known.coverage_left(source, count, 1) for _, count in source.question.annotators])
    return replace(values, variance=variance.astype(np.float32), removed=removed.astype(np.float32))


_AT_ONCE = 8  # labels of one case, at most, in one plan
_SIMULATED = 20_000  # cases whose further annotations are simulated, at most
_REPLICATES = 64  # simulations of each


@dataclass(frozen=True, eq=False)
class Order:
    """Labels in the order in which they are worth asking for."""

    case: Int[np.ndarray, " label"]  #: row, of those offered
    cost: Float[np.ndarray, " label"]  #: of all labels so far, the label included
    gain: Float[np.ndarray, " label"]  #: what the label is expected to bring

    def labels(self, upto: int, n_cases: int) -> Int[np.ndarray, " case"]:
        """Number of labels of each case among the first so many."""
        return np.bincount(self.case[:upto], minlength=n_cases)


def allocate(total: Float[np.ndarray, "case label"], cost: Float[np.ndarray, " case"], budget: float) -> Order:
    """Choose labels until the budget is spent; `total` is what one, two, … labels of a case bring together."""
    gain = np.maximum(falling_gains(total), 0)
    rate = (gain / cost[:, None]).ravel()
    order = np.argsort(-rate, kind="stable")
    order = order[rate[order] > 0]
    case = order // total.shape[1]
    spent = np.cumsum(cost[case])
    if len(spent) and spent[-1] > budget and np.ptp(cost) > 0:
        case, order = _that_fit(case, order, cost, budget)
        spent = np.cumsum(cost[case])
    keep = spent <= budget + 1e-9
    return Order(case[keep], spent[keep], gain.ravel()[order][keep])


def falling_gains(total: Float[np.ndarray, "case label"]) -> Float[np.ndarray, "case label"]:
    r"""Gain of each label: the slopes of the concave majorant of the totals.

    .. math:: \min_{a < n} \max_{b \ge n} (T_b - T_a) / (b - a)
    """
    total = np.concatenate([np.zeros((len(total), 1)), total], axis=1)
    most = total.shape[1]
    found = np.full((len(total), most - 1), np.inf)
    for a in range(most - 1):
        slopes = (total[:, a + 1 :] - total[:, a, None]) / np.arange(1, most - a)
        best = np.maximum.accumulate(slopes[:, ::-1], axis=1)[:, ::-1]
        found[:, a:] = np.minimum(found[:, a:], best)
    return found


def _that_fit(case, order, cost, budget):
    """Skip labels that what is left of the budget does not pay for, and all later ones of the same case."""
    kept, left, closed = [], budget, set()
    for at, row in enumerate(case.tolist()):
        if row in closed:
            continue
        if cost[row] <= left + 1e-9:
            kept.append(at)
            left -= cost[row]
        else:
            closed.add(row)
        if left < cost.min():
            break
    return case[kept], order[kept]


def goal_rows(source: Source, goal: str) -> slice:
    """Rows that a goal is about: differences for "better", and otherwise classifiers."""
    n = len(source.names)
    return slice(n, None) if goal == "better" else slice(0, n)


def score(values: Values, goal: str, source: Source) -> Float[np.ndarray, "annotator case"]:
    """Variance that one more label removes or, for information, nats that it brings; see :func:`plan`."""
    if goal == "information":
        return values.information.astype(float)
    rows = goal_rows(source, goal)
    return np.maximum(values.removed[:, rows].mean(axis=1, dtype=float), 0) / source.n_cases**2


def best_annotator(
    scores: Float[np.ndarray, "setting case"], asked: Asked
) -> tuple[Int[np.ndarray, " case"], Float[np.ndarray, " case"]]:
    """For each case, the annotator who brings most for her cost (−1 if all have annotated it), and her cost."""
    rate = np.where(asked.free, scores[asked.setting] / asked.cost, -1.0)
    best = rate.argmax(axis=0)
    cost = np.take_along_axis(np.broadcast_to(asked.cost, rate.shape), best[None], axis=0)[0]
    return np.where(asked.free.any(axis=0), best, -1), cost


def rows_by_draw(source: Source, values: Values) -> Float[np.ndarray, "row draw"]:
    """The metric of every classifier by draw, then the differences."""
    differences = [source.question.sign * (values.by_draw[a] - values.by_draw[b]) for a, b in source.question.pairs]
    return np.concatenate([values.by_draw, np.reshape(differences, (-1, values.by_draw.shape[1]))])


@dataclass(frozen=True, eq=False)
class Worth:
    """Worth of one more label of each case, from the best annotator for her cost."""

    source: Source
    values: Values
    goal: str
    exact: Dirichlets | None
    asked: Asked
    offered: Int[np.ndarray, " offered"]  #: cases that may be annotated
    common: float  #: variance that cases share and each label removes, whatever its case
    annotator: Int[np.ndarray, " case"]  #: who would be asked about each case, −1 if all have annotated it
    cost: Float[np.ndarray, " case"]  #: of her label
    setting: Int[np.ndarray, " case"]  #: of this annotator
    gain: Float[np.ndarray, " case"]  #: of her label, without what it removes of the shared variance

    @classmethod
    def of(cls, source: Source, values: Values, goal: str, exact, asked: Asked, offered, common: float) -> "Worth":
        """Find the annotator who would be asked about each case."""
        scores = score(values, goal, source)
        annotator, cost = best_annotator(scores + common, asked)
        setting = asked.setting[np.maximum(annotator, 0)]
        gain = np.where(annotator >= 0, scores[setting, np.arange(source.n_cases)], 0.0)
        return cls(source, values, goal, exact, asked, offered, common, annotator, cost, setting, gain)


def choose(worth: Worth, budget: float, *, progress: bool) -> tuple[Bank, Order]:
    """Simulate annotations of the cases of largest value, and choose labels until the budget is spent."""
    offered, cost = worth.offered[worth.annotator[worth.offered] >= 0], worth.cost
    n_labels = int(min(budget / cost[offered].min(initial=np.inf), 10**9)) if len(offered) else 0
    ranked = worth.source.question.length > 1
    wanted = len(offered) if ranked else min(len(offered), max(50, 2 * n_labels))
    order = np.argsort(-(worth.gain[offered] + worth.common) / cost[offered], kind="stable")
    cases = offered[order][: min(wanted, _SIMULATED)]
    of_value = int((worth.gain[offered] > 0).sum())
    most = 1 if worth.asked.names is not None else int(np.clip(2 * n_labels // max(of_value, 1) + 2, 2, _AT_ONCE))
    most = min(most, max(n_labels, 1))
    replicates = _REPLICATES if len(cases) <= 5000 else _REPLICATES // 2
    bank = simulate(worth.source, cases, worth.setting[cases], most, replicates, progress=progress)
    total = _totals(worth, bank, worth.exact) + worth.common * np.arange(1, most + 1)
    return bank, allocate(total, cost[cases], budget)


def removed_at_random(worth: Worth, points: Int[np.ndarray, " point"]) -> Float[np.ndarray, "point row"]:
    """Variance that so many labels of cases taken at random, as evenly as possible, are expected to remove by row.

    What n labels of a case remove is taken to be V n / (n + V / D − 1), with V the variance and D what one label
    removes: exact for Dirichlet plausibilities and metrics that are linear in them.
    """
    values, offered = worth.values, worth.offered
    variance = values.variance[:, offered].astype(float)
    removed = np.clip(values.removed[worth.setting[offered], :, offered].T.astype(float), 0, variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        more = np.where(removed > 0, variance / removed - 1, 1.0)

    def upto(n: int) -> Float[np.ndarray, " row"]:
        return np.where(removed > 0, variance * n / np.maximum(n + more, 1e-30), 0).sum(axis=1)

    by_point = []
    for number in points / max(len(offered), 1):
        whole = int(number)
        by_point.append((whole + 1 - number) * upto(whole) + (number - whole) * upto(whole + 1))
    return np.array(by_point) / values.mean.shape[1] ** 2


def _totals(worth: Worth, bank: Bank, exact: Dirichlets | None) -> Float[np.ndarray, "chosen annotation"]:
    """Gain of one, two, … annotations of each case: exact or simulated, and for labels tied to that of one."""
    source, values, rows = worth.source, worth.values, goal_rows(worth.source, worth.goal)
    is_label = source.question.length == 1
    ((_, count), *others) = source.question.annotators
    if worth.goal == "information":
        total = bank.information.astype(float)
    elif is_label and exact is not None and is_linear(source) and not others:
        before, *left = (
            exact.coverage_left(source, count, n)[rows][:, bank.cases].mean(axis=0)
            for n in range(bank.mean.shape[1] + 1)
        )
        return np.maximum(before - left, 0).T / source.n_cases**2
    else:
        left = bank.variance[..., rows].mean(axis=(2, 3), dtype=float)
        total = (values.variance[rows][:, bank.cases].mean(axis=0)[:, None] - left) / source.n_cases**2
    total = np.maximum.accumulate(np.maximum(total, 0), axis=1)
    if is_label:
        first, simulated = worth.gain[bank.cases], total[:, :1]
        factor = np.where(simulated > 0, first[:, None] / np.maximum(simulated, 1e-30), 1.0)
        total = np.where(simulated > 0, total * np.clip(factor, 0.5, 2), 0)
        total[:, 0] = first
        total = np.maximum.accumulate(total, axis=1)
    return total


def table_of(worth: Worth, bank: Bank, order: Order, variance: Float[np.ndarray, " row"]) -> pd.DataFrame:
    """Cases in the order of their value; the labels to ask for; where reweighting cannot be trusted."""
    source, values, offered, cost = worth.source, worth.values, worth.offered, worth.cost
    at = worth.setting, np.arange(source.n_cases)
    gain, information, effective = worth.gain.copy(), values.information[at], values.effective[at]
    labels = np.zeros(source.n_cases, int)
    labels[bank.cases] = order.labels(len(order.case), len(bank.cases))
    if source.question.length > 1:
        gain[bank.cases] = _totals(worth, bank, None)[:, 0]
        information[bank.cases] = bank.information[:, 0]
        effective[bank.cases] = bank.effective[:, 0]
    gain += np.where(worth.annotator >= 0, worth.common, 0.0)
    value = gain
    if worth.goal != "information":  # the percentage by which an interval narrows if so much of its variance is removed
        of_goal = variance[goal_rows(source, worth.goal)].mean()
        share = np.minimum(gain / of_goal, 1) if of_goal > 0 else np.zeros_like(gain)
        value = 100 * share / (1 + np.sqrt(1 - share))
    table = pd.DataFrame(
        {
            "case": source.annotations.cases.astype(object),
            "value": value,
            "information": information.astype(float),
            "labels": labels,
            "effective_draws": effective.astype(float),
            "cost": cost,
        }
    ).iloc[offered]
    if worth.asked.names is not None:
        table["annotator"] = [worth.asked.names[who] if who >= 0 else "" for who in worth.annotator[offered]]
    rate = gain[offered] / cost[offered]
    table = table.iloc[np.lexsort((-rate, table["labels"] == 0))].reset_index(drop=True)
    table.insert(1, "place", np.arange(1, len(table) + 1))
    return table if np.ptp(cost) > 0 or cost[0] != 1 else table.drop(columns="cost")

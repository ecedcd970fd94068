"""Closed forms where plausibilities have a Dirichlet posterior: of information, and of coverage."""

import json
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy import special

from plausibly.aggregation.layout import exact_posterior, lay_out
from plausibly.aggregation.model_comparison.folds import slots_or_remainder
from plausibly.base.arviz import Posterior
from plausibly.data.annotations import Annotations, Slots
from plausibly.decisions.planning._annotators import how_annotators_answer
from plausibly.decisions.planning._values import Source, Values
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

"""Weighted reliability: agreement that is due to neither chance nor shared mistakes."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.pairs import (
    BLOCK,
    agreement_with_others,
    check_two_annotators,
    pairs_within,
    single_labels,
)
from plausibly.agreement.reliability import inputs as inputs
from plausibly.agreement.reliability._rasch import accuracy_draws, sample_rasch
from plausibly.agreement.reliability._result import Resampling, WeightedReliability, by_judgement, by_latent_truth
from plausibly.base.arviz import Posterior
from plausibly.base.checks import check_choice
from plausibly.base.errors import ArgumentError
from plausibly.base.progress import Progress
from plausibly.data.labels.container import Labels

_DRAWS = 64  # at a time
_SLOW = 10_000_000  # pairs, times draws, that take seconds


def weighted_reliability(
    labels: Any,
    confidence: str | float | None = None,
    competence: Any = None,
    chance: str | Mapping[Any, float] = "uniform",
    *,
    scale: Mapping[Any, float] | tuple[float, float] | None = None,
    truth: Any = None,
    n_classes: int | None = None,
    wrong_labels: Literal["spread", "published"] = "spread",
    draws: int = 1000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int = 0,
    progress: bool = True,
) -> WeightedReliability:
    r"""Measure how much labels agree beyond chance, and how much of this agreement is correct.

    With :math:`c_i` the confidence of annotator :math:`i` in their label of a case, :math:`p_i` the probability that
    chance gives that label and :math:`a_i` the probability that they are right,

    .. math::
       \hat c_i = \frac{c_i}{c_i + (1 - c_i) p_i}, \quad
       \sigma = \mathrm{mean}_{i<j} \, \hat c_i \hat c_j [r_i = r_j], \quad
       \varrho = \mathrm{mean}_{i<j} \, \hat c_i \hat c_j [r_i = r_j]
       \frac{a_i a_j}{a_i a_j + (1 - a_i)(1 - a_j) / (n - 1)},

    over the pairs of annotators of the case; both are then averaged over cases. See Cabitza, Campagner et al. (2020),
    who assume that two annotators who are both wrong agree, as they do with :math:`n = 2` possible labels. With more
    labels, we assume that wrong labels are spread evenly over the :math:`n - 1` others.

    Parameters
    ----------
    labels
        Long table with the columns ``case``, ``annotator``, ``label`` and optionally a column of confidences: see
        :meth:`Labels.of`. An annotator labels a case at most once; rows without a label are left out and counted.
    confidence
        Name of a column, or a number from 0 to 1 for all labels. By default the column ``confidence`` if there is one;
        otherwise annotators are assumed to be sure.
    competence
        Source of :math:`a_i`: ``"one-coin"`` (the default without ``truth``), a maximum-likelihood estimate of how
        often each annotator gives the unknown true label; ``"rasch"`` (the default with ``truth``), a model of
        abilities and difficulties, which gives ϱ a posterior; ``"leave-one-out"``, how often an annotator agrees with
        the majority of the others (in a tie, each label counts in part); ``"known"``, how often an annotator gives the
        label in ``truth``; or accuracies from elsewhere: a number, a mapping from annotator to accuracy, or a table (a
        data frame or a path) with columns ``annotator``, ``accuracy`` and optionally ``case``.
    chance
        Source of :math:`p_i`: ``"uniform"``, ``"empirical"`` (how frequent the label is in the table), or a
        mapping from label to probability.
    scale
        Mapping ``{level: confidence}`` for the cells of the column, or the ends (lowest, highest) of a linear scale. By
        default the cells are confidences.
    truth
        Table with the columns ``case`` and ``label``, or a mapping ``{case: label}``, for ``"known"`` and for
        ``"rasch"``, which then uses it instead of the majority of the others; not every case needs a true label.
    n_classes
        Number of possible labels :math:`n`; by default the number of labels in use.
    wrong_labels
        ``"spread"``: annotators who are both wrong agree with probability :math:`1 / (n - 1)`. ``"published"``: they
        always agree, the form of Cabitza, Campagner et al., which makes ϱ too small if there are more than two labels.
    draws, chains, warmup
        Number of draws per chain, of chains, and of warm-up steps for the Rasch model.
    seed
        Random seed.
    progress
        Whether to show progress.

    Returns
    -------
    WeightedReliability
        Result with ``concordance``, ``reliability``, ``by_case()``, ``interval()`` and more. Cases with fewer than two
        annotators do not count, and are listed in ``excluded``. Perfect, fully confident agreement has σ = 1, even if
        all labels are the same; ϱ then depends on the annotators' competence. If an annotator who is always right
        agrees with one who is always wrong, the probability that their label is right is ½.

    Raises
    ------
    AnnotationError
        If no case has two annotators, an annotator labelled a case twice, a confidence or an accuracy is missing or out
        of range, or there are no labels by which to estimate the competence of an annotator.
    ArgumentError
        If an argument is out of range or has no effect.

    Notes
    -----
    For ``"rasch"``, a label counts as right if it is the true label or, without ``truth``, the majority label of the
    others; it is left out if the others have no single majority label. The majority of a few others can be wrong.
    Without ``truth``, and with ``"leave-one-out"``, annotators therefore look less competent than they are, and ϱ is
    too small: in simulations, 94 % intervals contained the true share of correct agreement in only 62 to 82 % of data
    sets. ``"one-coin"`` has no such bias if annotators err independently of each other and all cases are equally hard;
    if they make the same mistakes, they look more competent than they are.

    Examples
    --------
    >>> labels = {"p": {"ann": "wart", "bob": "wart", "cy": "corn"}, "q": {"ann": "corn", "bob": "corn"}}
    >>> result = weighted_reliability(labels, competence={"ann": 0.9, "bob": 0.8, "cy": 0.6})
    >>> round(result.concordance, 3), round(result.reliability, 3)
    (0.667, 0.649)
    """
    if competence is None:
        competence = inputs.default_competence(truth is not None)
    name = competence if isinstance(competence, str) and competence in inputs.NAMES else "given"
    if truth is None and name == "known":
        raise ArgumentError('competence="known" needs the true labels: pass truth=.')
    if truth is not None and name not in ("known", "rasch"):
        raise ArgumentError(f"truth is for known competence and for rasch, but competence={competence!r} was given.")
    columns = [confidence] if isinstance(confidence, str) else []
    labels = Labels.of(labels, columns=columns, optional=(inputs.COLUMN,))
    labels = single_labels(labels, "weighted reliability")
    names, code = labels.coded
    check_two_annotators(labels, np.diff(labels.start))
    given = inputs.read_confidence(labels, confidence, scale)
    check_choice("wrong_labels", wrong_labels, ("spread", "published"))
    certainty = inputs.beyond_chance(given, inputs.chance_of(code, names, chance, n_classes))
    n_labels = 2 if wrong_labels == "published" else max(n_classes or len(names), 2)
    posterior = reweighted = None
    if name == "given":
        accuracy = inputs.read_accuracies(labels, competence)
    elif name == "one-coin":
        by_annotator, reweighted = by_latent_truth(labels, code, max(n_classes or len(names), 2))
        accuracy = by_annotator[labels.annotator]
    else:
        if truth is None:
            judged = agreement_with_others(labels.case, code, len(labels.cases), len(names))
        else:
            judged = inputs.read_truth(labels, names, code, truth)
        if name == "rasch":
            accuracy = posterior = sample_rasch(
                labels, judged, draws=draws, chains=chains, warmup=warmup, seed=seed, progress=progress
            )
        else:
            accuracy, reweighted = inputs.mean_by_annotator(labels, judged), by_judgement(labels, judged)
    n_draws = 1 if posterior is None else draws * chains
    with Progress(progress and n_draws * int(_n_pairs(labels).sum()) > _SLOW) as bars:
        reliability, mean_accuracy = _reliability(labels, code, certainty, accuracy, n_labels, bars)
    at_once = partial(_reliability, labels, code, certainty, n_labels=2, bars=Progress(show=False))
    (concordance,), _ = at_once(accuracy=np.ones(len(labels)))  # as if all agreement were right
    published = None if wrong_labels == "published" else float(np.nanmean(at_once(accuracy=mean_accuracy)[0]))
    return WeightedReliability(
        labels=labels,
        confidence=np.column_stack([given, certainty]),
        concordance_by_case=concordance,
        reliability_by_case=reliability,
        accuracy=mean_accuracy,
        posterior=posterior,
        competence=name,
        resampling=None
        if reweighted is None
        else Resampling(labels, code, certainty, reweighted, partial(correct_if_agreed, n_labels=n_labels)),
        published=published,
    )


def correct_if_agreed(
    first: Float[np.ndarray, "*pair"], second: Float[np.ndarray, "*pair"], n_labels: int = 2
) -> Float[np.ndarray, "*pair"]:
    """Probability that two who agree are right, from the accuracy of each; ½ if one is always right, one always wrong.

    Of two who are wrong, one agrees with the other with probability 1 / (n − 1) where there are n labels.
    """
    right, wrong = first * second, (1 - first) * (1 - second) / (n_labels - 1)
    return np.divide(right, right + wrong, out=np.full(np.shape(right), 0.5), where=right + wrong > 0)


def _n_pairs(labels: Labels) -> Int[np.ndarray, " case"]:
    n = np.diff(labels.start)
    return n * (n - 1) // 2


def _reliability(
    labels: Labels,
    code: np.ndarray,
    certainty: np.ndarray,
    accuracy: np.ndarray | Posterior,
    n_labels: int,
    bars: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ϱ of every case, draws of the accuracies a few at a time; and the mean accuracies."""
    n = _n_pairs(labels)
    known = isinstance(accuracy, np.ndarray)
    n_draws = 1 if known else int(np.prod(accuracy["posterior"]["mean_ability"].shape))
    out = np.empty((n_draws, len(n)), np.float64 if known else np.float32)
    mean = np.zeros(len(labels))
    block = max(BLOCK // min(n_draws, _DRAWS), 1)
    agreeing = [
        (left[same], right[same])
        for left, right in pairs_within(labels.start, block)
        for same in [code[left] == code[right]]
    ]
    advance = bars.task("Weighing agreement", n_draws, "draws")
    for first in range(0, n_draws, _DRAWS):
        draws = slice(first, min(first + _DRAWS, n_draws))
        own = accuracy[None] if known else accuracy_draws(accuracy, labels.annotator, labels.case, draws)
        total = np.zeros((len(own), len(n)))
        for left, right in agreeing:
            weight = certainty[left] * certainty[right] * correct_if_agreed(own[:, left], own[:, right], n_labels)
            for row, values in enumerate(weight):
                total[row] += np.bincount(labels.case[left], values, len(n))
        out[draws] = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
        mean += own.sum(axis=0) / n_draws
        advance(len(own))
    return out, mean

"""``evidence_checks``: whether annotations contradict what an accuracy rests on."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr

from plausibly.base.arviz import Posterior
from plausibly.base.errors import AnnotationError
from plausibly.data.annotations import Annotations
from plausibly.data.groups import check_clusters
from plausibly.data.predictions import named_predictions, read_predictions
from plausibly.evaluation._evaluate import evaluate_draws
from plausibly.evaluation.evidence import (
    ERRORS,
    POINTS,
    known_predictions,
    knows_more,
    paired,
    says_how_named,
    unknown_predictions,
)
from plausibly.evaluation.panel_tables import agreement, first_choices
from plausibly.evaluation.seen_labels import ceiling, some_cases
from plausibly.evaluation.truth import check_labels, first_choice_shares
from plausibly.families.priors import Evidence, PredictionsPrior
from plausibly.inference.draws import categorical
from plausibly.metrics.inputs import check_break_ties
from plausibly.posterior import annotations_of
from plausibly.posterior.says import are_shares

COLUMNS = "classifier", "check", "observed", "expected", "standard_error", "p_value", "passed", "meaning"
DRAWS = 200  #: of the shared parameters, each with one replicate of the labels
LIKELY = 0.05  #: p-value below which observed shares contradict the posterior
_NUMBERS = 2**20  # in memory at once
_FEWEST = 3  # labels of a case of which a most frequent one says something
_SHARES = {
    "plurality": "the most frequent label is {}'s choice",
    "unanimous for": "all labels are {}'s choice",
    "unanimous against": "all labels are one class that is not {}'s choice",
}


def evidence_checks(
    posterior: Posterior,
    predictions: Mapping[str, Any],
    *,
    fresh: Annotations | None = None,
    clusters: Sequence[Hashable] | Mapping[str, Hashable] | None = None,
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
) -> pd.DataFrame:
    r"""Check whether the annotations contradict what the accuracy of classifiers rests on.

    * ``evidence``: whether the posterior knows these predictions of the classifier. If it knows those of others only,
      the classifier is underrated.
    * ``agreement``, for a posterior without predictions: how often annotators name the classifier's first choice, and
      how often the posterior expects it. More than expected: the classifier knows more about the cases than the
      annotations do (or has seen them), and its accuracy is underestimated.
    * ``ceiling``: who has not seen the annotations cannot agree with them more often than always naming the most
      plausible class. How often two annotations of a case agree limits this, whatever the distribution of
      plausibilities (``most_agreement``). And where two labels differ, further ones side against the classifier in some
      cases. Above the limit, or if too few labels are against it, the classifier has seen the annotations, and its
      accuracy is overestimated.
    * ``plurality``, ``unanimous for`` and ``unanimous against``, for a posterior with predictions, over cases with at
      least three labels: how often the most frequent label of a case is the classifier's choice, and how often all
      labels are, or are one other class. They are expected from other cases with the same predictions, without the
      labels of the case. Label noise in cases of one true class shows here.
    * ``fresh``: agreement with fresh annotations of some cases, expected to be that with the old ones of the same
      cases. Less: the classifier has seen the old ones.

    Of more than 20,000 cases, the ceiling and the shares of labels are those of 20,000, drawn at random.

    A check that passes proves nothing: near-ties, and a classifier that knows the most plausible class even where
    experts disagree, show in none of them, and the ceiling finds only classifiers that copy most labels.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`.
    fresh
        Annotations of some of the cases, matched by name, by people (or models) that the classifier has not seen.
        Choose these cases at random.
    clusters
        Cluster of each case, such as its patient; see :func:`plausibly.evaluate`.
    break_ties
        How to break ties between a classifier's scores, see :func:`plausibly.evaluate`.
    seed
        Random seed for the refitted priors, replicated labels and random ties.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and check that applies: ``classifier``, ``check``, ``observed`` and ``expected`` (shares
        of annotations or of cases, between 0 and 1), ``standard_error`` (of their difference), ``p_value`` (one-sided
        if only one direction counts, as in ``agreement``, ``ceiling`` and ``fresh``, otherwise two-sided), ``passed``
        (bool), and ``meaning``, a sentence. Numbers of ``evidence`` are NaN. A check fails at two standard errors, the
        ceiling at two and a half; ``agreement`` also needs an excess of one point; the shares of labels fail at
        p < 0.05, the two of unanimous cases at half of it.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior, or another argument is out of range or does not match the cases.
    PredictionError
        If predictions do not match the cases or classes, or are not finite.
    AnnotationError
        If fresh annotations are of none of the cases, of other cases, or of other classes.

    References
    ----------
    Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness, Statistica Sinica 6; with
    plausibilities drawn from their prior: Marshall & Spiegelhalter (2003), Statistics in Medicine 22.

    Examples
    --------
    A classifier that repeats the vote:

    >>> import plausibly as pb
    >>> random = np.random.default_rng(0)
    >>> counts = random.multinomial(3, random.dirichlet([1, 1, 1], 200))
    >>> posterior = pb.aggregate(Annotations.from_counts(counts), "dirichlet-categorical", reliability=1, seed=0)
    >>> table = evidence_checks(posterior, {"A": counts})
    >>> table[["check", "passed"]].values.tolist()
    [['agreement', False], ['ceiling', False]]
    """
    every, attrs, named = annotations_of(posterior, every=False), posterior.attrs, named_predictions(predictions)
    options: dict[str, Any] = {"clusters": clusters, "break_ties": break_ties, "seed": seed}
    table = label_checks(every, named, attrs, fresh=fresh, **options)
    if known_predictions(attrs) or not (are_shares(attrs) or says_how_named(posterior)):
        return table
    options |= {"metrics": "top1_accuracy", "sizes": 1, "weights": None, "replicates": 0}
    options |= {"progress": False, "scheduler": None}
    rows = _agreement(evaluate_draws(posterior, named, **options))
    return _in_order([*rows, *table.itertuples(index=False, name=None)], list(named))


def label_checks(
    every: Annotations,
    named: Mapping[str, Any],
    attrs: Mapping[str, Any],
    *,
    fresh: Annotations | None = None,
    clusters: Any = None,
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
) -> pd.DataFrame:
    """Make those of :func:`evidence_checks` that need no draws, only the attributes of a posterior."""
    check_break_ties(break_ties)
    annotations, annotated = every.annotated, np.flatnonzero(every.per_case)
    cluster = check_clusters(clusters, every.cases)[annotated]
    scores = [read_predictions(source, every)[annotated] for source in named.values()]
    choice = first_choices(scores, annotations.cases, break_ties, seed)
    observed = agreement(annotations, choice)["expert_agreement"].values
    rows: list[tuple[Any, ...]] = []
    unknown, known = unknown_predictions(attrs, named, every), known_predictions(attrs)
    if known:
        for name in named:
            meaning = unknown.get(name, f"The posterior knows the predictions of {name}.")
            rows.append((name, "evidence", np.nan, np.nan, np.nan, np.nan, name not in unknown, meaning))
    if are_shares(attrs):
        some, at = some_cases(annotations, seed)
        rows += ceiling(some, list(named), choice[:, at], cluster[at])
        random = every.rounds is None  # else cases with several labels are not like others with the same predictions
        if random and known and set(known) <= set(named) - set(unknown):
            evidence = Evidence.of({name: named[name] for name in known}, every)
            rows += _plurality(some, evidence, choice[[list(named).index(name) for name in known]][:, at], seed)
    if fresh is not None:
        rows += _fresh(annotations, fresh, list(named), choice, observed, cluster)
    return _in_order(rows, list(named))


def _in_order(rows: list[tuple[Any, ...]], names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(sorted(rows, key=lambda row: names.index(row[0])), columns=list(COLUMNS))


def _agreement(results: Any) -> Iterator[tuple[Any, ...]]:
    if "expected_agreement" not in results:  # a point estimate
        return
    more = knows_more(results)
    for name in results["classifier"].values:
        own = results.sel(classifier=name)
        values = (own[of].item() for of in ("expert_agreement", "expected_agreement", "expected_agreement_error"))
        observed, expected, error = values
        meaning = more.get(
            str(name), f"{name} agrees with annotators about as often as the annotations make one expect."
        )
        p = ndtr((expected - observed) / error)
        yield str(name), "agreement", observed, expected, error, p, str(name) not in more, meaning


def _plurality(
    annotations: Annotations, evidence: Evidence, choice: Int[np.ndarray, "classifier case"], seed: int
) -> Iterator[tuple[Any, ...]]:
    if not len(several := np.flatnonzero(annotations.per_case >= _FEWEST)):
        return
    prior = PredictionsPrior.learn(annotations, evidence, draws=DRAWS, seed=seed)
    labelled, choice = annotations.select(several), choice[:, several]
    slots, n_labels = prior.lay_out(labelled).slots, labelled.per_case
    order = np.argsort(-n_labels, kind="stable")  # those with another label are always the first
    column, place = np.argsort(order)[slots.case], np.arange(len(slots)) - slots.start[slots.case]
    shape = int(place.max()) + 1, len(several)
    chosen, votes = np.zeros((len(choice), *shape), bool), np.zeros(shape)
    chosen[:, place, column] = (slots.class_index == choice[:, slots.case]) & ~slots.is_remainder
    # classes that tie share a label; those of the remainder have none, since nobody named its classes
    shares = first_choice_shares(labelled)[0].of(slots.case * labelled.n_classes + np.maximum(slots.class_index, 0))
    votes[place, column] = np.where(slots.is_remainder, 0, shares * n_labels[slots.case])
    observed = _label_shares(votes, chosen)
    random, replicated = np.random.default_rng([int(seed), 2]), np.empty((DRAWS, *observed.shape))
    parts = np.split(np.arange(DRAWS), range(0, DRAWS, max(1, _NUMBERS // len(slots))))[1:]
    more = [int((n_labels > number).sum()) for number in range(n_labels.max())]
    for number, own_shape in enumerate(chain.from_iterable(prior.shapes(labelled, slots, part) for part in parts)):
        urn, labels = np.zeros((2, *shape), np.float32)
        urn[place, column] = own_shape
        for n in more:  # plausibilities are summed out: a class that has a label is likelier for the next (Pólya's urn)
            at = categorical(urn[:, :n], random), np.arange(n)
            urn[at] += 1
            labels[at] += 1
        replicated[number] = _label_shares(labels, chosen)
    expected, error = replicated.mean(0), replicated.std(0, ddof=1)
    p = 2 * ndtr(-np.abs(observed - expected) / np.maximum(error, 1e-12))
    for at, name in enumerate(evidence.classifiers):
        for which, (check, said) in enumerate(_SHARES.items()):
            passed = bool(p[which, at] >= (LIKELY if which == 0 else LIKELY / 2))
            meaning = f"In {100 * observed[which, at]:.1f} % of the cases, {said.format(name)}; "
            meaning += f"{100 * expected[which, at]:.1f} % were expected."
            if not passed:
                meaning += (
                    " The labels disagree in another way than is assumed (they may have errors in cases with one right "
                    "answer), so accuracy against the most plausible class may be several points off. Agreement with "
                    "an expert holds if the classifier has not seen them."
                )
            values = (float(of[which, at]) for of in (observed, expected, error, p))
            yield name, check, *values, passed, meaning


def check_fresh(fresh: Annotations, annotations: Annotations) -> None:
    """Refuse fresh annotations of other cases or classes."""
    check_labels(fresh)
    for what, unknown in (
        ("cases", fresh.cases[~pd.Index(fresh.cases).isin(pd.Index(annotations.cases))]),
        ("classes", fresh.classes[~np.isin(fresh.classes, annotations.classes)]),
    ):
        if len(unknown):
            raise AnnotationError(
                f"fresh annotations must be of the {what} of the posterior, but {len(unknown)} are not among them, "
                f"such as {str(unknown[0])!r}: use the same names."
            )


def _fresh(
    annotations: Annotations,
    fresh: Annotations,
    names: list[str],
    choice: Int[np.ndarray, "classifier case"],
    observed: Float[np.ndarray, "classifier case"],
    cluster: np.ndarray,
) -> Iterator[tuple[Any, ...]]:
    check_fresh(fresh, annotations)
    case = pd.Index(annotations.cases).get_indexer(pd.Index(fresh.cases))
    classes = pd.Index(fresh.classes).get_indexer(pd.Index(annotations.classes))
    shares = first_choice_shares(fresh)[0]
    own = np.where(choice[:, case] < 0, -1, classes[choice[:, case]])
    agreed = shares.of_choices(own, fresh.n_classes)
    old = observed[:, case]
    difference, error = paired(agreed - old, cluster[case])
    for at, name in enumerate(names):
        passed = not (difference[at] < -ERRORS * error[at] and difference[at] <= -POINTS)
        meaning = f"{name} agrees with fresh annotations in {100 * agreed[at].mean():.1f} %, and with the old ones of "
        meaning += f"the same cases in {100 * old[at].mean():.1f} %."
        if not passed:
            meaning += f" {name} has seen the old ones, so its accuracy is overestimated: use fresh ones alone."
        p = ndtr(difference[at] / error[at]) if error[at] > 0 else np.nan
        values = float(agreed[at].mean()), float(old[at].mean()), float(error[at]), p
        yield name, "fresh", *values, passed, meaning


def _label_shares(
    votes: Float[np.ndarray, "place case"], chosen: Bool[np.ndarray, "classifier place case"]
) -> Float[np.ndarray, "check classifier"]:
    """Shares of cases whose most frequent label is the choice; all of whose labels are; or are one other class."""
    greatest = votes.max(0)
    most = votes >= greatest - 1e-9
    plurality = ((most / most.sum(0)) * chosen).sum(1)
    unanimous = greatest >= votes.sum(0) - 1e-9
    ours = (most & chosen).any(1)
    return np.stack([plurality.mean(-1), (unanimous & ours).mean(-1), (unanimous & ~ours).mean(-1)])

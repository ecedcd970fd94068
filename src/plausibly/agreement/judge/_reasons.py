"""Reasons why the answers of a judgement differ: shared errors, base rates, ties, and a copied annotator."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.agreement.chance.annotators import find_copies
from plausibly.agreement.judge._fit import RANKED, Answers, Fit
from plausibly.agreement.judge._test_result import PASS, AlternativeAnnotatorTest
from plausibly.agreement.pairs import distinct, further_labels
from plausibly.base.names import figures, some
from plausibly.data.labels.container import Labels
from plausibly.data.labels.predictions import Predictions
from plausibly.data.scales import ends_of, on_other_scale

Truth = Float[np.ndarray, "case class"]

#: What is mentioned: votes that are probably wrong, tied votes, recall lost.
WRONG, TIED, RECALL = 0.03, 0.1, 0.15
_OFF, _SURE = 1 / 3, 4.0  # standard deviations of labels, and standard errors, from which on ratings are called higher


def shared_error(truth: Truth, answers: Answers, fit: Fit, model: str) -> str | None:
    """Whether a model repeats what the votes get wrong.

    `truth` are the posterior means of the true classes, without the model. Only votes that are more probably wrong than
    right count: where all are a little uncertain, a model would seem to repeat as many errors as it agrees with votes.
    """
    votes, said = answers.votes, answers.said[model]
    clear = votes.max(axis=1) == 1
    if not clear.any():
        return None
    voted = votes[clear].argmax(axis=1)
    wrong = truth[clear].copy()
    wrong[np.arange(len(voted)), voted] = 0.0  # probability of every other class
    wrong[wrong.sum(axis=1) < 0.5] = 0.0
    each = wrong.sum(axis=1)
    share = each.sum() / len(truth)
    if share < WRONG:
        return None
    repeated = (each * (said[clear].argmax(axis=1) == voted)).sum() / each.sum()
    by_pair = np.zeros((truth.shape[1], truth.shape[1]))
    np.add.at(by_pair.T, voted, wrong)
    true, named = np.unravel_index(by_pair.argmax(), by_pair.shape)
    classes = answers.annotations.classes
    gap = fit.vote[0] - fit.right.mean()
    if repeated < 0.5 or gap < WRONG / 2:
        return None
    return (
        f"Shared error: about {100 * share:.0f} % of the votes are probably wrong, most often {str(classes[true])!r} "
        f"called {str(classes[named])!r}, and {model} repeats {100 * repeated:.0f} % of them. Accuracy against the "
        f"vote ({fit.vote[0]:.2f}) rewards this, and against the inferred truth ({fit.right.mean():.2f}) does not"
    )


def base_rate(truth: Truth, answers: Answers, test: AlternativeAnnotatorTest, model: str) -> str | None:
    """Whether a frequent class explains the agreement: a constant answer does as well, and rare classes are missed."""
    share = answers.votes.mean(axis=0)
    most = int(share.argmax())
    said = answers.said[model]
    weight = truth.sum(axis=0)
    present = weight >= 1
    recall = (truth * said).sum(axis=0)[present] / weight[present]
    accuracy, balanced = float((truth * said).sum() / len(truth)), float(recall.mean())
    if share[most] < 0.7 or accuracy - balanced < RECALL:
        return None
    compared, classes = test.comparison, answers.annotations.classes
    alone = ""
    if compared.distance == "nominal":  # sets are single labels, in the same order
        to_set = (answers.annotations.entry_class != most).astype(float)[None]
        ratio, passed = compared._baselines.ratios(to_set)[0], test._outcomes(to_set)[0, 0] >= PASS
        if not passed and ratio > 1.1:
            return None
        alone = f", which would {'' if passed else 'not '}pass the alternative annotator test (Δ = {ratio:.2f})"
    worst = np.flatnonzero(present)[recall.argmin()]
    return (
        f"Base rates: {str(classes[most])!r} is the answer in {100 * share[most]:.0f} % of the cases{alone}. {model} "
        f"is right in {100 * accuracy:.0f} % of all cases, but finds only {100 * recall.min():.0f} % of "
        f"{str(classes[worst])!r} (mean over classes {100 * balanced:.0f} %)"
    )


def ties(answers: Answers, fit: Fit, model: str) -> str | None:
    """Whether tied votes decide how accurate a model looks."""
    tied = float(((answers.votes > 0) & (answers.votes < 1)).any(axis=1).mean())
    _, lost, won = fit.vote
    if tied < TIED or won - lost < TIED / 2:
        return None
    return (
        f"Ties: the vote is tied in {100 * tied:.0f} % of the cases, so the accuracy of {model} against it is between "
        f"{lost:.2f} and {won:.2f}"
    )


def copied(labels: Labels, predicted: Predictions, test: AlternativeAnnotatorTest, model: str) -> str | None:
    """Whether a model repeats one annotator, mistakes included, more often than their agreement explains."""
    last, kept = len(labels.annotators), (np.diff(labels.start) > 0)[predicted.case]
    case = np.concatenate([labels.case, predicted.case[kept]])
    who = np.concatenate([labels.annotator, np.full(kept.sum(), last)])
    values = np.concatenate([labels.values, predicted.values[kept]])
    order = np.lexsort((who, case))
    joint = replace(
        labels, annotators=np.append(labels.annotators, f"{model} (model)"), case=case[order], annotator=who[order],
        values=values[order], columns={}, rows=order, place=None,
    )  # fmt: skip
    if further_labels(joint).any():
        return None
    code = distinct(joint).code
    pairs = (pair for *pair, _ in find_copies(joint, code) if last in pair)
    source = next((other for pair in pairs for other in pair if other != last), None)
    if source is None:
        return None
    mine, own = joint.annotator == last, np.full(len(joint.cases), -1)
    own[joint.case[mine]] = code[mine]
    known = ~mine & (own[joint.case] >= 0)
    n, alike = (np.bincount(joint.annotator[known], one, last) for one in (None, (code == own[joint.case])[known]))
    same = alike / np.maximum(n, 1)
    name = str(labels.annotators[source])
    others = test.comparison.without_annotators().set_index(["annotator", "model"])
    without = others.loc[(name, model), "ratio"]  # Δ against the annotators but this one
    return (
        f"Copy: {model} agrees with {name} in {100 * same[source]:.0f} % of the cases, and with every other annotator "
        f"in at most {100 * np.delete(same, source).max(initial=0.0):.0f} %. All answers overrate it"
        + (f"; against the others alone, Δ = {without:.2f}" if np.isfinite(without) else "")
    )


def other_scale(labels: Labels, said: np.ndarray, model: str, distance: str) -> str | None:
    """Whether a model gives numbers on another scale than the annotators; of classes, if they know few of its own."""
    if not labels.is_numeric or said.dtype.kind not in "iuf" or not on_other_scale(said, labels.values):
        return None
    if distance == "nominal" and np.isin(said, labels.values).mean() > 0.5:
        return None
    return f"{model} and the annotators use different scales ({ends_of(said)}, and {ends_of(labels.values)})"


def offset(labels: Labels, predicted: Predictions, model: str) -> str | None:
    """Whether a model rates the same cases higher, or lower, than the annotators, by part of the spread of labels."""
    if not labels.is_numeric or predicted.values.dtype.kind not in "iuf" or len(np.unique(labels.values)) <= 2:
        return None
    n = np.bincount(labels.case, minlength=len(labels.cases))
    means = np.bincount(labels.case, labels.values.astype(float), len(n)) / np.maximum(n, 1)
    apart = (predicted.values - means[predicted.case])[n[predicted.case] > 0]
    more = float(apart.mean()) if len(apart) > 1 else 0.0
    if abs(more) < max(_OFF * labels.values.std(), _SURE * apart.std() / np.sqrt(max(len(apart) - 1, 1))):
        return None
    return (
        f"Offset: {model} rates the same cases {figures(abs(more))} {'higher' if more > 0 else 'lower'} than the "
        "annotators. That makes it less close; without it, it may be as close as they are"
    )


def unknown_labels(labels: Labels, said: np.ndarray, model: str) -> str | None:
    """Whether a model gives labels that no annotator gives, as where classes are spelt differently."""
    known = {_hashable(value) for value in labels.values.tolist()}
    strange = [str(value) for value in said.tolist() if _hashable(value) not in known]
    if not strange:
        return None
    return (
        f"Unknown labels: {model} says {some(sorted(set(strange)))} in {len(strange):,} of {len(said):,} cases, and no "
        "annotator ever does. Check the spelling; if that is no answer, leave such cases out (--unpredicted leave-out)"
    )


def reasons_of(
    truth: Truth | None, answers: Answers, fit: Fit, test: AlternativeAnnotatorTest, model: str
) -> dict[str, str]:
    """All reasons that apply to a model, by name.

    `truth` are posterior means of true classes, without the model; None if they are unknown, and votes stand for them.
    """
    found = {}
    if truth is not None:
        found["shared error"] = shared_error(truth, answers, fit, model)
    if answers.model != RANKED:
        found["base rates"] = base_rate(answers.votes if truth is None else truth, answers, test, model)
    found["ties"] = ties(answers, fit, model)
    return {name: words for name, words in found.items() if words is not None}


def _hashable(value: Any) -> Any:
    return value if isinstance(value, Hashable) else repr(value)

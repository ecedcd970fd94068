"""A model among the annotators, and against the posterior over the truth, by a model of how annotators err."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import copy_context
from dataclasses import dataclass, replace
from threading import Timer
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.aggregation import aggregate, unjudged
from plausibly.aggregation.inferred_reliability import infer_reliability
from plausibly.agreement.pairs import count_votes, share_of_top
from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import interval
from plausibly.base.progress import Progress, tell
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.answers import whole
from plausibly.data.annotations.shown import shown
from plausibly.data.labels.container import Labels
from plausibly.data.labels.predictions import Predictions
from plausibly.distances.rankings import blocks_of
from plausibly.evaluation import evaluate
from plausibly.evaluation.truth import first_choice_shares
from plausibly.models import MODELS
from plausibly.posterior.diagnostics import ESS_PER_CHAIN, judge

MOST_CLASSES = 30  #: different labels up to which they are taken for classes
_PER_CELL = 10  # labels of an annotator by true class, from which a confusion matrix of her own is estimated
#: Sweeps per draw: few are enough for accuracies, unless data hardly tell annotators apart; or if a way out is left.
_SWEEPS, _SWEEPS_IN_VAIN = (4, 32), (4, 16)
RANKED = "plackett-luce"
SIMPLEST = "one-coin"
_PATIENCE = 10.0  # seconds after which a way out is offered
_SLOW = (
    'The model of annotators takes its time: model=None (--model none) leaves out questions 3 and 4, model="one-coin" '
    "(--model one-coin) is faster."
)


@dataclass(frozen=True)
class Answers:
    """Labels of annotators and of models, in the form that a model of annotators takes."""

    annotations: Annotations  # the annotators' labels
    with_model: Mapping[str, Annotations]  # by model, the same with the model as one more annotator, the last one
    said: Mapping[str, Float[np.ndarray, "case class"]]  # by model, its first choice, shared between tied classes
    model: str  # name of the aggregation model
    votes: Float[np.ndarray, "case class"]  # shares of the annotators' most frequent first choices
    case: Int[np.ndarray, " case"]  # for every case of the annotations, its index in the labels


@dataclass(frozen=True)
class Fit:
    """What a model of annotators says of one model.

    Parameters
    ----------
    ability
        Accuracy, or reliability, of every annotator and of the model (last), with ``mean``, ``lower``, ``upper``.
    unit
        ``"accuracy"`` or ``"reliability"``.
    lead
        Draws of the model's ability less the mean of the annotators' (of reliabilities, their logarithms).
    accuracy
        Draws of the model's accuracy against the truth as inferred without it, cases resampled: too low for a model
        that knows more of a case than its labels do.
    typical
        Draws of the mean accuracy of annotators by their labels; None under a model of rankings.
    alone
        Mean ability of every annotator by their labels.
    constant
        Draws of the accuracy of the best constant answer, as of `accuracy`; None under a model of rankings.
    independent
        Both again, if the model errs independently of the annotators, so that its labels tell of the truth, too; None
        under a model of rankings.
    right
        Probability that the model is right, by draw and case, before cases are resampled.
    vote
        Accuracy against the vote: with ties shared, with all ties lost, with all won.
    converged
        Whether the chains of all that is compared converged: the model's ability and accuracy, and the annotators'
        means.
    """

    ability: pd.DataFrame
    unit: str
    lead: Float[np.ndarray, " draw"]
    accuracy: Float[np.ndarray, " draw"]
    typical: Float[np.ndarray, " draw"] | None
    alone: Float[np.ndarray, " annotator"]
    constant: Float[np.ndarray, " draw"] | None
    independent: tuple[Float[np.ndarray, " draw"], Float[np.ndarray, " draw"]] | None
    right: Float[np.ndarray, "draw case"]
    vote: tuple[float, float, float]
    converged: bool


def answers_of(labels: Labels, models: Mapping[str, Predictions], distance: Any, wanted: str | None) -> Answers | str:
    """Arrange labels for a model of annotators; or say why there is none for them."""
    counts = np.diff(labels.start) > 0
    for name, predicted in models.items():
        for at in np.flatnonzero(np.diff(predicted.case) == 0)[:1]:
            return f"{name} gives case {str(labels.cases[predicted.case[at]])!r} several labels"
    if ((np.diff(labels.case) == 0) & (np.diff(labels.annotator) == 0)).any():
        return "an annotator labels a case several times"
    if not all(np.isin(np.flatnonzero(counts), predicted.case).all() for predicted in models.values()):
        return "a model lacks cases that annotators labelled"
    if wanted == RANKED or (wanted == "auto" and distance == "partial_rankings"):
        return _ranked(labels, models)
    try:
        _ = labels.coded
    except Exception:
        return "labels are neither classes nor rankings"
    names: dict[Any, int] = {}
    own, *codes = (
        np.array([names.setdefault(value, len(names)) for value in source.values.tolist()])
        for source in (labels, *models.values())
    )
    if len(names) > MOST_CLASSES and wanted == "auto":
        return f"there are {len(names):,} different labels, too many to be classes"
    if len(names) < 2:
        return "there is only one label"
    classes = [str(whole(name)) for name in names]
    classes = classes if len(set(classes)) == len(classes) else [repr(name) for name in names]
    chosen = wanted
    if wanted == "auto":
        labelled = np.zeros((len(labels.annotators), own.max() + 1))
        np.add.at(labelled, (labels.annotator, own), 1)
        rarest = np.median(labelled[labelled.any(axis=1)], axis=0)[np.unique(own)].min()
        enough = rarest >= _PER_CELL * len(names)
        chosen = "dawid-skene" if enough else SIMPLEST
    annotators = labels.annotators.tolist()
    annotations, case = _single(labels, labels.case, labels.annotator, own, annotators, classes)
    with_model, said = {}, {}
    for (name, predicted), mine in zip(models.items(), codes, strict=True):
        kept = counts[predicted.case]
        joined = (
            np.concatenate([labels.case, predicted.case[kept]]),
            np.concatenate([labels.annotator, np.full(kept.sum(), len(annotators))]),
            np.concatenate([own, mine[kept]]),
        )
        with_model[name] = _single(labels, *joined, [*annotators, _free(name, annotators)], classes)[0]
        said[name] = np.eye(len(classes))[mine[kept]]
    votes = share_of_top(count_votes(labels.case, own, len(labels.cases), len(classes))[case])
    return Answers(annotations, with_model, said, str(chosen), votes, case)


def fit(
    answers: Answers, clusters: Int[np.ndarray, " case"], ci_prob: float, sampling: dict[str, Any], *, simplify: bool
) -> tuple[Answers, dict[str, Fit], Posterior]:
    """Fit annotators alone, for the truth without a model, and once with each model, for its ability.

    If `simplify`, and chains do not converge, the simplest model takes the place of the one of `answers`.
    """
    simplify = simplify and answers.model == "dawid-skene" and sampling["draws"] >= ESS_PER_CHAIN
    slow = Timer(_PATIENCE, copy_context().run, [tell, _SLOW])
    slow.daemon = True
    if sampling["progress"]:
        slow.start()
    try:
        found = _fits(answers, clusters, ci_prob, sampling, give_up=simplify)
        if found is None:
            answers = replace(answers, model=SIMPLEST)
            found = _fits(answers, clusters, ci_prob, sampling)
    finally:
        slow.cancel()
    assert found is not None
    return answers, *found


def _fits(
    answers: Answers,
    clusters: Int[np.ndarray, " case"],
    ci_prob: float,
    sampling: dict[str, Any],
    *,
    give_up: bool = False,
) -> tuple[dict[str, Fit], Posterior] | None:
    """Fit as :func:`fit` does; None from the first chains that do not converge on, if `give_up`."""
    ranked = answers.model == RANKED

    def right_by(posterior: Posterior, names: Iterable[str]) -> Iterator[Float[np.ndarray, " draw"]]:
        return (_right(posterior, answers.said[name], answers.model).mean(axis=1) for name in names)

    def of_truth(posterior: Posterior) -> tuple[Float[np.ndarray, " draw"], ...]:
        return _abilities(posterior).mean(axis=1), *right_by(posterior, answers.said)

    sweeps = _SWEEPS_IN_VAIN if give_up else _SWEEPS
    alone = _sampled(answers.annotations, answers.model, sampling, of_truth, sweeps)
    each = _abilities(alone)
    typical = None if ranked else each.mean(axis=1)
    if give_up and not _converged(sampling["chains"], each.mean(axis=1)):
        return None
    random = np.random.default_rng(sampling["seed"])
    cluster = np.unique(clusters[answers.case], return_inverse=True)[1]
    constant = None if ranked else _constant(alone, answers.votes, cluster, sampling["seed"])
    found = {}
    for name, annotations in answers.with_model.items():
        said = answers.said[name]

        def of_model(posterior: Posterior, name: str = name) -> tuple[Float[np.ndarray, " draw *of"], ...]:
            return *_compared(_abilities(posterior)), *right_by(posterior, [name])

        right = _right(alone, said, answers.model)
        if not ranked and (said == said[0]).all():  # the same answer to every case tells nothing of the truth
            joint, ability = alone, np.column_stack([each, right.mean(axis=1)])
        else:
            joint = _sampled(annotations, answers.model, sampling, of_model, sweeps)
            ability = _abilities(joint)
        scale = np.log(ability) if ranked else ability
        lower, upper = interval(ability, ci_prob)
        frame = pd.DataFrame(
            {"mean": ability.mean(axis=0), "lower": lower, "upper": upper},
            index=pd.Index(annotations.annotators, name="annotator"),
        )
        shared = (said * answers.votes).sum(axis=1)
        weight = random.standard_exponential((len(right), cluster.max() + 1))[:, cluster]
        drawn = right if ranked else random.random(right.shape) < right
        compared, independent = [*_compared(scale)], None
        if typical is not None:
            of_joint = _right(joint, said, answers.model)
            compared += [typical, right.mean(axis=1), of_joint.mean(axis=1)]
            own = (weight * (random.random(of_joint.shape) < of_joint)).sum(axis=1) / weight.sum(axis=1)
            independent = own, ability[:, :-1].mean(axis=1)
        found[name] = Fit(
            ability=frame,
            unit="reliability" if ranked else "accuracy",
            lead=scale[:, -1] - scale[:, :-1].mean(axis=1),
            accuracy=(weight * drawn).sum(axis=1) / weight.sum(axis=1),
            typical=typical,
            alone=each.mean(axis=0),
            constant=constant,
            independent=independent,
            right=right,
            vote=(float(shared.mean()), float((shared >= 1 - 1e-9).mean()), float((shared > 0).mean())),
            converged=_converged(sampling["chains"], *compared),
        )
        if give_up and not found[name].converged:
            return None
    return found, alone


def _constant(
    alone: Posterior, votes: np.ndarray, cluster: Int[np.ndarray, " case"], seed: int
) -> Float[np.ndarray, " draw"]:
    """Accuracy of the most frequent class as the answer to every case, cases resampled."""
    random = np.random.default_rng([seed, 1])
    right = dense_draws(alone, votes.shape)[:, :, votes.sum(axis=0).argmax()]
    weight = random.standard_exponential((len(right), cluster.max() + 1))[:, cluster]
    return (weight * (random.random(right.shape) < right)).sum(axis=1) / weight.sum(axis=1)


def _compared(ability: Float[np.ndarray, "draw annotator"]) -> tuple[Float[np.ndarray, " draw"], ...]:
    """Ability of the model, the last one, and the mean of the annotators."""
    return ability[:, -1], ability[:, :-1].mean(axis=1)


def _sampled(
    annotations: Annotations,
    model: str,
    sampling: dict[str, Any],
    compared: Callable[[Posterior], tuple[Any, ...]],
    thinnings: tuple[int, ...] = _SWEEPS,
) -> Posterior:
    """Sample; again with more sweeps if what is compared has not converged."""
    if model == RANKED:
        return unjudged(infer_reliability)(annotations, per="annotator", **sampling)
    declared = MODELS[model]
    sampler = declared.family
    assert sampler is not None
    for sweeps in thinnings:
        model_of = replace(declared, family=replace(sampler, thinning=sweeps))
        found = unjudged(aggregate)(annotations, model_of, difficulty="same", **sampling)  # a fit for each model
        if sampling["draws"] < ESS_PER_CHAIN or _converged(sampling["chains"], *compared(found)):
            break
    return found


def _abilities(posterior: Posterior) -> Float[np.ndarray, "draw annotator"]:
    """Reliability of every annotator; or accuracy, over cases of which classes are as common as in the posterior."""
    group = posterior["posterior"]
    ability = "annotator_reliability" if "annotator_reliability" in group else "accuracy"
    values = group[ability].transpose("chain", "draw", "annotator").to_numpy()
    return values.reshape(-1, values.shape[-1])


def _right(posterior: Posterior, said: np.ndarray, model: str) -> Float[np.ndarray, "draw case"]:
    """Probability in every draw that what a model says first is true, or the most plausible."""
    if model == RANKED:
        found = evaluate(posterior, {"m": said}, metrics="top1_accuracy", sizes=1, break_ties="random", progress=False)
        by_case = found["top1_accuracy_by_case"].values[0]
        return np.repeat(by_case[None], found.sizes["draw"], axis=0).astype(float)
    drawn = dense_draws(posterior, said.shape)
    return drawn[:, np.arange(len(said)), said.argmax(axis=1)]


def dense_draws(posterior: Posterior, shape: tuple[int, int]) -> Float[np.ndarray, "draw case class"]:
    """Draws of the probability of each true class; models of one true class have a slot for each."""
    values = posterior["posterior"]["plausibility"].to_numpy()
    return values.reshape(-1, *shape)


def _converged(chains: int, *quantities: np.ndarray) -> bool:
    """Judge what is reported, (draw, …), by the rule of :mod:`plausibly.diagnostics`."""
    columns = np.concatenate([values.reshape(chains, len(values) // chains, -1) for values in quantities], axis=-1)
    with Progress(show=False) as bars:
        return bool(judge(columns, progress=bars, what="abilities")[-1].all())


def _single(
    labels: Labels, case: np.ndarray, annotator: np.ndarray, code: np.ndarray, annotators: list[str], classes: list[str]
) -> tuple[Annotations, np.ndarray]:
    """Make annotations of one class each, and say which cases they are of."""
    order = np.lexsort((annotator, case))
    cases, case = np.unique(case[order], return_inverse=True)
    people, annotator = np.unique(annotator[order], return_inverse=True)
    n = np.arange(len(order))
    made = Annotations(
        cases=labels.cases[cases],
        classes=np.array(classes),
        annotators=np.array(annotators)[people],
        anonymous=False,
        annotation_case=case,
        annotation_annotator=annotator,
        entry_annotation=n,
        entry_class=code[order],
        entry_block=np.zeros(len(n), int),
    )
    return made, cases


def _ranked(labels: Labels, models: Mapping[str, Predictions]) -> Answers | str:
    """Arrange partial rankings."""
    annotators = labels.annotators.tolist()
    rankings: dict[str, dict[str, Any]] = {str(labels.cases[case]): {} for case in np.unique(labels.case)}
    of_model: dict[str, dict[str, Any]] = {}
    try:
        for case, who, value in zip(labels.case, labels.annotator, labels.values.tolist(), strict=True):
            rankings[str(labels.cases[case])][annotators[who]] = _texts(value)
        for name, one in models.items():
            of_model[name] = {
                str(labels.cases[case]): _texts(value)
                for case, value in zip(one.case, one.values.tolist(), strict=True)
            }
    except ValueError:
        return "labels are not rankings of classes"
    every = [*of_model.values(), *rankings.values()]
    classes = sorted({name for said in every for ranking in said.values() for block in ranking for name in block})
    annotations = Annotations.from_rankings({"cases": rankings}, classes, choices="all")
    if shown(annotations):
        return "labels look like comparisons of classes that were shown, not like rankings"
    with_model, said = {}, {}
    for name, by_case in of_model.items():
        last = _free(name, annotators)
        joined = {case: {**ranking, last: by_case[case]} for case, ranking in rankings.items()}
        with_model[name] = Annotations.from_rankings({"cases": joined}, classes, choices="all")
        if with_model[name].annotators[-1] != last:
            return "annotators come in another order"
        alone = {case: {last: by_case[case]} for case in rankings}
        said[name] = _first_choices(Annotations.from_rankings({"cases": alone}, classes, choices="all"))
    votes = share_of_top(_first_choices(annotations).round(9))
    return Answers(annotations, with_model, said, RANKED, votes, np.unique(labels.case))


def _first_choices(annotations: Annotations) -> Float[np.ndarray, "case class"]:
    """Share of the annotations of each case that name each class first."""
    keys = np.arange(annotations.n_cases * annotations.n_classes).reshape(annotations.n_cases, -1)
    return first_choice_shares(annotations)[0].of(keys)


def _texts(value: Any) -> list[list[str]]:
    return [[str(name) for name in block] for block in blocks_of(value)]


def _free(name: str, annotators: list[str]) -> str:
    """Name a model among annotators."""
    while name in annotators:
        name = f"{name} (model)"
    return name

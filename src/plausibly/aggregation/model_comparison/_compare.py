"""Aggregation models ranked by how well they predict annotations that are left out."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from plausibly.aggregation._contract import check_contract
from plausibly.aggregation._variants import PlannedRun, Variants, plan_runs
from plausibly.aggregation.model_comparison._frequencies import class_frequencies
from plausibly.aggregation.model_comparison._left_out import LeftOut, leave_out
from plausibly.aggregation.model_comparison._summary import BASELINE, Comparison
from plausibly.aggregation.model_comparison.folds import Folds
from plausibly.base.checks import check_seed
from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.base.memory import release_memory
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.predictions import named_predictions
from plausibly.families.settled import BY_PLAUSIBILITY, BY_PROGRAM
from plausibly.models import MODELS


def compare_models(
    annotations: Annotations,
    models: Variants,
    *,
    predictions: Mapping[Hashable, Any] | None = None,
    observation: Literal["first", "ranking"] = "first",
    folds: int | None = None,
    method: Literal["auto", "refit"] = "auto",
    ties: Literal["split", "full"] | None = None,
    mode: Literal["power", "temper"] | None = None,
    unranked: Literal["lumped", "exact", "ignore"] | None = None,
    concentration: float | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Comparison:
    r"""Compare aggregation models by how well they predict left-out annotations.

    Every annotation is left out once and predicted from the other annotations of its case. The score of a model is the
    log probability that it gives to the annotator's first block :math:`b_1`, :math:`\log E[\sum_{k \in b_1}
    \lambda_k]`. Every model gives this probability, so all models are judged by the same observation. To compare
    classifiers, see :mod:`plausibly.comparison`.

    Parameters
    ----------
    annotations
        N cases over K classes.
    models
        Reliabilities by model, such as ``{"plackett-luce": (1, 3, 10), "prirn": (10, 30, 100), "irn": None}``, as for
        :func:`plausibly.sweep`; several reliabilities of one model are compared like separate models. Alternatively,
        arguments of :func:`plausibly.aggregate` by label, such as ``{"sparse": {"model": "plackett-luce",
        "concentration": 0.1}}``, or names as on the command line, such as ``["one-coin", "plackett-luce@1,3"]``.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.aggregate`. Models with
        ``class_prior="predictions"`` learn their prior from them, such as ``{"evidence": {"model":
        "dirichlet-categorical", "class_prior": "predictions"}}``; other models ignore them.
    observation
        Part of an annotation to predict. ``"first"``: the first block. ``"ranking"``: the whole partial ranking, given
        the sizes of its blocks; for Plackett-Luce and Dirichlet-categorical only.
    folds
        Number K ≥ 2 of folds to split the annotations of every case into; each fold is predicted from the others. With
        None, one annotation is left out at a time. For models that learn from other cases
        (any ``class_prior`` but ``"uniform"``), cases are also split into five folds, so that an annotation is
        predicted with shared parameters that were estimated without its case.
    method
        Method for models whose posterior is sampled, such as Plackett-Luce. ``"auto"`` reweights draws by
        Pareto-smoothed importance sampling, and samples again where k-hat is above 0.7 or where the left-out annotation
        names a class that no other annotation names; ``"refit"`` never reweights. The posteriors of other models are
        exact.
    ties, mode, unranked, concentration, draws, chains, warmup
        Arguments of :func:`plausibly.aggregate`, passed to the models that accept them.
    seed
        Random seed.
    progress
        Whether to show progress.

    Returns
    -------
    Comparison
        Its ``table`` has one row per model, and one for the class frequencies of the other cases, which look at nothing
        of a case, the highest ``elpd`` first, with the columns of ``arviz.compare``: ``rank`` from 0;
        ``elpd``, the sum of all log probabilities (greater is better); ``p``, the effective number of parameters (the
        same sum with nothing left out, minus ``elpd``); ``elpd_diff``, the difference from the best model; ``weight``,
        the model's weight in the mixture of models that predicts best (stacking); ``se`` of ``elpd`` and ``dse`` of
        ``elpd_diff``; ``warning``, whether chains did not converge; ``scale``, ``"log"``. Further columns: ``error``,
        the Monte Carlo standard error of ``elpd``; ``impossible``, the number of annotations with probability zero;
        ``k_high``, the number with k-hat above 0.7; ``refits``, the number for which the posterior was sampled again;
        and ``verdict``: ``"best"`` (only if all others are worse), ``"no difference"``, ``"worse"`` or, with a single
        case or if every model finds some annotation impossible, ``"unknown"``.
        ``pointwise`` has the log probability of every annotation, and ``verdict()`` states the result in a sentence.

    Raises
    ------
    ArgumentError
        If fewer than two models are given, a model is given twice or has no probability for ``observation``, an
        argument is out of range or not accepted by any model, there are predictions that no model uses, or what a
        program of your own observes is no probability of a label.
    AnnotationError
        If a model does not accept this kind of annotations.
    PredictionError
        If predictions do not match the cases or classes.

    Notes
    -----
    Annotations of a case share its truth, so standard errors are computed from the sum for each case: :math:`\sqrt{N}`
    times the standard deviation of the N sums. Two models differ if ``elpd_diff`` exceeds both 4 and twice its standard
    error (``dse`` and the Monte Carlo errors together). If it is below 4, the models predict about equally well, and
    the standard error is itself uncertain.

    Without the left-out annotation, a class that only this annotation names belongs to the remainder, whose probability
    is shared equally by its m classes. Models without a remainder (``unranked="ignore"``, PrIRN at concentration 0,
    point estimates) give such a class probability zero, so their log probability is minus infinity. If a case has a
    single annotation, the posterior without it is the prior, under which all classes are equally probable (unless it is
    learned from other cases). The log probability is then that of a guess, :math:`\log(|b_1| / K)`, for every such
    model, so these cases do not affect the differences between them.

    The class frequencies of the other cases leave out the case of an annotation as a whole. First blocks have the
    frequencies of classes in first blocks; of whole rankings, every further block is drawn without replacement with
    the frequencies at its place. One annotation that is divided evenly between all classes is added. A model that
    predicts no better has learned nothing from the other annotations of a case.

    Models of one true class (Dawid-Skene, one-coin) learn about annotators and classes from all cases. Here they learn
    from other cases only: cases are split into five folds, and each case is predicted with parameters that were
    estimated without it. They predict an annotator's label from her own confusion matrix, and the first label of a case
    from the prevalence of the classes. ``verdict()`` says so, and so does the attribute
    ``left_out_cases`` of ``pointwise``.

    A program of your own is scored by its plausibilities only if annotators choose by them; otherwise by the
    probability of a label at its observed sites, given the other labels of the case and averaged over all sites that it
    samples. Cases of up to eight dimensions are integrated by adaptive importance sampling with a scrambled Sobol
    sequence, whose ``error`` is that of eight scrambles; others, and all with ``method="refit"``, are sampled again.

    Log probabilities are computed from converged chains where possible. If the chains of a case did not converge given
    all its annotations, the case is sampled again once for each annotation, leaving that one out. If at most a tenth of
    these runs do not converge, they are repeated with four times the draws and twice the warm-up. If they fail again,
    or if more than a tenth fail, ``warning`` says so.

    Under ``mode="temper"``, annotators choose with weights :math:`\lambda^\gamma`, which replace :math:`\lambda` above.
    Under ``"power"``, the posterior counts every annotation :math:`\gamma` times. For :math:`\gamma \ne 1` this
    likelihood is not a probability of the data, but the prediction of a left-out annotation still is one.

    ``arviz.loo`` scores something else: whole annotations under the model's own likelihood. It takes posteriors that
    annotations enter once, with their probability; others store a ``pseudo_log_likelihood``, which it refuses.

    References
    ----------
    Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC;
    Vehtari, Simpson, Gelman, Yao & Gabry (2024), Pareto smoothed importance sampling; Yao, Vehtari, Simpson & Gelman
    (2018), Using stacking to average Bayesian predictive distributions; Sivula, Magnusson & Vehtari (2020),
    Uncertainty in Bayesian leave-one-out cross-validation based model comparison.

    Examples
    --------
    >>> annotations = Annotations.from_counts([[3, 1], [1, 3], [4, 0], [0, 4]])
    >>> models = {"dirichlet-categorical": (0.1, 1), "majority-vote": None}
    >>> table = compare_models(annotations, models, progress=False).table
    >>> table["elpd"].astype(float).round(2).tolist(), table["impossible"].tolist()
    ([-8.07, -10.13, -14.75, -inf], [0, 0, 0, 2])
    >>> table.index.tolist()[1:3]
    ['dirichlet-categorical@0.1', 'class frequencies of the other cases']
    """
    given = {"ties": ties, "mode": mode, "unranked": unranked, "concentration": concentration}
    given |= {"draws": draws, "chains": chains, "warmup": warmup}
    given |= {"observation": observation, "folds": folds, "method": method, "seed": seed}
    plan = ComparisonPlan.of(annotations, models, predictions=predictions, **given)
    return plan.run(progress=progress)


@dataclass(frozen=True)
class ComparisonPlan:
    """A comparison that is completely checked, but not computed yet."""

    runs: Sequence[PlannedRun]
    folds: Folds
    observation: str
    method: str
    n_folds: int | None
    seed: int

    @classmethod
    def of(
        cls,
        annotations: Annotations,
        models: Variants,
        *,
        predictions: Mapping[Hashable, Any] | None = None,
        observation: str = "first",
        folds: int | None = None,
        method: str = "auto",
        seed: int = 0,
        **given: Any,
    ) -> "ComparisonPlan":
        """Check all arguments; see :func:`compare_models`."""
        choices = {"observation": (observation, ("first", "ranking")), "method": (method, ("auto", "refit"))}
        for name, (value, known) in choices.items():
            if value not in known:
                raise ArgumentError(f"{name} must be one of {', '.join(known)}, but {value!r} was given.")
        if isinstance(annotations, Scores):
            raise AnnotationError(
                "models are compared by partial rankings, but scores were given: turn them into labels with "
                "Scores.split(threshold)."
            )
        named = None if predictions is None else named_predictions(predictions)
        runs = plan_runs(annotations, models, given, predictions=named, seed=seed)
        if named and runs and not any(run.settled.evidence and run.settled.evidence.classifiers for run in runs):
            raise ArgumentError(
                f"predictions of {', '.join(named)} are for models with class_prior='predictions', but "
                f"{', '.join(run.label for run in runs)} have another: add one, such as {{'evidence': {{'model': "
                "'dirichlet-categorical', 'class_prior': 'predictions'}} (--model "
                "dirichlet-categorical:class_prior=predictions), or leave predictions out."
            )
        for run in runs:
            if observation == "ranking" and run.settled.borrows:
                raise ArgumentError(
                    f"{run.label} has a prior that is learned, under which first choices are compared, but "
                    "observation='ranking' was given: leave it out."
                )
            if observation == "ranking" and run.settled.model.replicate != "rankings":
                able = ", ".join(name for name, model in MODELS.items() if model.replicate == "rankings")
                raise ArgumentError(
                    f"{run.label} has no probability of whole rankings and cannot be compared by "
                    f"observation='ranking': compare by 'first', or leave it out (those that do: {able})."
                )
        runs = [replace(run, settled=check_contract(annotations.annotated, run.settled)) for run in runs]
        for run in runs:
            _check_answers(run, observation, labels=len(annotations.entry_class) == annotations.n_annotations)
        if len(runs) < 2:
            raise ArgumentError(
                f"a comparison needs two models, but {len(runs) or 'none'} was given: add another, or another "
                "reliability of the same."
            )
        return cls(runs, Folds.of(annotations, folds, check_seed(seed)), observation, method, folds, int(seed))

    @property
    def labels(self) -> list[str]:
        """Names of all runs."""
        return [run.label for run in self.runs]

    def run(
        self, *, progress: bool = True, before: Callable[[int, str], None] = lambda number, label: None
    ) -> Comparison:
        """Predict all annotations with one model after the other, calling ``before`` before each."""
        found = {}
        for number, run in enumerate(self.runs):
            before(number, run.label)
            folds = self.folds
            predicted = run.settled.family.leave_out(folds.annotations, run.settled, folds.fold, progress=progress)
            if predicted is None and run.settled.model.family and run.settled.answers != BY_PLAUSIBILITY:
                raise ArgumentError(
                    f"{run.label} cannot be compared, because its family does not say how annotators answer: let its "
                    "leave_out return predictions, or its Facts have answers='plausibility' if they choose by the "
                    "plausibilities."
                )
            if predicted is not None:
                found[run.label] = LeftOut.of_all(**predicted)
                continue
            found[run.label] = leave_out(
                run,
                self.folds,
                of_rankings=self.observation == "ranking",
                importance=self.method == "auto" and self.n_folds is None,
                seed=self.seed,
                progress=progress,
            )
            release_memory()
        attrs = {"observation": self.observation, "folds": self.n_folds or "one annotation", "seed": self.seed}
        learnt = [run.label for run in self.runs if run.settled.borrows or run.settled.says.shares]
        if learnt:
            attrs["left_out_cases"] = ", ".join(learnt)
        found[BASELINE] = class_frequencies(self.folds.annotations, of_rankings=self.observation == "ranking")
        return Comparison.of(self.folds.annotations, found, **attrs)


def _check_answers(run: PlannedRun, observation: str, *, labels: bool) -> None:
    """Refuse a program of a user's own that has no probability of what is left out."""
    answers, model = run.settled.answers, run.settled.model
    if answers == BY_PLAUSIBILITY or model.family is not None:
        return
    if answers not in BY_PROGRAM:
        raise ArgumentError(
            f"{run.label} cannot be compared, because what its program observes is no probability of a label, given "
            "the sites that it samples: let the probabilities of all classes sum to 1, or declare "
            "answers='plausibility' if annotators choose by the plausibilities."
        )
    if run.settled.borrows:
        raise ArgumentError(
            f"{run.label} has labels that do not follow its plausibilities, which cannot be predicted under a prior "
            f"that is learned, but class_prior={str(run.settled.arguments['class_prior']).partition(' ')[0]!r} was "
            "given: leave it and predictions out."
        )
    if not labels and (observation == "ranking" or answers != "alone"):
        raise ArgumentError(
            f"{run.label} has labels that do not follow its plausibilities, and is compared by first blocks whose "
            "probability depends on no other annotation, but it is another here: compare by 'first', or leave it out."
        )

"""``aggregate``: arguments settled, the work divided, and the result described."""

from collections.abc import Hashable, Mapping
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from plausibly.aggregation._answers import with_answers
from plausibly.aggregation._arguments import check_held, settle
from plausibly.aggregation._contract import check_contract
from plausibly.aggregation._judged import judged, unjudged
from plausibly.aggregation.inferred_reliability import check_inferable, infer_reliability
from plausibly.aggregation.on_disk import as_file, as_store, fingerprint_of
from plausibly.aggregation.registry import AnyModel
from plausibly.base.arviz import Posterior
from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError, show
from plausibly.base.progress import logged
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.usual_models import are_ratings, usual_model
from plausibly.data.predictions import line_up, named_predictions, with_predicted
from plausibly.families import Settled
from plausibly.posterior import check_path, load

_OF_RECOMMENDED = {"prior_kappa", "threshold"}  # options that name no model
_INFERRED = {"unranked", "concentration", "draws", "chains", "warmup"}  # what reliability="infer" accepts


@judged
def aggregate(
    annotations: Annotations | Scores,
    model: AnyModel | None = None,
    *,
    reliability: float | Literal["infer"] | None = None,
    predictions: Mapping[Hashable, Any] | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    engine: Literal["auto", "exact", "nuts", "gibbs", "point", "ml"] = "auto",
    seed: int = 0,
    progress: bool = True,
    out: str | PathLike[str] | None = None,
    shard: int = 2000,
    fresh: bool = False,
    version: str | None = None,
    scheduler: Any = None,
    log_likelihood: bool = False,
    **options: Any,
) -> Posterior:
    r"""Infer the plausibilities of every case from its annotations.

    Parameters
    ----------
    annotations
        N cases over K classes, or scores of N cases.
    model
        Aggregation model. A model that is named has the defaults of its source. Without a name and without any option
        of a model, labels are aggregated by ``"dirichlet-categorical"`` and rankings by ``"plackett-luce"`` as we
        recommend: every annotation counts once (reliability 1), and the prior is learned, from the ``predictions`` if
        there are any, else from all annotations. With ``predictions``, scores become labels, up to the ``threshold`` or
        above it. The models are ``"plackett-luce"`` and ``"prirn"`` for rankings,
        ``"dirichlet-categorical"`` for single labels, and the point estimates ``"irn"``, ``"plackett-luce-ml"`` and
        ``"majority-vote"``; ``"dawid-skene"`` and ``"one-coin"`` (single labels by named annotators, one true class per
        case) and ``"common-confusion"`` (the same with annotators who are alike and may be anonymous);
        ``"ordinal-scores"`` (the default for scores with at most 21 distinct values) or ``"normal-scores"`` (for
        others); or your own :class:`plausibly.Model`, or a NumPyro program for one case (see :mod:`plausibly.models`).
        A program without a declaration has reliability 1 and concentration 1, is sampled by NUTS, and its point
        estimate is the mean of the draws.
    reliability
        Reliability :math:`\gamma > 0`: how far to trust the annotators. A model that is named has 3 if it is
        Plackett-Luce, 30 if PrIRN, and 1 otherwise. ``"infer"`` estimates it
        from the data; :func:`plausibly.infer_reliability` has more options.
    predictions
        Scores of classifiers as evidence on the plausibilities: a mapping from their names to arrays (case, class) or
        files, as for :func:`plausibly.evaluate`. Give every classifier that will be evaluated: one that is left out is
        underrated. The classifiers must not have seen these annotations.
    draws, chains, warmup
        Number of draws kept per chain (250), number of chains (4), and number of warm-up trajectories or sweeps per
        chain (300; NUTS and Gibbs only; 1,000 with ``reliability="infer"``). NUTS keeps every third trajectory, or
        every fourth if a case has only two slots (a slot is a named class, or the remainder). Gibbs keeps every third
        sweep for Plackett-Luce, and fewer at reliabilities above 3, down to every 16th; every sixth for
        ``"ordinal-scores"``, every tenth for ``"one-coin"`` and ``"common-confusion"``, and every 16th
        for ``"dawid-skene"``.
    engine
        Engine: ``"exact"`` for independent draws where the posterior has a closed form, ``"nuts"``, ``"gibbs"`` for
        Plackett-Luce with ``mode="power"`` and an integer reliability, for models of one true class and for
        ``"ordinal-scores"``, ``"point"`` and ``"ml"`` for models without draws. ``"auto"`` uses exact draws
        wherever the posterior has a closed form, Gibbs for models of one true class and ``"ordinal-scores"``,
        and NUTS elsewhere, except for Plackett-Luce with
        ``mode="power"``: there, the posterior has a closed form in cases whose annotators all chose from the same
        remaining classes, for example because each named one class; ``"auto"`` samples the other cases with the Gibbs
        sampler at integer reliabilities up to 10, where it mixes fast, and otherwise with NUTS.
    seed
        Random seed. The random numbers of a case are derived from the seed and the case's name. With NUTS and Gibbs,
        its draws may still differ between data sets, because they depend on the arrays that it is padded to.
        Under models that learn from all cases, its posterior differs, too.
    progress
        Whether to show progress.
    out
        File or folder to write the posterior to. A name that ends in ``.nc`` is a netCDF file, written at the end. Any
        other name, such as ``posterior.zarr``, is a Zarr folder, written in shards of cases: only the draws of one
        shard are in memory, and after an interruption the same call continues with the missing shards. Names and
        annotations of all cases stay in memory, about 600 bytes for a case with five annotators. The returned draws
        stay on disk. An existing posterior is returned if data, arguments, versions, source and settings are the same;
        otherwise a Zarr folder, or a netCDF file of other annotations, is refused, and another netCDF file overwritten.
        Only one process at a time may write to a folder; this is not checked.
    shard
        Number of cases in a shard. Posteriors of scores are not split into shards but written whole, to a netCDF file.
        Models of one true class first sample the parameters that all cases share, and store every finished chain in the
        folder.
    fresh
        Whether to start over and ignore the contents of ``out``.
    version
        Version of your own program; a posterior in ``out`` is reused only if its version is the same. By default
        the program's code and the values that it captures; what it uses of a helper module that it imports whole
        is not seen.
    scheduler
        A ``dask.distributed.Client``, or the address of a Dask scheduler, whose workers compute the shards. They need
        the same packages as this process, but not its disk. Draws depend neither on the number of workers nor on
        whether some are lost. Without ``out``, all draws are returned in memory.
    log_likelihood
        Whether to also store the log likelihoods in ``out``, which ``arviz.loo`` needs, and which take at least as much
        space as the draws. The returned posterior always has them.
    **options
        Options of the model, of its prior and of the predictions, those below and those that your own model declares.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        Posterior of the plausibilities, see :mod:`plausibly.posterior`. If it was sampled by Markov chains, there are
        also the groups ``sample_stats`` and ``convergence`` (one value per case; see :mod:`plausibly.diagnostics`).
        Exact draws have no trajectories (zero steps, energy 0); the attribute ``exact`` is the number of cases with
        such draws. The group ``log_likelihood`` has one value per annotation and draw; it is computed when it is read,
        for example by ``arviz.loo``. Where annotations enter the posterior by a power (a reliability other than 1), or
        have no probability (weights of ranks, ``unranked="ignore"``), it is called ``pseudo_log_likelihood``, which
        ArviZ refuses, as units differ; :func:`compare_models` compares all. A model without draws gives one chain of
        one draw, its point estimate. A posterior of scores also has ``mean`` and ``variance`` of each case's scores
        (not with NUTS) and, in ``constant_data``, the exact ``score_certainty``: the posterior probability that a score
        is at most the threshold, or that it is above, whichever is greater. The posterior of a model of one true class
        has the attribute ``assumes``. It also has the variables of the model's :class:`plausibly.TrueClass`, with their
        diagnostics in the group ``shared_convergence``; its plausibilities are probabilities that a class is the true
        one.

    Other Parameters
    ----------------
    mode
        Meaning of reliability in Plackett-Luce: every annotation counts :math:`\gamma` times (``"power"``, the
        default), or annotators draw with weights :math:`\lambda^\gamma` (``"temper"``).
    unranked
        Prior for the m unnamed classes of a case in Plackett-Luce: together they get the prior of one class
        (``"lumped"``, the default) or of m classes (``"exact"``), or they are left out (``"ignore"``). With
        ``mode="temper"`` they always compete as one class with weight :math:`\lambda^\gamma`, and ``"exact"`` affects
        the prior only.
    ties
        Weight of tied classes in PrIRN and IRN: the weight of their rank is split among them (``"split"``, the
        default), or each gets the full weight (``"full"``).
    concentration
        Prior concentration :math:`\alpha` of each class. By default 0.01 for PrIRN and 1 for other models.
    class_prior
        Prior of the plausibilities over classes: equal for all classes (``"uniform"``, the default of a model that is
        named without predictions); learned from all cases, either one Dirichlet distribution for all of them
        (``"learned"``), or one for each case from what classifiers say of it (``"predictions"``, the default with
        ``predictions``; see :mod:`plausibly.priors`); or learned from other cases (a
        :class:`plausibly.priors.PredictionsPrior`). With a learned
        prior, the concentration is inferred as well, and unnamed classes that are likely are modelled one by one. NUTS
        accepts each of them, and so do your own programs and models with a concentration, if they use it.
        Models of one true class accept ``"uniform"`` and ``"predictions"``, under which each class has its own
        probability of being true in each case, before its labels are known.
    logits
        Classifiers whose predictions are logits, by name, or True for all, as for :func:`plausibly.evaluate`. (Scores
        of which any is negative count as logits, too.)
    extra
        What to do with predictions of cases that are not annotated: refuse or ignore them, or include these cases in
        the posterior (``"include"``). Their plausibilities follow from the predictions alone, so the annotated cases
        must have been chosen at random, or by these predictions. Predictions must name their cases; for arrays, add the
        names to the annotations with :meth:`plausibly.Annotations.with_cases`.
    prior_kappa
        Prior median of the concentration :math:`\kappa` of a learned prior, ``"learned"`` or ``"predictions"``; the
        standard deviation of its logarithm is 1.5. By default e, about 2.7. A smaller value means that experts agree
        more in a case. If most cases have one label, labels cannot show this, and :func:`plausibly.evaluate` states
        accuracies only if a value is given: their spread is then that of this prior.
    difficulty
        Difficulty of cases under models of one true class: some may be unclear and look like a mixture of classes, to
        annotators and in truth (``"by-case"``, the default), or all are equally hard (``"same"``).
    annotator_groups
        Annotators who may err together, such as language models (``"dawid-skene"``, ``"one-coin"``, raters who differ):
        a table with the columns annotator and group, by its path. Or a mapping, from groups to annotators or back.
        The difficulty of models of one true class is then by case.
    threshold
        Score that separates the two classes: the first class is for scores up to the threshold, the second for scores
        above it. Required for scores, unless raters of ``"ordinal-scores"`` differ: without a threshold, each of up to
        20 values is then a class.
    raters
        Whether the raters of ``"ordinal-scores"`` or ``"normal-scores"`` are ``"alike"`` (the default where the model
        is named), or ``"differ"`` in severity and spread, inferred from all cases; see
        :func:`plausibly.models.ordinal_ratings` and :func:`plausibly.models.normal_ratings`. Without a model and a
        threshold, scores of 3 to 20 values by named raters are ordinal, and raters differ.
    case_groups
        Groups of cases, such as systems and documents, whose ratings may be higher or lower where raters differ: a
        table with a column ``case`` and a column for each, or its path. Or a mapping from a name to the group of each
        case (in the order of the cases, or a mapping from case to group). Through them, raters who share no
        case are compared.
    prior
        Parameters :math:`(m, \kappa, a, b)` of the normal-inverse-gamma prior that all cases of scores share, see
        :class:`plausibly.case.NormalInverseGamma`. By default those that maximise the marginal likelihood of all
        scores, each counted once whatever the reliability.

    Raises
    ------
    ArgumentError
        If an argument is out of range, the model does not accept it, or ``out`` holds another posterior.
    AnnotationError
        If the model does not accept this kind of annotations, or a case without annotations.
    PredictionError
        If predictions do not match the cases or classes, or do not name the cases to include.
    FileError
        If ``out`` cannot be written or is damaged.
    ClusterError
        If the cluster cannot be reached or fails, or its workers have other package versions.

    Warns
    -----
    ConvergenceWarning
        If chains did not converge: in which cases, and what helps.
    PlausiblyWarning
        If severities of raters who differ cannot be told from what their cases, or groups of cases, add.

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 2.3.

    Examples
    --------
    >>> annotations = Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]])
    >>> posterior = aggregate(annotations, "dirichlet-categorical", draws=1000, seed=1, progress=False)
    >>> posterior["posterior"]["plausibility"].mean(("chain", "draw")).astype(float).values.round(1).tolist()
    [0.6, 0.4, 0.8, 0.2]
    """
    options = {name: value for name, value in options.items() if value is not None}
    logits, extra = options.pop("logits", False), options.pop("extra", "refuse")
    if predictions is None and logits:
        raise ArgumentError("logits marks predictions, but none were given: leave it out, or give predictions.")
    predictions = None if predictions is None else named_predictions(predictions, logits)
    recommended = model is None and reliability is None and engine == "auto" and options.keys() <= _OF_RECOMMENDED
    if recommended and predictions and isinstance(annotations, Scores):  # models of scores have no such prior
        annotations = annotations.split(options.pop("threshold", None))
    if extra == "include":
        annotations = with_predicted(annotations, predictions or {})
    elif extra != "refuse" and predictions:
        predictions = {name: line_up(source, annotations, extra) for name, source in predictions.items()}
    settings = {"predictions": predictions, "draws": draws, "chains": chains, "warmup": warmup}
    given = options | {name: value for name, value in settings.items() if value is not None}
    if isinstance(reliability, str) and reliability == "infer":
        model = "plackett-luce" if model is None else model
        check_inferable(model, given.pop("mode", None))
        refused = {"engine": None if engine == "auto" else engine, "out": out, "scheduler": scheduler}
        given |= {name: value for name, value in refused.items() if value is not None}
        if "predictions" in given:
            raise ArgumentError(
                "reliability='infer' does not take predictions yet, but predictions="
                f"{show(list(given['predictions']))} were given: leave one of the two out."
            )
        for key in given.keys() - _INFERRED:
            raise ArgumentError(
                f"reliability='infer' fits one model to all cases, which does not accept {key}={show(given[key])}: "
                "leave it out, and save the posterior afterwards if needed."
            )
        return unjudged(infer_reliability)(annotations, model, **given, seed=seed, progress=progress)
    given["reliability"] = reliability
    if model is None:
        model = usual_model(annotations)
        if given.get("threshold") is None and predictions is None and are_ratings(annotations):
            given.setdefault("raters", "differ")
        if recommended and "threshold" not in given and isinstance(annotations, Annotations):
            given |= {"reliability": 1.0, "class_prior": "learned" if predictions is None else "predictions"}
    settled = settle(annotations, model, engine=engine, seed=seed, **given)
    if version is not None and settled.model.built_in:
        raise ArgumentError(f"version is for your own program, but {settled.model.name} was named: leave it out.")
    settled = check_contract(annotations.annotated, settled)
    if settled.model.of_scores and scheduler is not None:
        raise ArgumentError(
            f"{settled.model.name} fits one model to all cases, which has no shards, but scheduler was given: leave "
            "it out."
        )
    check_whole("shard", shard, 1)
    if out is not None:
        check_path(out)
    in_shards = out is not None and Path(out).suffix != ".nc"
    if in_shards and settled.model.of_scores:
        raise ArgumentError(
            f"a posterior of {settled.model.name} is written whole, to a netCDF file, but out={str(out)!r} was "
            "given: let the name end in .nc."
        )
    check_held(settled, annotations, min(shard, annotations.n_cases) if in_shards else annotations.n_cases, in_shards)
    options = {"shard": shard, "progress": progress, "scheduler": scheduler, "log_likelihood": log_likelihood}

    def complete(posterior: Posterior, now: bool = False) -> Posterior:
        posterior = with_answers(posterior, annotations, settled)
        return settled.family.log_likelihood(posterior, annotations, settled, progress=progress, now=now)

    def infer() -> Posterior:
        if scheduler is None:
            return _infer_whole(annotations, settled, progress=progress, point="later")
        with TemporaryDirectory(prefix="plausibly-") as folder:
            as_store(Path(folder) / "posterior.zarr", {}, False, annotations, settled, **options)
            return load(Path(folder) / "posterior.zarr")

    with logged(f"Fitting {settled.model.name} to {annotations.n_cases:,} cases"):
        if out is None:
            options["log_likelihood"] = False
            return complete(infer())
        fingerprint = fingerprint_of(annotations, settled, seed, model, version)
        fingerprint |= {"log_likelihood": True} if log_likelihood else {}
        if in_shards:
            as_store(Path(out), fingerprint, fresh, annotations, settled, **options)
            return complete(load(out, lazy=True))
        whole = (lambda: complete(infer(), now=True)) if log_likelihood else infer
        return complete(as_file(Path(out), fingerprint, fresh, whole))


def refit(
    annotations: Annotations, model: AnyModel, *, engine: str = "auto", seed: int, progress: bool, **given: Any
) -> Posterior:
    """Aggregate for the draws only, without log likelihoods and with the mean of the draws as the point estimate.

    This saves time when thousands of copies of cases are sampled. Arguments are those of :func:`aggregate`.
    """
    settled = settle(annotations, model, engine=engine, seed=seed, **given)
    settled = check_contract(annotations, settled)
    return _infer_whole(annotations, settled, progress=progress, point="mean")


def _infer_whole(annotations: Annotations | Scores, settled: Settled, *, progress: bool, point: str) -> Posterior:
    """Posterior of all cases, in memory."""
    settled = settled.family.learn(annotations, settled, progress=progress)
    posterior = settled.family.draw(annotations, settled, progress=progress, point=point)
    posterior = posterior if settled.shared is None else settled.shared.added_to(posterior)
    return with_answers(posterior, annotations, settled)

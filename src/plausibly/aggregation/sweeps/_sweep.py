"""``sweep``: the front door."""

from collections.abc import Hashable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from jax.typing import ArrayLike

from plausibly.aggregation._variants import Variants
from plausibly.aggregation.sweeps._plan import Folder, Plan
from plausibly.aggregation.sweeps.runs import Sweep
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.checks import check_whole
from plausibly.base.errors import FileError, reason, renamed
from plausibly.base.progress import tell
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.predictions import Marked
from plausibly.evaluation.metrics import Metrics
from plausibly.posterior import check_path


@renamed(groups="clusters")
def sweep(
    annotations: Annotations | Scores,
    predictions: Mapping[str, Any],
    models: Variants,
    *,
    k: int | Sequence[int] | None = None,
    sizes: int | Sequence[int] | None = None,
    risks: Any = None,
    metrics: Metrics = None,
    logits: Marked = False,
    ordered: bool = False,
    positive: str | None = None,
    weights: ArrayLike | None = None,
    clusters: Sequence[Hashable] | Mapping[str, Hashable] | None = None,
    replicates: int = REPLICATES,
    ci_prob: float = CI_PROB,
    by: Any = None,
    intersections: bool = False,
    break_ties: Literal["order", "random"] = "order",
    extra: Literal["refuse", "ignore", "include"] = "refuse",
    ties: Literal["split", "full"] | None = None,
    mode: Literal["power", "temper"] | None = None,
    unranked: Literal["lumped", "exact", "ignore"] | None = None,
    concentration: float | None = None,
    threshold: float | None = None,
    prior: Sequence[float] | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    seed: int = 0,
    progress: bool = True,
    out: str | PathLike[str] | None = None,
    shard: int = 2000,
    fresh: bool = False,
    scheduler: Any = None,
) -> Sweep:
    """Aggregate with every model at each of its reliabilities, and evaluate.

    All arguments are checked before the first model is run.

    Parameters
    ----------
    annotations
        N cases over K classes, or scores of N cases, which a threshold turns into two classes.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`.
    models
        Reliabilities by model, such as ``{"plackett-luce": (1, 3, 10), "prirn": (10, 30, 100)}``; None for the usual
        reliabilities of a model, or for a model without any. A model is a name, a :class:`plausibly.Model` or a NumPyro
        program. Alternatively, arguments of :func:`plausibly.aggregate` by label, such as
        ``{"sharp": {"model": "plackett-luce", "reliability": (1, 3), "mode": "temper"}}``.
    k, sizes, risks, metrics, logits, ordered, positive, weights, clusters, replicates, by, intersections, break_ties
        Arguments of :func:`plausibly.evaluate`. Metrics that are named are computed besides those of lists. Scores of
        ordered classes become grades, see :meth:`plausibly.annotations.Scores.grades`, and need no threshold. Weights
        must be one per case, (case,), since runs differ in their draws.
    ci_prob
        Probability of all intervals, as for :func:`plausibly.evaluate`.
    extra
        Argument of :func:`plausibly.evaluate`. With ``extra="include"``, cases that have
        predictions and no annotations are evaluated, too, see :func:`plausibly.aggregate`; every model then needs
        ``class_prior="predictions"``.
    ties, mode, unranked, concentration, prior, draws, chains, warmup
        Arguments of :func:`plausibly.aggregate`, each passed to the models that accept it.
    threshold
        Score that separates the two classes, as for :func:`plausibly.aggregate`; of annotations that are no scores, the
        argument of :func:`plausibly.evaluate`.
    seed
        Random seed, the same for all runs.
    progress
        Whether to show progress (bars on a terminal or in a notebook, elsewhere lines on standard error) and to name
        the posteriors that are reused.
    out
        Folder for the posterior of every run, ``posterior-prirn-30.nc`` and so on; created if needed. If there are more
        cases than fit in one shard, a posterior is a Zarr folder, ``posterior-prirn-30.zarr``, written in shards. When
        the same call is repeated, for example after an interruption, it reuses the posteriors in the folder. A
        posterior with other data, arguments, seed or versions (for a Zarr folder, also with other shards) is sampled
        again and replaced. A posterior that an earlier run left in the other format is removed. A file or folder
        with that name that is not a posterior is refused.
    shard
        Number of cases in a shard, as for :func:`plausibly.aggregate`.
    fresh
        Whether to sample again instead of reusing posteriors.
    scheduler
        A ``dask.distributed.Client``, or the address of a Dask scheduler, whose workers sample shards and evaluate
        blocks of cases, as for :func:`plausibly.aggregate`. (Scores, whose cases share a prior, are sampled in this
        process.)

    Returns
    -------
    Sweep
        Its ``metrics`` and ``certainty`` are tidy tables, ``dataset`` has the metrics as arrays, ``rankings`` shows
        where the order of the classifiers changes, and ``runs`` has the rest.

    Raises
    ------
    ArgumentError
        If an argument is out of range, two runs have the same label, or no model accepts an argument.
    FileError
        If ``out`` cannot be written.
    ClusterError
        If the cluster cannot be reached or fails, or its workers have other package versions.
    PlausiblyError
        If annotations, predictions or risks break a rule.

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 3.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b"]], [["b"]]], [[["a"]], [["a"]]]] * 2)
    >>> scores = {"A": np.array([[0.9, 0.1], [0.8, 0.2]] * 2), "B": np.array([[0.4, 0.6], [0.7, 0.3]] * 2)}
    >>> swept = sweep(annotations, scores, {"prirn": (10, 100), "irn": None}, progress=False)
    >>> [run.label for run in swept.runs], list(swept.metrics.columns[:4])
    (['prirn@10', 'prirn@100', 'irn'], ['classifier', 'model', 'reliability', 'metric'])
    """
    given = {"ties": ties, "mode": mode, "unranked": unranked, "concentration": concentration}
    given |= {"prior": prior, "draws": draws, "chains": chains, "warmup": warmup}
    asked = {"k": k, "sizes": sizes, "risks": risks, "metrics": metrics, "weights": weights, "break_ties": break_ties}
    asked |= {"clusters": clusters, "replicates": replicates, "by": by, "intersections": intersections}
    asked |= {
        "ci_prob": ci_prob,
        "extra": extra,
        "positive": positive,
        "threshold": threshold,
        "logits": logits,
        "ordered": ordered,
    }
    plan = Plan.of(annotations, predictions, models, **asked, seed=seed, **given)
    folder = None
    if out is not None:
        check_path(out)
        check_whole("shard", shard, 1)
        folder = Folder(Path(out), int(shard), fresh=fresh)
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{out} cannot be written ({reason(error)}): choose another place.") from error
    say = tell if progress else lambda text: None
    return plan.sweep(list(plan.runs(folder, progress=progress, say=say, scheduler=scheduler)))

"""``sweep``: the front door."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from jax.typing import ArrayLike

from plausibly.annotations import Annotations, Scores
from plausibly.metrics import Metric
from plausibly.metrics._user import Function
from plausibly.posterior import check_path
from plausibly.sweeps._plan import Models, Plan
from plausibly.sweeps._runs import Sweep, posterior_name


def sweep(
    annotations: Annotations | Scores,
    predictions: Mapping[str, Any],
    models: Models,
    *,
    k: int | Sequence[int] | None = None,
    sizes: int | Sequence[int] | None = None,
    risks: Any = None,
    metrics: Mapping[str, Metric | Function] | None = None,
    weights: ArrayLike | None = None,
    break_ties: Literal["order", "random"] = "order",
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
    """Aggregate and evaluate with every model at each of its reliabilities.

    Everything that can be wrong with the arguments is found before the first model is run.

    Parameters
    ----------
    annotations
        N cases over K classes, or scores of N cases, which a threshold parts into two classes.
    predictions
        Scores of each classifier by its name, as for :func:`plausibly.evaluate`.
    models
        Reliabilities by model, such as ``{"plackett-luce": (1, 3, 10), "prirn": (10, 30, 100)}``; None for a model's
        usual ones, or for a model that has none. A model is a name or a NumPyro program.
    k
        Lengths of the classifiers' lists; by default 1, 2 and 3, as far as there are so many classes.
    sizes
        Sizes of the sets whose annotation certainty to report, as for :func:`plausibly.evaluate`.
    risks
        Risk level of each class, see :func:`plausibly.read_risks`.
    metrics
        Metrics of your own by name, as for :func:`plausibly.evaluate`.
    weights
        How much each case counts, (case,), as for :func:`plausibly.evaluate`.
    break_ties
        Equal scores, and equal plausibilities, in class order (``"order"``) or at random (``"random"``): what
        :func:`plausibly.evaluate` calls ``ties``.
    ties, mode, unranked, concentration, threshold, prior, draws, chains, warmup
        As for :func:`plausibly.aggregate`; each goes to those of the models that have a use for it.
    seed
        Of all random numbers; the same for all runs.
    progress
        Show bars.
    out
        A folder for the posterior of every run, ``posterior-prirn-30.nc`` and so on; made if it does not exist. Draws
        stay in these files, and nothing is lost: after an interruption, the same call goes on with the shards and the
        runs that are finished, which it keeps in a folder ``sweep.parts`` there. Annotations, predictions and all other
        arguments have to be the same then; programs and metrics of your own are compared by their code.
    shard
        Cases in a shard, as for :func:`plausibly.aggregate`.
    fresh
        Start over, and forget what an interrupted call has finished.
    scheduler
        A ``dask.distributed.Client``, or the address of a Dask scheduler, whose workers sample the shards and evaluate
        them, as for :func:`plausibly.aggregate`. (Scores, whose cases share a prior, are sampled here.)

    Returns
    -------
    Sweep
        Its ``metrics`` and ``certainty`` are tidy tables, ``dataset`` has the metrics as arrays, ``rankings`` says
        where the order of the classifiers changes, ``runs`` hold the rest.

    Raises
    ------
    ArgumentError
        If an argument is out of range, a model is there twice with one reliability, or no model has a use for an
        argument.
    FileError
        If ``out`` cannot be written.
    ClusterError
        If the cluster cannot be reached or fails, or its workers have other versions than this process.
    PlausiblyError
        If annotations, predictions or risks break a rule.

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 3.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b"]], [["b"]]], [[["a"]], [["a"]]]])
    >>> scores = {"A": np.array([[0.9, 0.1], [0.8, 0.2]])}
    >>> swept = sweep(annotations, scores, {"prirn": (10, 100), "irn": None}, k=1, progress=False)
    >>> [run.label for run in swept.runs], list(swept.metrics.columns[:4])
    (['prirn@10', 'prirn@100', 'irn'], ['classifier', 'model', 'reliability', 'metric'])
    """
    given = {"ties": ties, "mode": mode, "unranked": unranked, "concentration": concentration}
    given |= {"threshold": threshold, "prior": prior, "draws": draws, "chains": chains, "warmup": warmup}
    asked = {"k": k, "sizes": sizes, "risks": risks, "metrics": metrics, "weights": weights, "break_ties": break_ties}
    plan = Plan.of(annotations, predictions, models, **asked, seed=seed, **given)
    if out is None:
        return plan.sweep([run for run, _ in plan.runs(progress=progress, scheduler=scheduler)])
    check_path(out)
    work = plan.work_in(Path(out) / "sweep.parts", shard=shard, fresh=fresh, keep=True)
    runs = []
    for run, made in plan.runs_in(work, progress=progress, scheduler=scheduler):
        made.give(Path(out) / posterior_name(run.label))
        runs.append(run)
    work.remove()
    return plan.sweep(runs)

"""``evaluate``: arguments checked, the work divided, and the result named."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import xarray as xr
from jax.typing import ArrayLike

from plausibly._arviz import Posterior
from plausibly._progress import Progress
from plausibly.annotations import read_risks
from plausibly.cluster import Cluster
from plausibly.errors import ArgumentError
from plausibly.evaluation._metrics import check_metrics, metric_digests
from plausibly.evaluation._ranges import Evaluation, Found, join
from plausibly.evaluation._slices import PAIRS, Source
from plausibly.evaluation._weights import RiskWeights, check_weights
from plausibly.fingerprint import data_digest, file_digest, surroundings
from plausibly.metrics import Metric
from plausibly.metrics._inputs import check_size, check_ties
from plausibly.metrics._risk import N_LEVELS
from plausibly.metrics._user import Function
from plausibly.posterior import COMPRESSION, annotations_of, check_path, opened, posterior_digest, reading
from plausibly.posterior._shards import Shards, check_shard, work_through
from plausibly.predictions import line_up, named_predictions

SIZES = (1, 2, 3)  #: of lists, and of the sets whose annotation certainty is reported, unless others are asked for


def evaluate(
    posterior: Posterior | str | PathLike,
    predictions: Mapping[str, Any],
    *,
    k: int | Sequence[int] | None = None,
    sizes: int | Sequence[int] | None = None,
    risks: Any = None,
    metrics: Mapping[str, Metric | Function] | None = None,
    weights: ArrayLike | None = None,
    ties: Literal["order", "random"] = "order",
    seed: int = 0,
    progress: bool = False,
    out: str | PathLike[str] | None = None,
    shard: int = 2000,
    fresh: bool = False,
    scheduler: Any = None,
) -> xr.Dataset:
    """Measure classifiers, and the annotations themselves, against draws of the plausibilities.

    Draws are read in slices of cases and never held dense: a posterior that does not fit into memory is given by the
    name of its file, or as :func:`plausibly.load` with ``lazy=True`` returns it. The work grows in proportion to draws,
    cases and classifiers. With ``out``, memory for draws, and for what is computed from them, is bounded by a shard;
    what is held of all cases are the annotations, the predictions (in ``.npy`` files, they stay there), and the results
    by case in single precision: about 100 bytes a case for each classifier.

    Parameters
    ----------
    posterior
        From :func:`plausibly.aggregate` or :func:`plausibly.load`, or a file of :func:`plausibly.save`.
    predictions
        Scores of each classifier by its name: an array (case, class), a data frame, or a path that
        :func:`plausibly.read_predictions` understands. It may be empty.
    k
        Lengths of the lists, each at most the number of classes; by default 1, 2 and 3, as far as there are so many.
    sizes
        Sizes of the sets whose annotation certainty to report; by default 1, 2 and 3, as far as there are so many
        classes.
    risks
        Risk level of each class, 0 (low), 1 or 2 (high), in any form that :func:`plausibly.read_risks` understands.
    metrics
        Metrics of your own by name: functions of one case's scores (class,) and plausibilities (class,), in JAX, to a
        number; or :class:`plausibly.metrics.Metric`, which says whether less is better. They need the plausibilities of
        single classes, and so take far longer than the others.
    weights
        How much each case counts, (case,), or how much in each draw, (draw, case): not negative. A pandas Series with
        names of cases for an index, or an xarray DataArray with a coordinate "case", goes by name. With weights that
        are the probability, or in each draw the fact, of belonging to a subgroup, results are those of the subgroup;
        see :func:`plausibly.evaluation.risk_weights`. In each draw a metric is the weighted mean over cases, NaN in a
        draw in which none has weight; at the point estimate a case weighs what it does on average.
    ties
        Equal scores, and equal plausibilities, in class order (``"order"``) or at random (``"random"``).
    seed
        Of the split of the remainder among the unnamed classes, and of random ties.
    progress
        Show a bar.
    out
        A file to write the results to (netCDF, which :func:`xarray.load_dataset` reads), in shards of cases, so that
        nothing is lost: after an interruption, the same call goes on with the shards that are finished, which it keeps
        beside the file in a folder of its name with ``.parts``, and ends with the same bytes. Posterior, predictions,
        metrics and all other arguments have to be the same then. Metrics of your own are compared by their code and by
        what it uses; a warning says of what that is not possible.
    shard
        Cases in a shard. Sums over cases are added up shard by shard, with ``out`` and without.
    fresh
        Start over, and forget what an interrupted call has finished.
    scheduler
        A ``dask.distributed.Client``, or the address of a Dask scheduler, whose workers evaluate the shards, as for
        :func:`plausibly.aggregate`: to the same bytes, with ``out`` and without. They are sent the draws and the
        predictions of their cases (4 bytes for each draw of a slot: 50 MB of 2,000 cases with six slots and 1,000
        draws), so they need neither the disk of this process nor the files.

    Returns
    -------
    xarray.Dataset
        For each k, with X one of ``accuracy``, ``set_accuracy``, ``overlap``, ``average_overlap``, ``coverage``,
        ``kendall_tau`` and ``spearman_footrule``: ``top{k}_X`` (classifier, draw), the mean over cases;
        ``top{k}_X_by_case`` (classifier, case), the mean over draws; ``top{k}_X_point`` (classifier), at the model's
        point estimate. The attribute ``better`` of the first says which way is better. Your own metrics likewise.

        ``annotation_certainty_{size}`` (case) and ``annotator_agreement`` (case), see
        :func:`plausibly.annotators.annotator_agreement`. With ``risks``: ``risk_certainty`` (case), the share of
        draws that agree on the risk of the most plausible class; ``risk_level_certainty`` (case), on the level of the
        greatest plausibility; ``risk_plausibility`` (case, risk_level), the mean over draws;
        ``expected_risk_mean``, ``_min`` and ``_max`` over draws (case). Of a posterior of scores: ``score_certainty``
        (case), the greater of the probabilities up to the threshold and above, averaged over the posterior.
        With ``weights``: ``case_weight``
        (case), the mean over draws.

        Draws are those of all chains, one after the other; ``chain`` says which they are of. Coverage splits the
        remainder among the classes that any of the classifiers lists: one more classifier gives the others' coverage
        other random numbers, of the same law.

    Raises
    ------
    ArgumentError
        If ``posterior`` is none, two classifiers share a name or one has none, ``k``, ``sizes`` or ``ties`` is out of
        range, weights do not fit or are negative, or a metric is no function of two vectors to a number or has the
        name of another.
    PredictionError
        If predictions do not fit the cases or classes, or are not finite.
    FileError
        If a file cannot be read, or ``out`` cannot be written.
    ClusterError
        If the cluster cannot be reached or fails, or its workers have other versions than this process.
    AnnotationError
        If ``risks`` do not fit the classes.

    References
    ----------
    Stutz et al. (2025), sections 2.4, 2.5 and 3.3, arXiv 2307.02191.

    Examples
    --------
    >>> from plausibly.annotations import Annotations, Slots
    >>> from plausibly.posterior import build_posterior
    >>> annotations = Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]])
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=[0.4, 0.6, 0], concentration=1.0)
    >>> results = evaluate(posterior, {"A": np.array([[0.2, 0.7, 0.1]])}, k=(1, 2))
    >>> results["top1_accuracy"].values.tolist(), results["top1_accuracy_point"].values.tolist()
    ([[0.0, 1.0]], [1.0])
    """
    named = named_predictions(predictions)
    from_file = isinstance(posterior, str | PathLike)
    if out is not None:
        check_path(out)
    check_shard(shard)
    with (
        nullcontext() if scheduler is None else Cluster(scheduler) as cluster,
        opened(posterior) if from_file else reading(posterior) as source,
        Progress(progress) as bars,
    ):
        annotations = annotations_of(source)
        n_classes = annotations.n_classes
        k = [size for size in SIZES if size <= n_classes] if k is None else _several(k)
        ks = list(dict.fromkeys(check_size("k", size, n_classes) for size in k))
        if not ks:
            raise ArgumentError("k must name the length of a list, but none was given: choose some, such as (1, 3).")
        sizes = [size for size in SIZES if size <= n_classes] if sizes is None else _several(sizes)
        sizes = list(dict.fromkeys(check_size("sizes", size, n_classes) for size in sizes))
        check_ties(ties)
        own = check_metrics({} if metrics is None else metrics, n_classes)
        levels = None if risks is None else np.asarray(read_risks(risks, annotations.classes))
        draws = Source(source, seed, PAIRS)
        if weights is None or isinstance(weights, RiskWeights):
            weighting = weights
        else:
            weighting = check_weights(weights, draws.n_draws, annotations.cases)
        scores = [line_up(given, annotations) for given in named.values()]
        constants = source["constant_data"]
        evaluation = Evaluation(
            draws,
            annotations,
            scores,
            certainty=constants["score_certainty"].values if "score_certainty" in constants else None,
            ks=ks,
            sizes=sizes,
            own=own,
            ties=ties,
            risks=levels,
            weights=weighting,
        )
        advance = bars.task("Evaluating", draws.n_cases, "cases")
        attrs = {name: source.attrs[name] for name in ("model", "reliability") if name in source.attrs}
        coords = {
            "classifier": np.array(list(named), dtype=str),
            "draw": np.arange(draws.n_draws),
            "chain": ("draw", np.repeat(np.arange(draws.n_chains), draws.draws_per_chain)),
            "case": annotations.cases,
        }
        if levels is not None:
            coords["risk_level"] = np.arange(N_LEVELS)

        def results(found: Found) -> xr.Dataset:
            # Coordinates first: written after what has them, they would be attached to each of it anew.
            empty = xr.Dataset(coords=coords, attrs=attrs | {"ties": ties, "seed": seed})
            return empty.assign(evaluation.variables(found))

        ranges = [slice(first, min(first + shard, draws.n_cases)) for first in range(0, draws.n_cases, int(shard))]
        usual = min(int(shard), draws.n_cases)

        def in_shards(shards: Shards) -> xr.Dataset:
            paths = work_through(
                shards,
                [cases.stop - cases.start for cases in ranges],
                lambda number: evaluation.range(ranges[number], usual).compute(),
                Found.write,
                advance,
                None if cluster is None else partial(cluster.compute, part, Found.write),
            )
            return results(join(map(Found.read, paths), draws.n_cases))

        def part(number: int) -> Callable[[], Found]:
            return evaluation.range(ranges[number], usual).loaded().compute

        if out is None and cluster is None:
            found = (evaluation.range(cases, usual).compute(advance) for cases in ranges)
            return results(join(found, draws.n_cases))
        if out is None:
            with TemporaryDirectory(prefix="plausibly-") as folder:
                return in_shards(Shards(Path(folder), {}))
        manifest = {
            "work": "evaluate",
            "posterior": file_digest(Path(posterior)) if from_file else posterior_digest(source),
            **{f"predictions of {name}": data_digest(values) for name, values in zip(named, scores, strict=True)},
            "k": ks,
            "sizes": sizes,
            "risks": None if levels is None else data_digest(levels),
            **metric_digests(own),
            "weights": None if weighting is None else weighting.digest(),
            "ties": ties,
            "seed": int(seed),
            "shard": int(shard),
            "surroundings": surroundings(),
        }
        shards = Shards(Path(out).with_name(f"{Path(out).name}.parts"), manifest, fresh=fresh)
        whole = in_shards(shards)
        shards.hand_over(shards.add(len(ranges), partial(write_results, whole), 2**16 + whole.nbytes), Path(out))
        return whole


def write_results(results: xr.Dataset, path: Path) -> None:
    """Write results as netCDF, compressed; the same results always give the same bytes."""
    encoding = {
        str(name): COMPRESSION
        for name, variable in results.variables.items()
        if variable.dtype.kind in "fiub" and variable.ndim and variable.size
    }
    results.to_netcdf(path, engine="h5netcdf", encoding=encoding)


def _several(numbers: int | Sequence[int]) -> Sequence[int]:
    return [numbers] if np.ndim(numbers) == 0 else list(numbers)

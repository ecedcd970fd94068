"""``aggregate``: arguments settled, the work divided, and the result described."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from plausibly._arviz import Posterior
from plausibly._progress import Progress
from plausibly.aggregation._arguments import settle
from plausibly.aggregation._infer import check_shares, infer_cases
from plausibly.aggregation._inferred_reliability import check_inferable, infer_reliability
from plausibly.aggregation._point_estimates import lay_out
from plausibly.aggregation._scores import aggregate_scores
from plausibly.annotations import Annotations, Scores
from plausibly.cluster import Cluster, Once
from plausibly.errors import ArgumentError, FileError, reason
from plausibly.fingerprint import code_digest, versions_text
from plausibly.inference import Program
from plausibly.posterior import check_path, load, save, slots_of
from plausibly.posterior._joined import aggregate_in_shards
from plausibly.posterior._shards import check_shard, write_whole
from plausibly.random_streams import case_keys


def aggregate(
    annotations: Annotations | Scores,
    model: str | Callable[..., None] = "plackett-luce",
    *,
    reliability: float | Literal["infer"] | None = None,
    mode: Literal["power", "temper"] | None = None,
    unranked: Literal["lumped", "exact", "ignore"] | None = None,
    ties: Literal["split", "full"] | None = None,
    concentration: float | None = None,
    threshold: float | None = None,
    prior: Sequence[float] | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    engine: Literal["auto", "exact", "nuts", "gibbs", "ml"] = "auto",
    seed: int = 0,
    progress: bool = True,
    out: str | PathLike[str] | None = None,
    shard: int = 2000,
    fresh: bool = False,
    scheduler: Any = None,
) -> Posterior:
    r"""Infer the plausibilities of every case from its annotations.

    Parameters
    ----------
    annotations
        N cases over K classes, or scores of N cases.
    model
        ``"plackett-luce"``, ``"prirn"``, ``"dirichlet-categorical"`` (single labels), or the point estimates
        ``"irn"``, ``"plackett-luce-ml"`` and ``"majority-vote"``; ``"normal-scores"`` for scores; or a NumPyro program
        of one case, see :mod:`plausibly.models`.
    reliability
        :math:`\gamma > 0`, how far the annotators are trusted. By default 3 for Plackett-Luce, 30 for PrIRN, 1 else.
        ``"infer"`` gives it a prior, see :func:`plausibly.infer_reliability`, which can do more.
    mode
        Plackett-Luce: every annotation counts :math:`\gamma` times (``"power"``, the default), or annotators draw with
        weights :math:`\lambda^\gamma` (``"temper"``).
    unranked
        Plackett-Luce: the classes that nobody named in a case are together one class (``"lumped"``, the default), m
        classes (``"exact"``), or do not exist (``"ignore"``). Under ``"temper"`` they compete as one class with weight
        :math:`\lambda^\gamma` in either case, and ``"exact"`` concerns the prior alone.
    ties
        PrIRN and IRN: tied classes share a rank's weight (``"split"``, the default) or each get it (``"full"``).
    concentration
        Prior shape :math:`\alpha` of each class. By default 0.01 for PrIRN, 1 else.
    threshold
        Scores: the two classes are scores up to it and scores above it. There is no default.
    prior
        Scores: :math:`(m, \kappa, a, b)` of the normal-inverse-gamma prior that all cases share, see
        :class:`plausibly.case.NormalInverseGamma`. By default those of the greatest marginal likelihood of all scores,
        each of which counts once, whatever the reliability.
    draws, chains, warmup
        Kept draws per chain (250), chains (4), and trajectories or sweeps of each chain before the first (300, NUTS and
        Gibbs only). NUTS keeps the last of every three trajectories, of every four if a case has two slots; Gibbs the
        last of every three sweeps, of more at a reliability above 3.
    engine
        ``"exact"`` for independent draws where the posterior is known, ``"nuts"``, ``"gibbs"`` for Plackett-Luce by
        ``"power"`` with a whole reliability, ``"ml"`` for maximum likelihood. ``"auto"`` takes the first of these that
        the model has; of Plackett-Luce by ``"power"`` it draws exactly those cases whose annotators all agree on what
        was left at each of their draws, for example because each of them names one class, and the others by NUTS.
    seed
        Of all random numbers. Every case has its own, derived from the seed and the case's name.
    progress
        Show bars.
    out
        A file to write the posterior to, in shards of cases, so that memory for draws is bounded by a shard and nothing
        is lost: after an interruption, the same call goes on with the shards that are finished, which it keeps beside
        the file in a folder of its name with ``.parts``. Of all cases, names and annotations are held: about 600 bytes
        a case of five annotators. The draws that are returned stay in the file. A program of your own is known again by
        its code and by what it uses; a warning says of what that is not possible.
    shard
        Cases in a shard. (Scores, whose cases share a prior, are written as a whole.)
    fresh
        Start over, and forget what an interrupted call has finished.
    scheduler
        A ``dask.distributed.Client``, or the address of a Dask scheduler, whose workers compute the shards. They need
        the same packages as this process, and not its disk. The file ends with the same bytes however many they are,
        and whichever of them are lost on the way. Without ``out``, all draws are returned in memory.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        See :mod:`plausibly.posterior`. Draws of a Markov chain carry ``sample_stats``, and a group ``convergence`` by
        case, see :mod:`plausibly.diagnostics`. Exact draws among them have no trajectories: zero steps, energy 0.
        ``log_likelihood`` is that of single annotations, unscaled by reliability. A model without draws gives one chain
        of one draw, its point estimate. A posterior of scores has ``mean`` and ``variance`` of each case's scores
        beside the plausibilities (not by NUTS, which keeps plausibilities alone), and in ``constant_data`` the exact
        ``score_certainty``: the greater of the posterior-averaged probabilities up to the threshold and above.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or the model has no use for it.
    AnnotationError
        If the annotations are not of the kind that the model takes.
    FileError
        If ``out`` cannot be written.
    ClusterError
        If the cluster cannot be reached or fails, or its workers have other versions than this process.

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
    settings: dict[str, Any] = {"draws": draws, "chains": chains, "warmup": warmup}
    if isinstance(reliability, str) and reliability == "infer":
        check_inferable(model, mode)
        useless = {"ties": ties, "threshold": threshold, "prior": prior, "engine": None if engine == "auto" else engine}
        for key, value in useless.items():
            if value is not None:
                raise ArgumentError(f"reliability='infer' has no use for {key}={value!r}: leave it out.")
        for key, value in {"out": out, "scheduler": scheduler}.items():
            if value is not None:
                raise ArgumentError(
                    f"reliability='infer' makes one model of all cases, which comes in no shards, but {key} was given: "
                    "leave it out, and save the posterior afterwards."
                )
        wanted = {"unranked": unranked, "concentration": concentration} | settings
        wanted = {key: value for key, value in wanted.items() if value is not None}
        return infer_reliability(annotations, **wanted, seed=seed, progress=progress)
    given = {"reliability": reliability, "mode": mode, "unranked": unranked, "ties": ties}
    given |= {"concentration": concentration, "threshold": threshold, "prior": prior} | settings
    automatic = engine == "auto"
    name, known, engine, arguments = settle(annotations, model, engine=engine, seed=seed, **given)
    described = _described(name, engine, seed, arguments)
    if isinstance(annotations, Scores):
        if scheduler is not None:
            raise ArgumentError(
                f"{name} makes one model of all scores, which comes in no shards, but scheduler was given: "
                "leave it out."
            )
        static = tuple((key, arguments[key]) for key in ("mode", "ties") if key in arguments)
        keys = case_keys(int(seed), annotations.cases)
        with Progress(progress) as bars:
            program = Program(known.program, static)
            found = aggregate_scores(annotations, program, engine, arguments, keys, described, bars)
        if not isinstance(model, str):
            check_shares(name, annotations, slots_of(found), found["posterior"]["plausibility"].values)
        if out is None:
            return found
        # Cases share a prior, which shards would not; and scores are quick.
        check_path(out)
        try:
            write_whole(partial(save, found), lambda path: Path(out), Path(out).parent)
        except OSError as error:
            raise FileError(f"{out} cannot be written ({reason(error)}): choose another place.") from error
        return load(out, lazy=True)

    slots, _ = lay_out(annotations, arguments)

    infer = partial(
        infer_cases,
        model=model if scheduler is None or isinstance(model, str) else Once(model),
        arguments=arguments,
        described=described,
        automatic=automatic,
        quantities=len(slots),
    )
    if out is None and scheduler is None:
        return infer(annotations, progress=progress)
    check_shard(shard)
    if out is not None:
        check_path(out)
    program = {}
    if out is not None and not isinstance(model, str):
        program = {"program": code_digest(model, f"the program {name}")}
    in_shards = partial(
        aggregate_in_shards,
        infer,
        annotations,
        slots,
        described | program,
        shard=int(shard),
        fresh=fresh,
        progress=progress,
    )
    with nullcontext() if scheduler is None else Cluster(scheduler) as cluster:
        if out is not None:
            return in_shards(Path(out), cluster=cluster)
        with TemporaryDirectory(prefix="plausibly-") as folder:
            path = Path(folder) / "posterior.nc"
            in_shards(path, cluster=cluster)
            return load(path)


def refit(
    annotations: Annotations,
    model: str | Callable[..., None],
    *,
    engine: str = "auto",
    seed: int,
    progress: bool,
    **given: Any,
) -> Posterior:
    """As :func:`aggregate`, for draws alone: without log likelihoods, and with the mean of the draws as point estimate.

    These take as long as sampling, and whoever samples thousands of copies of cases has no use for them.
    """
    name, _, used, arguments = settle(annotations, model, engine=engine, seed=seed, **given)
    return infer_cases(
        annotations,
        model=model,
        arguments=arguments,
        described=_described(name, used, seed, arguments),
        automatic=engine == "auto",
        quantities=len(lay_out(annotations, arguments)[0]),
        progress=progress,
        draws_alone=True,
    )


def _described(name: str, engine: str, seed: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"model": name, "engine": engine, "seed": int(seed)}
    described |= {key: value for key, value in arguments.items() if key not in ("concentration", "prior")}
    return described | {"arguments": json.dumps(arguments, sort_keys=True), "versions": versions_text()}

"""Draws of the plausibilities of all cases, ragged in their classes, as an ArviZ container.

Of K classes a case usually sees a handful. The variable ``plausibility`` in group ``posterior`` therefore has the
dimensions (chain, draw, slot): a *slot* is a case with a class that somebody named there, or a case with its
*remainder*, which stands for all classes that nobody named (``class_index`` −1, their number in ``n_classes``). Within
a case the slots sum to one. The remainder falls on its classes as Dirichlet(concentration · 1), and is split only when
somebody asks for single classes: :func:`dense` splits it in full, :func:`top_classes` as far as ranked lists need.

A posterior of scores has also the ``mean`` and the ``variance`` of each case's scores, (chain, draw, scored_case), and
in ``constant_data`` the ``score_certainty`` of each case.

The other groups: ``sample_stats`` and ``log_likelihood`` where the engine has them, ``observed_data`` (the annotations)
and ``constant_data`` (the model's point estimate, the names of the classes).
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from plausibly._arviz import Posterior, from_groups, to_groups
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError, FileError, PlausiblyError, reason
from plausibly.fingerprint import data_digest
from plausibly.metrics._inputs import check_break_ties, check_size
from plausibly.posterior._ranked_lists import rank_slots
from plausibly.posterior._seal import is_sealed, seal
from plausibly.posterior._split_remainder import dirichlet
from plausibly.posterior._trial import try_out
from plausibly.posterior._validation import check_fit, lost_variable
from plausibly.random_streams import Stream, Words, case_keys, generator, stream_words

REMAINDER_NAME = "(remainder)"
"""Class name of the slot that stands for all classes nobody named."""

COMPRESSION = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
_CHUNK = 2**18  # numbers that are compressed together
_GROUPS = ("posterior", "constant_data", "observed_data")
_ATTRIBUTES = ("n_classes", "concentration")


def build_posterior(
    plausibility: Float[np.ndarray, "chain draw slot"],
    annotations: Annotations,
    slots: Slots,
    *,
    point: Float[np.ndarray, " slot"],
    concentration: float,
    sample_stats: Mapping[str, np.ndarray] | None = None,
    log_likelihood: Float[np.ndarray, "chain draw annotation"] | None = None,
    convergence: xr.Dataset | None = None,
    by_case: Mapping[str, np.ndarray] | None = None,
    scores: Scores | None = None,
    certainty: Float[np.ndarray, " case"] | None = None,
    attrs: Mapping[str, Any] | None = None,
    named: bool = True,
) -> Posterior:
    """Join draws and annotations into an ArviZ container.

    Parameters
    ----------
    plausibility
        Draws; within a case the slots sum to one. A point mass has one chain and one draw.
    annotations
        What the draws were conditioned on.
    slots
        Cases and classes of the slots.
    point
        The model's point estimate.
    concentration
        Of the Dirichlet by which the remainder falls on its classes, for each class.
    sample_stats
        Arrays (chain, draw, case) by name, of engines that have them.
    log_likelihood
        Of every annotation.
    convergence
        Diagnostics by case, see :mod:`plausibly.diagnostics`.
    by_case
        Draws (chain, draw, case) of what else is inferred of each case, by name, such as the mean of its scores.
    scores
        What the annotations were made of by a threshold, if they were.
    certainty
        Of cases of scores: the greater of the posterior-averaged probabilities below and above the threshold.
    attrs
        Of the whole: strings and numbers as they are, everything else as JSON.
    named
        Whether every slot and every annotation carries its names: of millions of them, a gigabyte.

    Raises
    ------
    ArgumentError
        If an array's shape does not fit the slots, the cases or the annotations.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.5, 0.4, 0.1]]], np.float32)
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=draws[0, 0], concentration=1.0)
    >>> posterior["posterior"]["plausibility"].sizes["draw"]
    2
    """
    plausibility = np.asarray(plausibility, np.float32)
    n_chains, n_draws = _check_shape("plausibility", plausibility, (None, None, len(slots.case)))[:2]
    point = np.asarray(point, np.float32)
    _check_shape("point", point, (len(slots.case),))
    chain_draw = {"chain": np.arange(n_chains), "draw": np.arange(n_draws)}
    slot_coords = {"slot": np.arange(len(slots.case))}  # without an index, ArviZ 1 does not rank
    annotation_coords = {}
    if named:
        class_names = np.where(slots.is_remainder, REMAINDER_NAME, annotations.classes[slots.class_index])
        slot_coords |= {"case": ("slot", annotations.cases[slots.case]), "class_name": ("slot", class_names)}
        annotation_coords = {
            "case": ("annotation", annotations.cases[annotations.annotation_case]),
            "annotator": ("annotation", annotations.annotators[annotations.annotation_annotator]),
        }
    slot_coords |= {"class_index": ("slot", slots.class_index), "n_classes": ("slot", slots.n_classes)}
    groups = {
        "posterior": xr.Dataset(
            {"plausibility": (("chain", "draw", "slot"), plausibility)}, coords=chain_draw | slot_coords
        )
    }
    sizes = (n_chains, n_draws, annotations.n_cases)
    if by_case:
        # Along the slots "case" is a coordinate, so the dimension needs another name.
        for name, values in by_case.items():
            _check_shape(name, values, sizes)
            groups["posterior"][name] = ("chain", "draw", "scored_case"), np.asarray(values, np.float32)
        groups["posterior"] = groups["posterior"].assign_coords(scored_case=annotations.cases)
    if sample_stats:
        for name, values in sample_stats.items():
            _check_shape(name, values, sizes)
        groups["sample_stats"] = xr.Dataset(
            {name: (("chain", "draw", "case"), values) for name, values in sample_stats.items()},
            coords=chain_draw | {"case": annotations.cases},
        )
    if log_likelihood is not None:
        log_likelihood = np.asarray(log_likelihood, np.float32)
        _check_shape("log_likelihood", log_likelihood, (n_chains, n_draws, annotations.n_annotations))
        groups["log_likelihood"] = xr.Dataset(
            {"ranking" if scores is None else "score": (("chain", "draw", "annotation"), log_likelihood)},
            coords=chain_draw | annotation_coords,
        )
    if convergence is not None:
        groups["convergence"] = convergence.assign_coords(case=annotations.cases)
    groups["observed_data"] = _observed_data(annotations)
    if scores is not None:
        groups["observed_data"]["score"] = "annotation", scores.score
    groups["constant_data"] = xr.Dataset(
        {
            "point_plausibility": ("slot", point),
            "case_index": ("slot", slots.case),
            "class_names": ("class_id", annotations.classes),
        },
        coords=slot_coords,
    )
    if certainty is not None:
        _check_shape("certainty", certainty, (annotations.n_cases,))
        groups["constant_data"]["score_certainty"] = "scored_case", np.asarray(certainty, np.float32)
    described = {name: _attribute(value) for name, value in (attrs or {}).items()}
    return from_groups(
        groups, described | {"concentration": float(concentration), "n_classes": int(annotations.n_classes)}
    )


def check_posterior(posterior: object, *, of_plausibilities: bool = True) -> None:
    """Refuse what :func:`build_posterior` did not make, or what lacks the groups of any posterior of this package.

    Raises
    ------
    ArgumentError
        If it is none, or lacks a group or an attribute.
    """
    if not isinstance(posterior, Posterior):
        raise ArgumentError(
            f"a posterior of plausibly.aggregate or plausibly.load is needed, but {_show(posterior)} was given: "
            "aggregate annotations, or load a file of plausibly.save."
        )
    groups = to_groups(posterior)
    lost = [name for name in _GROUPS if name not in groups]
    lost += [name for name in _ATTRIBUTES if of_plausibilities and name not in posterior.attrs]
    if of_plausibilities and not lost and (name := lost_variable(groups)):
        lost.append(name)
    if lost:
        raise ArgumentError(
            f"a posterior of plausibly.aggregate or plausibly.load is needed, but this one has no {lost[0]!r}: keep "
            "its groups and attributes when you change it."
        )


def slots_of(posterior: Posterior) -> Slots:
    """Recover the slots over which the plausibilities of a posterior run.

    Raises
    ------
    ArgumentError
        If it is no posterior, or they do not fit its draws, cases and classes.
    """
    check_posterior(posterior)
    groups = to_groups(posterior)
    constants = groups["constant_data"]
    case = np.asarray(constants["case_index"].values, np.int32)
    n_cases = groups["observed_data"].sizes["case"]
    slots = Slots(
        case=case,
        class_index=np.asarray(constants["class_index"].values, np.int32),
        n_classes=np.asarray(constants["n_classes"].values, np.int32),
        start=np.searchsorted(case, np.arange(n_cases + 1)).astype(np.int64),
    )
    check_fit(groups, posterior.attrs, slots)
    return slots


def annotations_of(posterior: Posterior) -> Annotations:
    """Recover the annotations that a posterior was conditioned on.

    Raises
    ------
    ArgumentError
        If it is no posterior, or has lost some of them.
    AnnotationError
        If what is there breaks the rules of annotations.
    """
    check_posterior(posterior)
    try:
        return _annotations_of(posterior)
    except PlausiblyError:
        raise
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"this posterior has lost some of its annotations ({reason(error)}): load the file that was saved, or "
            "aggregate again."
        ) from error


def _annotations_of(posterior: Posterior) -> Annotations:
    observed = posterior["observed_data"]
    return Annotations(
        cases=case_names(posterior),
        classes=np.asarray(posterior["constant_data"]["class_names"].values, dtype=str),
        annotators=np.asarray(observed["annotator"].values, dtype=str),
        anonymous=bool(observed.attrs["anonymous"]),
        annotation_case=np.asarray(observed["annotation_case"].values, np.int32),
        annotation_annotator=np.asarray(observed["annotation_annotator"].values, np.int32),
        entry_annotation=np.asarray(observed["entry_annotation"].values, np.int32),
        entry_class=np.asarray(observed["entry_class"].values, np.int32),
        entry_block=np.asarray(observed["rank"].values - 1, np.int16),
    )


def scores_of(posterior: Posterior) -> Scores:
    """Recover the scores that a posterior was conditioned on.

    Raises
    ------
    ArgumentError
        If it was conditioned on annotations of another kind.
    """
    annotations = annotations_of(posterior)
    observed = posterior["observed_data"]
    if "score" not in observed:
        raise ArgumentError(
            f"a posterior of scores is needed, but this one, of {posterior.attrs.get('model')}, is of partial "
            "rankings: aggregate scores, with a threshold."
        )
    return Scores(
        annotations.cases,
        annotations.annotators,
        annotations.anonymous,
        annotations.annotation_case,
        annotations.annotation_annotator,
        np.asarray(observed["score"].values, np.float64),
        annotations.classes,
    )


def posterior_digest(posterior: Posterior) -> str:
    """Checksum of all that an evaluation depends on; what lies in a file is read from it a few cases at a time."""
    constants, slots = posterior["constant_data"], slots_of(posterior)
    draws = posterior["posterior"]["plausibility"].variable.transpose("chain", "draw", "slot")
    step = chunks(draws.shape)[-1]
    parts = (draws[..., first : first + step].values for first in range(0, draws.shape[-1], step))
    annotations = annotations_of(posterior).digest()
    attrs = {str(name): str(value) for name, value in posterior.attrs.items()}
    point = constants["point_plausibility"].values
    return data_digest(annotations, slots.class_index, slots.n_classes, point, attrs, *map(data_digest, parts))


def case_names(posterior: Posterior) -> np.ndarray:
    """Names of the cases, in order."""
    return np.asarray(posterior["observed_data"]["case"].values, dtype=str)


def stacked_draws(posterior: Posterior) -> Float[np.ndarray, "draw slot"]:
    """Plausibilities of all slots, one chain after the other."""
    with reading(posterior):
        plausibility = posterior["posterior"]["plausibility"].transpose("chain", "draw", "slot").values
    return plausibility.reshape(-1, plausibility.shape[-1])


def top_classes(
    posterior: Posterior,
    k: int,
    seed: int = 0,
    *,
    cases: str | Sequence[str] | None = None,
    break_ties: Literal["order", "random"] = "order",
) -> Int[np.ndarray, "draw case {k}"]:
    """Rank the ``k`` most plausible classes of each case in every draw, best first.

    They are distributed as if the remainder of every draw were split by its Dirichlet and all classes sorted, except
    that a list is wrong with a probability below 1e-9. Lists of different lengths from one seed agree as far as they
    go, and the lists of a case do not depend on the other cases.

    Parameters
    ----------
    posterior
        From :func:`build_posterior` or :func:`load`.
    k
        Length of the lists, at most the number of classes.
    seed
        Random seed of the split of the remainder, and of random ties.
    cases
        Names of the cases, in the order wanted; all by default.
    break_ties
        Equal plausibilities, such as the zeros of classes without mass, in class order (``"order"``) or at random
        (``"random"``).

    Returns
    -------
    Class indices; chains follow each other along the draws.

    Raises
    ------
    ArgumentError
        If ``k`` or ``seed`` is out of range or a case is unknown.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]], np.float32)
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=draws[0, 0], concentration=1.0)
    >>> top_classes(posterior, k=2).tolist()
    [[[0, 1]], [[1, 0]]]
    """
    check_posterior(posterior)
    n_classes = int(posterior.attrs["n_classes"])
    k = check_size("k", k, n_classes)
    check_break_ties(break_ties)
    positions, names = _positions(posterior, cases)
    slots = slots_of(posterior)
    return rank_slots(
        stacked_draws(posterior),
        slots,
        positions,
        stream_words(case_keys(seed, names)),
        k,
        n_classes=n_classes,
        concentration=float(posterior.attrs["concentration"]),
        break_ties=break_ties,
    )


def dense(
    posterior: Posterior, cases: str | Sequence[str] | None = None, seed: int = 0
) -> Float[np.ndarray, "draw case class"]:
    """Plausibilities of every class, the remainder split by its Dirichlet in every draw.

    For some cases at a time: the array has draws × cases × classes numbers.

    Parameters
    ----------
    posterior
        From :func:`build_posterior` or :func:`load`.
    cases
        Names of the cases, in the order wanted; all by default.
    seed
        Of the split of the remainder.

    Returns
    -------
    Plausibilities; they sum to one over classes, and chains follow each other along the draws.

    Raises
    ------
    ArgumentError
        If ``seed`` is out of range or a case is unknown.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c", "d"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]], np.float32)
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=draws[0, 0], concentration=1.0)
    >>> dense(posterior, cases=["0"]).sum(axis=2).round(6).tolist()
    [[1.0], [1.0]]
    """
    check_posterior(posterior)
    positions, names = _positions(posterior, cases)
    slots = slots_of(posterior)
    return dense_slots(
        stacked_draws(posterior),
        slots,
        positions,
        stream_words(case_keys(seed, names)),
        int(posterior.attrs["n_classes"]),
        float(posterior.attrs["concentration"]),
    )


def dense_slots(
    draws: Float[np.ndarray, "draw slot"],
    slots: Slots,
    cases: Int[np.ndarray, " chosen"],
    words: Words,
    n_classes: int,
    concentration: float,
) -> Float[np.ndarray, "draw chosen class"]:
    """Split the remainders of the cases at these positions; ``words`` are their random keys."""
    out = np.zeros((len(draws), len(cases), n_classes), np.float32)
    for row, case in enumerate(cases):
        own = slice(slots.start[case], slots.start[case + 1])
        named = slots.class_index[own][~slots.is_remainder[own]]
        out[:, row, named] = draws[:, own][:, : len(named)]
        if len(named) < own.stop - own.start and draws[:, own.stop - 1].any():
            unnamed = np.setdiff1d(np.arange(n_classes), named)
            shares = dirichlet(generator(words[Stream.DENSE][row]), np.full(len(unnamed), concentration), len(draws))
            out[:, row, unnamed] = draws[:, own.stop - 1, None] * shares
    return out


def save(posterior: Posterior, path: str | Path) -> None:
    """Write a posterior as netCDF, compressed; the same posterior always gives the same bytes.

    Parameters
    ----------
    posterior
        From :func:`build_posterior` or :func:`load`.
    path
        Name of the file, usually ending in ``.nc``; overwritten if it exists.

    Raises
    ------
    FileError
        If the file cannot be written.
    ArgumentError
        If it is no posterior, or the path is none.
    """
    check_posterior(posterior, of_plausibilities=False)
    check_path(path)
    with reading(posterior):
        save_groups(to_groups(posterior), posterior.attrs, path)


def room_for(posterior: Posterior) -> int:
    """Bytes that the file of a posterior takes at most."""
    return 2**16 + sum(data.nbytes for data in to_groups(posterior).values())


def save_groups(groups: Mapping[str, xr.Dataset], attrs: Mapping[str, Any], path: str | Path) -> None:
    """Write the groups of a posterior, or as much of them as there is; see :func:`save`."""
    tree = xr.DataTree.from_dict(dict(groups))
    tree.attrs.update(attrs)
    encoding = {
        node.path: {str(name): found for name, variable in node.variables.items() if (found := _encoding(variable))}
        for node in tree.children.values()
    }
    try:
        tree.to_netcdf(path, engine="h5netcdf", encoding=encoding)
        seal(path)
    except (OSError, RuntimeError) as error:
        if _of_reading(error):
            raise
        raise FileError(f"{path} cannot be written ({reason(error)}): choose another place.") from error


def _encoding(variable: xr.Variable) -> dict[str, Any]:
    """How a variable is stored: compressed; names as characters, which unlike HDF5's strings can stay in the file."""
    if not variable.size:
        return {}
    if variable.dtype.kind in "fiub":
        return {**COMPRESSION, "chunksizes": chunks(variable.shape)}
    width = encoded(variable.values).dtype.itemsize if variable.ndim and _is_text(variable) else 0
    return {**COMPRESSION, "dtype": "S1", "chunksizes": text_chunks((*variable.shape, width))} if width else {}


def _is_text(variable: xr.Variable) -> bool:
    kind = variable.dtype.kind
    return kind == "U" or (kind == "O" and all(isinstance(value, str) for value in variable.values.flat))


def encoded(names: np.ndarray) -> np.ndarray:
    """Names in UTF-8, as they lie in a file.

    Examples
    --------
    >>> encoded(np.array(["a", "é"])).dtype.itemsize
    2
    """
    return np.char.encode(names.astype(str), "utf-8")


def text_chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of characters, the last dimension, whole names lie together."""
    *others, n, width = shape
    return (*(1 for _ in others), max(1, min(n, _CHUNK // width)), width)


def load(path: str | Path, *, lazy: bool = False) -> Posterior:
    """Read a posterior that :func:`save` wrote.

    Parameters
    ----------
    path
        Name of the file.
    lazy
        Leave the draws in the file, which stays open, until somebody asks for them; :func:`plausibly.evaluate` asks for
        a few cases at a time.

    Raises
    ------
    FileError
        If the file is missing, truncated, not netCDF or not a posterior.
    ArgumentError
        If the path is none.
    """
    tree = _open_tree(path)
    try:
        return _check_groups(tree if lazy else _with_plain_names(tree.load()), path)
    except PlausiblyError:
        raise
    except Exception as error:  # damaged files can end in almost any: HDF5 says RuntimeError, what reads it TypeError
        raise FileError(f"{path} cannot be read as netCDF ({reason(error)}): save the posterior again.") from error
    finally:
        if not lazy:
            tree.close()


@contextmanager
def opened(path: str | Path) -> Iterator[Posterior]:
    """Open a posterior's file for as long as it takes to read from it.

    Raises
    ------
    FileError
        As :func:`load` does.
    """
    tree = _open_tree(path)
    try:
        try:
            posterior = _check_groups(tree, path)
        except PlausiblyError:
            raise
        except Exception as error:
            raise FileError(f"{path} cannot be read as netCDF ({reason(error)}): save the posterior again.") from error
        with reading(posterior):
            yield posterior
    finally:
        tree.close()


@contextmanager
def reading(posterior: Posterior) -> Iterator[Posterior]:
    """Work with a posterior whose draws may still lie in a file, where damage may come to light.

    Raises
    ------
    FileError
        If what is asked for cannot be read.
    """
    try:
        yield posterior
    except OSError as error:
        if not _of_reading(error):
            raise
        variables = to_groups(posterior)["posterior"].variables.values()
        path = next((v.encoding["source"] for v in variables if "source" in v.encoding), "the posterior's file")
        raise FileError(f"{path} cannot be read as netCDF ({reason(error)}): save the posterior again.") from error


def _of_reading(error):
    """Whether this is HDF5's, which like no other gives no number of the error."""
    return isinstance(error, OSError) and error.errno is None and "read data" in str(error)


def chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """All draws of a few cases lie together in a file, as they are read.

    Examples
    --------
    >>> chunks((4, 250, 100_000)), chunks((5,))
    ((4, 250, 262), (5,))
    """
    *others, n = shape or (1,)
    return (*others, max(1, min(n, _CHUNK // math.prod(others)))) if shape else ()


def _open_tree(path):
    check_path(path)
    try:
        if not is_sealed(path):
            try_out(path)
        with h5py.File(path):  # h5netcdf complains where it stands, and once more when it is forgotten
            pass
        return xr.open_datatree(path, engine="h5netcdf")
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist: check the path.") from error
    except PlausiblyError:
        raise
    except Exception as error:
        raise FileError(f"{path} cannot be read as netCDF ({reason(error)}): save the posterior again.") from error


def check_path(path: object) -> None:
    """Refuse what is no name of a file.

    Raises
    ------
    ArgumentError
        If it is none.
    """
    if not isinstance(path, str | PathLike):
        raise ArgumentError(f"the name of a file is needed, but {_show(path)} was given: write for example 'p.nc'.")


def _with_plain_names(tree):
    """Names come out of a file as Python's texts, one object each."""
    for node in tree.children.values():
        data = node.to_dataset()
        for name in [name for name, v in data.variables.items() if v.dtype == object and _is_text(v)]:
            data[name] = data[name].astype(str)
        node.dataset = data
    return tree


def _check_groups(tree, path):
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    if not groups.keys() >= set(_GROUPS):
        raise FileError(f"{path} is netCDF but holds no posterior, only {sorted(groups)}: give a file of save().")
    return from_groups(groups, tree.attrs)


def _observed_data(annotations):
    return xr.Dataset(
        {
            "rank": ("entry", annotations.entry_block + 1),
            "entry_annotation": ("entry", annotations.entry_annotation),
            "entry_class": ("entry", annotations.entry_class),
            "annotation_case": ("annotation", annotations.annotation_case),
            "annotation_annotator": ("annotation", annotations.annotation_annotator),
        },
        coords={"case": annotations.cases, "annotator": annotations.annotators},
        attrs={"anonymous": int(annotations.anonymous)},
    )


def _attribute(value):
    """NetCDF attributes are strings and numbers."""
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if plain else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _check_shape(name, values, expected):
    shape = np.shape(values)
    fits = len(shape) == len(expected) and all(
        size > 0 if want is None else size == want for size, want in zip(shape, expected, strict=True)
    )
    if not fits:
        wanted = tuple("any" if want is None else want for want in expected)
        raise ArgumentError(f"{name} must have the shape {wanted}, but has {shape}: it does not fit these annotations.")
    return shape


def _positions(posterior, cases):
    names = case_names(posterior)
    if cases is None:
        return np.arange(len(names)), names
    wanted = [cases] if isinstance(cases, str) else [str(case) for case in cases]
    place = {name: position for position, name in enumerate(names)}
    unknown = [case for case in wanted if case not in place]
    if unknown:
        raise ArgumentError(f"there is no case {unknown[0]!r} in this posterior: its cases are {str(names[0])!r}, ….")
    return np.array([place[case] for case in wanted], np.int64), wanted

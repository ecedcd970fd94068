"""Arrays of a posterior that are computed when they are read, such as the draws of one that has a closed form.

Files have the closed form in place of such draws.
"""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from xarray.backends import BackendArray
from xarray.core import indexing

from plausibly.base.errors import FileError
from plausibly.data.annotations import Slots
from plausibly.inference import DRAWN_BY, KINDS, Form, Regressions

FORM = "closed_form"  #: group in files
#: groups of log likelihoods: those that enter the posterior once, and others, which ArviZ must not compare
LIKELIHOODS = LIKELIHOOD, PSEUDO_LIKELIHOOD = "log_likelihood", "pseudo_log_likelihood"
REMAINDER_NAME = "(remainder)"  #: class name of the slot that stands for all unnamed classes
_PARAMETER = "parameter_"  #: before the names of parameters in it
_TOGETHER = 2**13  # slots that are averaged at a time
_LITTLE = 2**27  # numbers that are drawn together and kept, since several read them: half a gigabyte


class OnDemand(BackendArray):
    """An array in place of which xarray keeps the recipe until it is read."""

    dtype = np.dtype(np.float32)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""

    @abstractmethod
    def part(self, key: tuple[Any, ...]) -> np.ndarray:
        """Values of a part: an integer, a slice or an array of integers of each dimension."""

    def variable(self, *dims: str) -> xr.Variable:
        """Return a variable that is computed when it is read, once."""
        lazy = indexing.CopyOnWriteArray(indexing.LazilyIndexedArray(self))
        return xr.Variable(dims, indexing.MemoryCachedArray(lazy))

    def __deepcopy__(self, memo: Any) -> "OnDemand":
        return self

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self.part)


class Names(BackendArray):
    """Names by their numbers, looked up where they are asked for: of millions of slots they would fill a gigabyte."""

    def __init__(self, names: np.ndarray, index: np.ndarray):
        self._names, self._index = names, index
        self.shape, self.dtype = index.shape, names.dtype

    def __deepcopy__(self, memo: Any) -> "Names":
        return self

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.VECTORIZED, lambda own: self._names[self._index[own]]
        )

    def variable(self, dim: str) -> xr.Variable:
        """Variable that is read when it is indexed."""
        return xr.Variable(dim, indexing.LazilyIndexedArray(self))


def with_names(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Give slots and annotations the names of their cases, classes and annotators."""
    constant, observed, groups = groups["constant_data"], groups["observed_data"], dict(groups)
    cases, annotators = (observed[name].values for name in ("case", "annotator"))
    classes = np.append(constant["class_names"].values, REMAINDER_NAME)  # last, where the index -1 finds it
    slots = {
        "case": Names(cases, constant["case_index"].values),
        "class_name": Names(classes, constant["class_index"].values),
    }
    annotations = {
        "case": Names(cases, observed["annotation_case"].values),
        "annotator": Names(annotators, observed["annotation_annotator"].values),
    }
    for group, (dim, names) in {
        **dict.fromkeys(("posterior", "constant_data"), ("slot", slots)),
        **dict.fromkeys(LIKELIHOODS, ("annotation", annotations)),
    }.items():
        if group in groups:
            groups[group] = groups[group].assign_coords({name: of.variable(dim) for name, of in names.items()})
    return groups


def outer(values: np.ndarray, key: tuple[Any, ...]) -> np.ndarray:
    """Index each dimension by itself."""
    for axis in reversed(range(len(key))):
        index = key[axis]
        values = values[(slice(None),) * axis + (_run(index),)]
    return values


def _run(index: Any) -> Any:
    """A slice in place of numbers that follow each other, which needs no copy; none counts from the end."""
    if not np.ndim(index) or not len(index) or index[0] < 0 or (np.diff(index) != 1).any():
        return index
    return slice(int(index[0]), int(index[-1]) + 1)


class Draws(OnDemand):
    """Draws (chain, draw, slot) from a closed form, of the cases whose slots are asked for; of few cases, of all."""

    def __init__(self, form: Form, chains: int, draws: int):
        self.form = form
        self._numbers = chains, draws

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of chains, draws and slots."""
        return *self._numbers, len(self.form.slots)

    def part(self, key: tuple[Any, ...]) -> np.ndarray:
        """Draws of some chains, draws and slots."""
        slots, wanted = self.form.slots, np.arange(self.shape[-1])[key[-1]]
        if np.prod(self.shape) <= _LITTLE or np.size(wanted) == len(slots) or "_whole" in vars(self):
            return outer(self._whole, key)
        wanted = np.atleast_1d(wanted)
        if not wanted.size:
            return outer(np.empty((*self._numbers, 0), self.dtype), (*key[:-1], wanted))
        cases = np.unique(slots.case[wanted])
        runs = np.split(cases, np.flatnonzero(np.diff(cases) > 1) + 1)
        parts = [outer(self._of(slice(int(run[0]), int(run[-1]) + 1)), (*key[:-1], slice(None))) for run in runs]
        start = np.cumsum([0, *(slots.start[case + 1] - slots.start[case] for case in cases)])
        place = start[np.searchsorted(cases, slots.case[wanted])] + wanted - slots.start[slots.case[wanted]]
        place = place if np.ndim(key[-1]) or isinstance(key[-1], slice) else place[0]
        return (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1))[..., _run(place)]

    def variable(self, *dims: str) -> xr.Variable:
        """Return a variable that is drawn when it is read."""
        return xr.Variable(dims, indexing.LazilyIndexedArray(self))

    def _of(self, cases: slice) -> Float[np.ndarray, "chain draw slot"]:
        return self.form.draw(*self._numbers, cases)

    @cached_property
    def _whole(self) -> Float[np.ndarray, "chain draw slot"]:
        return self.form.draw(*self._numbers)


def mean_draws(
    plausibility: Float[np.ndarray, "chain draw slot"] | Draws, wanted: Bool[np.ndarray, " slot"]
) -> Float[np.ndarray, " slot"]:
    """Mean over draws of the wanted slots, NaN of others; of a closed form, some slots are drawn at a time."""
    out, at = np.full(len(wanted), np.nan, np.float32), np.flatnonzero(wanted)
    for some in np.split(at, np.arange(_TOGETHER, len(at), _TOGETHER)):
        key = slice(None), slice(None), some
        values = plausibility.part(key) if isinstance(plausibility, Draws) else plausibility[..., _run(some)]
        out[some] = values.mean((0, 1))
    return out


def not_drawn(variable: xr.Variable) -> Draws | None:
    """The draws that a variable is, as long as they are neither loaded nor changed, nor some of them only."""
    lazy = _unread(variable)
    if not isinstance(lazy, indexing.LazilyIndexedArray) or not isinstance(draws := lazy.array, Draws):
        return None
    key = zip(lazy.key.tuple, draws.shape, strict=True)
    return draws if all(isinstance(k, slice) and range(n)[k] == range(n) for k, n in key) else None


def _unread(variable: xr.Variable) -> Any:
    """The lazy array behind a variable, or its values once they are loaded."""
    lazy: Any = variable._data
    while isinstance(lazy, indexing.CopyOnWriteArray | indexing.MemoryCachedArray):
        lazy = lazy.array
    return lazy


def with_form(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Groups as they are written: with the closed form in place of its draws, without log likelihoods nobody read."""
    draws = not_drawn(groups["posterior"]["plausibility"].variable) if "plausibility" in groups["posterior"] else None
    if draws is None:
        return dict(groups)
    form = draws.form
    kind = next(kind for kind, of_kind in KINDS.items() if isinstance(form, of_kind))
    variables = {name: (dims, getattr(form, name)) for name, dims in form.dims.items()}
    if isinstance(form, Regressions):
        for name, values in form.parameters.items():
            variables[f"{_PARAMETER}{name}"] = ("number", *(f"{name}_{axis}" for axis in range(1, values.ndim))), values
    written = xr.Dataset(variables, attrs={"kind": kind, "seed": form.seed, "drawn_by": DRAWN_BY})
    read = {name: data for name, data in groups.items() if name not in LIKELIHOODS or _is_read(data)}
    return {**read, "posterior": groups["posterior"].drop_vars("plausibility"), FORM: written}


def _is_read(data: xr.Dataset) -> bool:
    """Whether values are there, in memory or in a file."""
    return not any(isinstance(getattr(_unread(of), "array", None), OnDemand) for of in data.variables.values())


def with_draws(groups: Mapping[str, xr.Dataset], path: Any) -> dict[str, xr.Dataset]:
    """Groups as they are used: the way back from :func:`with_form`.

    Raises
    ------
    FileError
        If another version made other draws.
    """
    groups = dict(groups)
    if (written := groups.pop(FORM, None)) is None:
        return groups
    if written.attrs["drawn_by"] != DRAWN_BY:
        raise FileError(
            f"{path} has the closed form of a posterior whose draws another version of plausibly made: load it "
            "there, or aggregate again."
        )
    constants, observed = groups["constant_data"], groups["observed_data"]
    case, class_index, n_classes = (
        np.asarray(constants[name].values, np.int32) for name in ("case_index", "class_index", "n_classes")
    )
    names = np.asarray(observed["case"].values, str)
    slots = Slots(case, class_index, n_classes, np.searchsorted(case, np.arange(len(names) + 1)))
    values = {str(name): variable.values for name, variable in written.data_vars.items()}
    parameters = {name.removeprefix(_PARAMETER): values.pop(name) for name in [*values] if name.startswith(_PARAMETER)}
    values |= {"parameters": parameters} if parameters else {}
    form = KINDS[written.attrs["kind"]](slots, names, int(written.attrs["seed"]), **values)
    sizes, dims = groups["posterior"].sizes, ("chain", "draw", "slot")
    drawn = Draws(form, sizes["chain"], sizes["draw"]).variable(*dims)
    return groups | {"posterior": groups["posterior"].assign(plausibility=drawn)}

"""Whether the parts of a posterior fit each other, which whoever changes one, or its file, has to see to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from plausibly.annotations import Slots
from plausibly.errors import ArgumentError

_VARIABLES = {
    "posterior": ("plausibility",),
    "constant_data": ("case_index", "class_index", "n_classes", "point_plausibility", "class_names"),
    "observed_data": ("case",),
}


def lost_variable(groups: Mapping[str, xr.Dataset]) -> str | None:
    """Name a variable that every posterior of plausibilities has, and this one has not."""
    wanted = ((group, name) for group, names in _VARIABLES.items() for name in names)
    return next((name for group, name in wanted if name not in groups[group].variables), None)


def check_fit(groups: Mapping[str, xr.Dataset], attrs: Mapping[Any, Any], slots: Slots) -> None:
    """Refuse slots, draws and attributes that no cases and classes have together; draws themselves are not read."""
    what = _misfit(groups, attrs, slots)
    if what:
        raise ArgumentError(
            f"the parts of this posterior do not fit each other ({what}): keep slots, cases and classes as they are "
            "when you change it, or aggregate again."
        )


def _misfit(groups: Mapping[str, xr.Dataset], attrs: Mapping[Any, Any], slots: Slots) -> str | None:
    n_classes, concentration = (_number(attrs[name]) for name in ("n_classes", "concentration"))
    if n_classes is None or not 1 <= n_classes < np.inf or n_classes % 1:
        return f"n_classes is {attrs['n_classes']!r}"
    if concentration is None or not 0 <= concentration < np.inf:
        return f"the concentration is {attrs['concentration']!r}"
    named = groups["constant_data"]["class_names"].size
    if named != n_classes:
        return f"n_classes is {int(n_classes)}, and {named} classes have names"
    draws = groups["posterior"]["plausibility"]
    if set(draws.dims) != {"chain", "draw", "slot"} or not draws.size:
        return f"plausibility has the dimensions {dict(draws.sizes)} instead of chain, draw and slot"
    if draws.dtype.kind != "f" or groups["constant_data"]["point_plausibility"].dtype.kind != "f":
        return "plausibilities are not floating-point numbers"
    if draws.sizes["slot"] != len(slots.case):
        return f"there are {draws.sizes['slot']} slots with draws, and {len(slots.case)} with a case"
    return _misfit_of_slots(slots, int(n_classes))


def _misfit_of_slots(slots: Slots, n_classes: int) -> str | None:
    case, class_index = slots.case.astype(np.int64), slots.class_index.astype(np.int64)
    sizes = np.diff(slots.start)
    if slots.start[0] or slots.start[-1] != len(case) or (np.diff(case) < 0).any() or (sizes < 1).any():
        return f"slots are not those of the cases 1 to {len(sizes)} in their order"
    if ((class_index < -1) | (class_index >= n_classes)).any():
        return f"a slot is of a class beyond the {n_classes} there are"
    rest = slots.is_remainder
    place = np.where(rest, n_classes, class_index)
    if ((np.diff(case) == 0) & (np.diff(place) <= 0)).any():
        return "the classes of a case are not in order, the remainder last"
    named = np.bincount(case[~rest], minlength=len(sizes))
    if (slots.n_classes != np.where(rest, n_classes - named[case], 1)).any():
        return "n_classes is not 1 for a class, and for the remainder the number of those that nobody named"
    return None


def _number(value: Any) -> float | None:
    array = np.asarray(value)
    return float(array.item()) if array.size == 1 and array.dtype.kind in "iuf" else None

"""Further sites of a program of one case, sampled or deterministic: their place in a posterior, by their shape.

A site with one value per slot, such as the plausibilities before a correction, has the dimension ``slot``. One of the
same shape in all cases has the dimension ``sampled_case``, last, after those of its shape. Of all others, the values of
the cases follow each other, and a coordinate has the name of the case of each.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.data.annotations import Slots

CASE = "sampled_case"
PLAUSIBILITY, COORDINATES = "plausibility", ("log_ratio",)  # the latter are the former in other coordinates

#: names that have another meaning in posteriors
_TAKEN = {
    *("reliability", "annotator_reliability", "severity", "spread", "mean", "variance", "prevalence", "share"),
    *("accuracy", "attention", "looks", "slot", "case", "class_name", "class_index"),
    *("n_classes", "chain", "draw", "annotator", "true_class", "named_class", CASE),
}


def dataset_of(
    sites: Mapping[str, Mapping[int, Float[np.ndarray, "chain draw *shape"]]], slots: Slots, cases: np.ndarray
) -> xr.Dataset:
    """Collect draws of the sites of all cases, by name and number of the case; a name with a meaning gets an ending.

    Examples
    --------
    >>> labels = pb.Annotations.from_labels([["a", "b"], ["a"]], classes=["a", "b"])
    >>> sites = {"guesses": {0: np.zeros((4, 250)), 1: np.ones((4, 250))}}
    >>> dataset_of(sites, Slots.of(labels), labels.cases)["guesses"].dims
    ('chain', 'draw', 'sampled_case')
    """
    variables, sizes = {}, np.diff(slots.start)
    for site, found in sites.items():
        if site in COORDINATES or not found:
            continue
        name = f"{site}_of_case" if site in _TAKEN or site.endswith("confusion") else site
        numbers = np.array(sorted(found))
        draws = [np.asarray(found[number], np.float32) for number in numbers]
        shapes = [one.shape[2:] for one in draws]
        names = np.asarray(cases)[numbers]
        everywhere = len(numbers) == len(cases)
        if everywhere and shapes == [(size,) for size in sizes]:
            variables[name] = xr.Variable(("chain", "draw", "slot"), np.concatenate(draws, axis=-1))
        elif len(set(shapes)) == 1 and everywhere:
            own = [f"{name}_dim_{axis}" for axis in range(len(shapes[0]))]
            variables[name] = xr.Variable(("chain", "draw", *own, CASE), np.stack(draws, axis=-1))
            variables[CASE] = xr.Variable(CASE, names)
        else:
            flat = [one.reshape(*one.shape[:2], -1) for one in draws]
            variables[name] = xr.Variable(("chain", "draw", f"{name}_value"), np.concatenate(flat, axis=-1))
            of_value = np.repeat(names, [one.shape[-1] for one in flat])
            variables[f"{name}_case"] = xr.Variable(f"{name}_value", of_value)
    coords = [name for name in variables if name == CASE or (name.endswith("_case") and variables[name].ndim == 1)]
    return xr.Dataset(variables).set_coords(coords)


def draws_of_sites(
    posterior: xr.Dataset, slots: Slots, cases: np.ndarray
) -> tuple[Float[np.ndarray, "chain draw quantity"], Int[np.ndarray, " quantity"]]:
    """Draws of all further sites of a posterior's group, and the number of the case of each."""
    place = {name: number for number, name in enumerate(np.asarray(cases, str).tolist())}
    columns, of_case = [], []
    for name, variable in posterior.data_vars.items():
        last = str(variable.dims[-1])
        if name == PLAUSIBILITY or last not in ("slot", CASE, f"{name}_value"):
            continue
        values = variable.transpose("chain", "draw", ...).values
        columns.append(values.reshape(*values.shape[:2], -1))
        own = slots.case
        if last != "slot":
            names = posterior[CASE if last == CASE else f"{name}_case"].values
            own = np.array([place[str(one)] for one in names])
        of_case.append(np.tile(own, int(np.prod(values.shape[2:-1]))))
    if not columns:
        return np.empty((1, 1, 0), np.float32), np.empty(0, int)
    return np.concatenate(columns, axis=-1), np.concatenate(of_case)


def site_values(
    posterior: xr.Dataset, slots: Slots, cases: np.ndarray
) -> dict[str, list[Float[np.ndarray, "chain draw *shape"]]]:
    """Draws of further sites by name and case, as the program has them; the way back from :func:`dataset_of`."""
    found: dict[str, list[np.ndarray]] = {}
    for name, variable in posterior.data_vars.items():
        last, site = str(variable.dims[-1]), str(name).removesuffix("_of_case")
        values = variable.transpose("chain", "draw", ...).values
        if name == PLAUSIBILITY or last not in ("slot", CASE, f"{name}_value"):
            continue
        if last == "slot":
            found[site] = np.split(values, slots.start[1:-1], axis=-1)
        elif last == CASE:
            found[site] = list(np.moveaxis(values, -1, 0))
        else:
            names = posterior[f"{name}_case"].values.astype(str)
            found[site] = [values[..., names == str(case)] for case in cases]
    return found


def of_shard(posterior: Posterior) -> Posterior:
    """Leave out sites that may have other dimensions in other shards of a posterior: all but numbers of a case."""
    groups = to_groups(posterior)
    sites = groups["posterior"]
    known = [name for name in sites.data_vars if name == PLAUSIBILITY or sites[name].dims == ("chain", "draw", CASE)]
    kept = sites[[*known]].drop_vars([name for name in sites.coords if str(name).endswith("_case") and name != CASE])
    if len(known) == 1:
        kept = kept.drop_vars(CASE, errors="ignore")
    return from_groups(groups | {"posterior": kept}, posterior.attrs)

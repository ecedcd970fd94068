"""Whether two versions found the same: nothing is faster because it does less, or something else."""

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.main_job._measure import Sample

EFFECTIVE = 400.0  #: draws that a converged run is worth at least
MOST = 6.0  #: standard errors by which means may differ, among thousands
ROUNDING = 1e-3  #: a difference that is none
TIE = 0.01  #: one case of the demo's hundred, in which the point estimates of two classes differ by less than they err

_KEY = ("classifier", "model", "reliability", "metric")


def of_metrics(theirs: Path, ours: Path, *_: Sample) -> list[str]:
    """Compare tables of metrics row by row: means within Monte Carlo error, spreads, and point estimates."""
    before, now = (dict(_rows(folder / "results" / "metrics.csv")) for folder in (theirs, ours))
    lost = [f"{' '.join(key)} is missing" for key in before if key not in now]
    return lost + [text for key, row in before.items() if key in now for text in _differences(key, row, now[key])]


def _rows(path: Path) -> Iterator[tuple[tuple[str, ...], dict[str, float]]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield tuple(row[name] for name in _KEY), {name: float(row[name]) for name in ("mean", "sd", "point")}


def _differences(key: tuple[str, ...], before: dict[str, float], now: dict[str, float]) -> Iterator[str]:
    spread = max(before["sd"], now["sd"])
    allowed = {
        "mean": MOST * spread * math.sqrt(2 / EFFECTIVE) + ROUNDING,
        "sd": MOST * spread / math.sqrt(EFFECTIVE) + ROUNDING,
        "point": TIE + ROUNDING,
    }
    for name, most in allowed.items():
        if abs(before[name] - now[name]) > most:
            yield f"{' '.join(key)}: {name} was {before[name]:.4f} and is {now[name]:.4f}, more than {most:.4f} apart"


def of_draws(theirs: Path, ours: Path, before: Sample, now: Sample) -> list[str]:
    """Compare means of plausibilities slot by slot, and ask for enough effective draws of the worst case."""
    import numpy as np

    one, other = np.load(theirs / "draws.npz"), np.load(ours / "draws.npz")
    if one["mean"].shape != other["mean"].shape:
        return [f"there were {one['mean'].size} slots and are {other['mean'].size}"]
    allowed = MOST * np.maximum(one["sd"], other["sd"]) * math.sqrt(2 / EFFECTIVE) + ROUNDING
    wrong = np.flatnonzero(np.abs(one["mean"] - other["mean"]) > allowed)
    found = [f"slot {slot}: mean was {one['mean'][slot]:.4f} and is {other['mean'][slot]:.4f}" for slot in wrong]
    if now.found["least_ess"] < EFFECTIVE:
        found.append(f"the least bulk ESS is {now.found['least_ess']:.0f}, below {EFFECTIVE:.0f}")
    if now.found["converged"] < before.found["converged"]:
        found.append(f"{before.found['converged']} cases converged before, and {now.found['converged']} now")
    return found


def of_numbers(name: str, most: float) -> Callable[[Path, Path, Sample, Sample], list[str]]:
    """Make a check that numbers in both reports are equal up to a relative error."""

    def check(_: Path, __: Path, before: Sample, now: Sample) -> list[str]:
        pairs = zip(*(_list(sample.found[name]) for sample in (before, now)), strict=True)
        return [f"{name} was {a} and is {b}" for a, b in pairs if not math.isclose(a, b, rel_tol=most)]

    return check


def _list(value: float | list[float]) -> list[float]:
    return value if isinstance(value, list) else [value]

"""The table that the benchmarks print."""

import os
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measurement, and the baseline's, both such that less is better."""

    what: str
    ours: float
    unit: str
    baseline: float | None = None
    compilation: float | None = None  #: seconds, not in ``ours``
    baseline_compilation: float | None = None
    remark: str = ""


def heading() -> str:
    """Say what was measured on, and name the columns."""
    from importlib.metadata import version

    import jax

    device = jax.devices()[0]
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = ", ".join(f"{package} {version(package)}" for package in ("jax", "numpyro"))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{device.platform} ({device.device_kind}), {threads} cores, as many threads{load}; {versions}\n"
        "Ratio: baseline / ours, so above 1 we are better; losses are marked. Compilation is in seconds and apart.\n\n"
        f"{'':58}{'ours':>10} {'':5}{'baseline':>10} {'ratio':>8}   {'compiling':>9} {'baseline':>9}"
    )


def render(rows: Sequence[Row]) -> str:
    """Lay rows out below the heading."""
    lines = []
    for row in rows:
        ratio = "" if row.baseline is None else f"{row.baseline / row.ours:.3g}"
        loss = "-" if row.baseline is not None and row.baseline < row.ours else " "
        lines.append(
            f"{row.what:58}{row.ours:10,.4g} {row.unit:5}{_number(row.baseline):>10} {ratio:>8} {loss} "
            f"{_number(row.compilation):>9} {_number(row.baseline_compilation):>9}  {row.remark}".rstrip()
        )
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"

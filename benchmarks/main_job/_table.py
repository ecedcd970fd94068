"""The table of ratios."""

from collections.abc import Sequence
from statistics import median

from benchmarks.main_job._measure import Sample

HEADING = (
    "Ratio: theirs / ours, of medians [least to greatest of the repetitions]; above 1 we are better. Time is that of\n"
    "the clock; CPU is the ratio of seconds of all cores. An aim that is missed is marked.\n\n"
    f"{'':52}{'':6}{'ours':>18} {'theirs':>18}  {'ratio':>20} {'CPU':>6} {'peak memory, MiB':>18}  {'aim':>5}"
)


def row(
    what: str, phase: str, ours: Sequence[Sample], theirs: Sequence[Sample], aim: float | None, by_cpu: bool = False
) -> str:
    """Lay out one line: our samples and theirs, pair by pair; with ``by_cpu`` the aim is one for the CPU's seconds."""
    own, other = ([sample.seconds for sample in samples] for samples in (ours, theirs))
    ratios = [b / a for a, b in zip(own, other, strict=True)]
    ratio = median(other) / median(own)
    cpu = median(sample.cpu for sample in theirs) / median(sample.cpu for sample in ours)
    peaks = [median(sample.peak for sample in samples) / 2**20 for samples in (ours, theirs)]
    spread = f" [{min(ratios):.3g}–{max(ratios):.3g}]" if len(ratios) > 1 else ""
    asked = "" if aim is None else f"{aim:.3g}" + ("" if (cpu if by_cpu else ratio) >= aim else " -")
    memory = f"{peaks[0]:,.0f} / {peaks[1]:,.0f}" + (" -" if peaks[0] > peaks[1] else "")
    return (
        f"{what:52}{phase:6}{_seconds(own):>18} {_seconds(other):>18}  {f'{ratio:.3g}{spread}':>20} {cpu:>6.3g} "
        f"{memory:>18}  {asked:>5}"
    ).rstrip()


def _seconds(values: Sequence[float]) -> str:
    """Median, and least and greatest."""
    middle = f"{median(values):.3g} s"
    return middle if len(values) == 1 else f"{middle} [{min(values):.3g}–{max(values):.3g}]"

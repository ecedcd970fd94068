"""Run the checks, write the report, and exit with status 1 if one of them fails."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

# XLA warns of every cached program that its own preferences are not features of this machine.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from validation import (
    agreement,
    annotators,
    calibration,
    conformal,
    crowds,
    designs,
    engines,
    evidence,
    few,
    few_labels,
    goodness,
    intervals,
    judge,
    judged,
    ordinal,
    other_experts,
    own_programs,
    panels,
    planning,
    rasch,
    ratings,
    readers,
    reliability,
    selected,
    stand_ins,
    systems,
    team,
    true_class,
    verdicts,
    verification,
    weighted_reliability,
)
from validation._breaks import BREAKS, broken
from validation._report import write
from validation._result import Result, Settings, Verdict

CHECKS: dict[str, Callable[[Settings], Iterator[Result]]] = {
    "goodness": goodness.check,
    "calibration": calibration.check,
    "agreement": agreement.check,
    "engines": engines.check,
    "reliability": reliability.check,
    "conformal": conformal.check,
    "intervals": intervals.check,
    "few": few.check,
    "panels": panels.check,
    "true-class": true_class.check,
    "crowds": crowds.check,
    "ordinal": ordinal.check,
    "ratings": ratings.check,
    "annotators": annotators.check,
    "rasch": rasch.check,
    "weighted": weighted_reliability.check,
    "planning": planning.check,
    "judge": judge.check,
    "verdicts": verdicts.check,
    "stand-ins": stand_ins.check,
    "systems": systems.check,
    "selected": selected.check,
    "designs": designs.check,
    "judged": judged.check,
    "evidence": evidence.check,
    "team": team.check,
    "few-labels": few_labels.check,
    "own-programs": own_programs.check,
    "verification": verification.check,
    "readers": readers.check,
    "other-experts": other_experts.check,
}
#: What `--quick` leaves out, and why; `--only` runs it all the same.
SLOW = {
    "agreement": "NUTS on two hundred cases; calibration takes both samplers",
    "reliability": "a posterior by NUTS for each data set",
    "crowds": "half a minute a crowd; true-class calibrates the same samplers",
    "judged": "a posterior by NUTS for each data set",
    "other-experts": "a posterior for each data set; a slow test simulates six",
    "rasch": "NumPyro's own NUTS; tests compare the program with its formula",
    "team": "a population of a million lesions; intervals and panels count the same intervals",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen checks; returns the exit status: 0 if all pass, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m validation", description=(__doc__ or "").strip())
    parser.add_argument("--only", choices=sorted(CHECKS), help="one of the checks")
    parser.add_argument("--what", default="", metavar="TEXT", help="conditions of calibration that contain this text")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.add_argument(
        "--quick", action="store_true", help=f"fewer cases and draws, without {', '.join(SLOW)}: two minutes"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results/validation"), metavar="FOLDER", help="folder of the report"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that share the checks (1)")
    names = "; ".join(f"{name}: {chosen.what}" for name, chosen in BREAKS.items()).replace("%", "%%")
    parser.add_argument("--break", choices=sorted(BREAKS), dest="broken", help=f"break this first ({names})")
    given = parser.parse_args(arguments)
    if given.seed < 0:
        parser.error(f"argument --seed: must not be negative, but {given.seed} was given")
    if not any(
        given.what in str(condition)
        for condition in (
            *calibration.CONDITIONS,
            *true_class.CHECKED,
            *ratings.CONDITIONS,
            *crowds.KINDS,
            *engines.POSTERIORS,
            *crowds.JURIES_OF,
            *judged.JUDGES,
            "rasch",
        )
    ):
        parser.error(f"argument --what: no condition of calibration contains {given.what!r}")

    start = time.monotonic()
    only, what = given.only, given.what
    with broken(given.broken) if given.broken else nullcontext() as chosen:
        if chosen is not None:
            print(f"Broken on purpose: {chosen.what}.", flush=True)
            only, what = only or chosen.group, what or chosen.only
        settings = Settings(given.seed, given.quick, what)
        names = [name for name in CHECKS if only == name or (only is None and not (given.quick and name in SLOW))]
        results = []
        for result in _results(names, settings, 1 if chosen is not None else given.workers):
            results.append(result)
            print(line(result), flush=True)
    verdict = Verdict(tuple(results))
    seconds = time.monotonic() - start
    path = write(verdict, given.out, settings, seconds=seconds, broken=chosen.what if chosen else "")
    print(f"\n{verdict}\n{path} ({seconds / 60:.0f} min)")
    return 0 if verdict.passed else 1


def _results(names: Sequence[str], settings: Settings, workers: int) -> Iterator[Result]:
    """Yield the results of checks in their order; processes share the checks, which mostly use one core each."""
    if min(workers, len(names)) < 2:
        for name in names:
            yield from CHECKS[name](settings)
        return
    from validation.__main__ import of_check  # by a name that another process knows

    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for results in pool.map(of_check, names, [settings] * len(names)):
            yield from results


def of_check(name: str, settings: Settings) -> list[Result]:
    """Return the results of a check."""
    return list(CHECKS[name](settings))


def line(result: Result) -> str:
    """One result as a line of the table."""
    values = ", ".join(f"{name} {p:.2g}" for name, p in result.p_values.items())
    return f"{result.what:44} {result.quantity:18} n = {result.n:<7,} p: {values:32} {result.remark}".rstrip()


if __name__ == "__main__":
    sys.exit(main())

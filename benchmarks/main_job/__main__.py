"""Prepare two environments, run the jobs in turn, and print the table."""

import argparse
import os
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from benchmarks._data import shared
from benchmarks.main_job import _environments as environments
from benchmarks.main_job._jobs import BASELINE, JOBS, PREPARATION, WORKING, Job, Place
from benchmarks.main_job._measure import Sample, run
from benchmarks.main_job._table import HEADING, row

SHOWN = 5  # of what differs


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.main_job",
        description=f"Compare this version with {environments.BASELINE}, and with libraries, from command to report.",
    )
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS), metavar="JOB", help=", ".join(JOBS))
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of every job (3)")
    parser.add_argument("--folder", type=Path, help="folder to make environments in, or find them again")
    parser.add_argument("--baseline-env", type=Path, metavar="ENV", help="environment that has the baseline already")
    parser.add_argument("--working-env", type=Path, metavar="ENV", help="environment that has this version already")
    parser.add_argument(
        "--by-cpu", action="store_true", help="judge by seconds of all cores, on a machine that does other work, too"
    )
    given = parser.parse_args()
    chosen = {name: JOBS[name] for name in given.jobs}
    data = shared()
    if not data.is_dir():
        skipped = [name for name, job in chosen.items() if job.real]
        chosen = {name: job for name, job in chosen.items() if not job.real}
        print(f"There are no real data at {data}, so these jobs are skipped: {', '.join(skipped) or 'none'}.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).absolute()
        used = {WORKING: environments.working(folder, given.working_env)}
        if any(job.against == BASELINE for job in chosen.values()):
            used[BASELINE] = environments.baseline(folder, given.baseline_env)
        for name, path in used.items():
            print(f"{name}: {environments.versions(path)}")
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        print(f"{cores} cores, load {os.getloadavg()[0]:.1f}, {given.repeat} repetitions\n\n{HEADING}", flush=True)
        results = Path(temporary) / "results"
        results.mkdir()
        place = Place(used[WORKING], results, results / "predictions", data)
        if any(job.real for job in chosen.values()):
            place.shared.mkdir(parents=True)
            run(PREPARATION(place), results / "preparation", results / "preparation-cache")
        wrong: dict[str, list[str]] = {}
        for name, job in chosen.items():
            wrong[name] = _measure(job, used, replace(place, folder=results / name), given.repeat, given.by_cpu)
    for name, texts in wrong.items():
        for text in texts[:SHOWN]:
            print(f"DIFFERENT RESULTS of {name}: {text}")
        if len(texts) > SHOWN:
            print(f"DIFFERENT RESULTS of {name}: {len(texts) - SHOWN} more")
    return 1 if any(wrong.values()) else 0


def _measure(job: Job, used: dict[str, Path], place: Place, repeat: int, by_cpu: bool) -> list[str]:
    """Run both sides of a job in turn, print its lines, and return what differs between their results."""
    environments_of = {"theirs": used[job.against], "ours": used[WORKING]}
    sides = {side: (command, environments_of[side]) for side, command in job.commands().items()}
    phases = [phase for phase in ("cold", "warm") if phase in job.aims]
    samples: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    wrong: list[str] = []
    if phases == ["warm"]:  # what is read for the first time comes from the disk
        for side, (command, environment) in sides.items():
            own = replace(place, environment=environment, folder=place.folder / side)
            run(command(own), own.folder, own.folder / "cache")
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(dir=place.folder.parent) as fresh:
            for phase in phases:
                for side, (command, environment) in sides.items():
                    own = replace(place, environment=environment, folder=place.folder / side)
                    caches = Path(fresh) / side if "cold" in phases else own.folder / "cache"
                    samples[phase, side].append(run(command(own), own.folder, caches))
                latest = {side: samples[phase, side][-1] for side in sides}
                wrong += job.check(place.folder / "theirs", place.folder / "ours", latest["theirs"], latest["ours"])
    if "again" in job.aims:
        for side in sides:
            again = [replace(s, seconds=s.found["again"], cpu=s.found["again_cpu"]) for s in samples["cold", side]]
            samples["again", side] = again
    for phase, aim in job.aims.items():
        print(row(job.what, phase, samples[phase, "ours"], samples[phase, "theirs"], aim, by_cpu), flush=True)
    return list(dict.fromkeys(wrong))


if __name__ == "__main__":
    raise SystemExit(main())

"""Run all benchmarks and print the table."""

import argparse
from functools import partial

from benchmarks import (
    accuracy,
    agreement,
    conformal,
    discrepancy,
    gpu,
    metrics,
    peers,
    plackett_luce,
    planning,
    scale,
    systems,
)
from benchmarks._process import apart
from benchmarks._table import heading, render


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Print a table of timing ratios.")
    parts = {
        "accuracy": accuracy.measure,
        "plackett-luce": plackett_luce.measure,
        "metrics": metrics.measure,
        "peers": peers.measure,
        "discrepancy": discrepancy.measure,
        "agreement": agreement.measure,
        "conformal": conformal.measure,
        "planning": planning.measure,
        "scale": scale.measure,
        "systems": systems.measure,
        "gpu": gpu.measure,
    }
    parser.add_argument("part", nargs="?", choices=list(parts), help="one part of the table; by default all")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, cases and draws")
    parser.add_argument("--long", action="store_true", help="more cases and repetitions (planning)")
    arguments = parser.parse_args()
    if arguments.long:
        parts["planning"] = partial(planning.measure, long=True)
    print(apart(heading)[0], flush=True)
    for name, measure in parts.items():
        if arguments.part in (None, name):
            for row in measure(quick=arguments.quick):
                print(render([row]), end="", flush=True)
            print(flush=True)


if __name__ == "__main__":
    main()

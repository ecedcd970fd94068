"""The commands: words made of bytes, none of which may end in a traceback."""

import json
import os
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from fuzz.harness import (
    COUNTS,
    EXPORT,
    FOLDER,
    GRID,
    KNOWN,
    LONG,
    OUTCOMES,
    VOTES,
    Finding,
    Harness,
    npy_bytes,
    posterior_bytes,
)
from plausibly.app.cli import app
from plausibly.data.annotations import write_annotations

_DATA = FOLDER / "data"
_FILES = {
    "a.csv": LONG,
    "counts.csv": COUNTS,
    "outcomes.csv": OUTCOMES,
    "e.toi": VOTES,
    "b.csv": GRID.to_csv(index=False).encode(),
    "b.npy": npy_bytes(np.ones((2, 3))),
    "c.txt": b"corn\nmelanoma\nwart\n",
    "r.txt": b"0\n2\n1\n",
    "labels.csv": b"case,annotator,label,confidence\np,ann,x,1\np,bob,y,0.5\nq,ann,x,1\nq,bob,x,0.7\n",
    "broken.json": b'{"cases": {"p',
    "empty.csv": b"",
    "export.json": json.dumps(EXPORT).encode(),
}
#: What each command gets in any event, so that it is quick.
_COMMANDS = {
    "doctor": "",
    "audit": "",
    "convert": "",
    "aggregate": "--draws 2",
    "compare": "--replicates 2",
    "agreement": "--replicates 0",
    "discrepancy": "--replicates 2",
    "judge": "--replicates 2 --model none",
    "readers": "--replicates 2",
    "systems": "--replicates 2",
    "reliability": "--competence 0.8",
    "simulate": "--cases 3 --classes 3",
}
OPTIONS = (
    "--classes --risks --predictions --model --seed --out --metric --k --strict --quiet --as --anonymous --control "
    "--draws --chains --distance --kind --by --clusters --competence --replicates --cases --qualities --scale --truth "
    "--people --measured --break-ties --from --gold --help"
)
WORDS = (
    "A=b.csv B=b.npy A=none.csv = A= irn prirn@3 majority-vote plackett-luce-ml prirn@x 0 1 2 -1 x nan inf 1e9 1,2 0.5 "
    "top1_accuracy nope toi counts table nominal leave-one-out c [red]x[/red] out.json out.csv out.toi out . "
    "/dev/null/x a=b=c \u202e"
)


def _words(content: bytes) -> list[str]:
    """Make a command of bytes: its name, a file or two, options with values."""
    if not content:
        return []
    command = list(_COMMANDS)[content[0] % len(_COMMANDS)]
    files = [*_FILES, "p.nc", "a.json", "none.csv"]
    words = [command]
    if command != "simulate":
        words.append(files[content[1] % len(files)] if content[1:] else "a.csv")
    for byte in content[2:12]:
        kind = OPTIONS.split() if byte < 96 else [*WORDS.split(" "), "", "x" * 300] if byte < 216 else files
        words.append(kind[byte % len(kind)])
    return [*words, *_COMMANDS[command].split()]


def run(content: bytes) -> None:
    """Run a command in a folder of files."""
    if not _DATA.is_dir():
        _DATA.mkdir()
        for name, known in _FILES.items():
            (_DATA / name).write_bytes(known)
        (_DATA / "p.nc").write_bytes(posterior_bytes())
        write_annotations(KNOWN, _DATA / "a.json")
    before = Path.cwd()
    os.chdir(_DATA)
    try:
        words = _words(content)
        result = CliRunner().invoke(app, words)
    finally:
        os.chdir(before)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise Finding(f"plausibly {' '.join(words)}: {result.exception!r}") from result.exception
    if result.exit_code not in (0, 1, 2) or "Traceback" in result.output:
        raise Finding(f"plausibly {' '.join(words)}: status {result.exit_code}")


COMMANDS = Harness(run, [bytes([number, 0, 7 * number, 130, 11 * number, 200]) for number in range(len(_COMMANDS))])

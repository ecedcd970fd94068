"""The commands: words made of bytes, of which none may end in a traceback."""

import os
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from fuzz.harness import COUNTS, EXPORT, FOLDER, GRID, KNOWN, LONG, VOTES, Finding, Harness, npy_bytes, posterior_bytes
from plausibly.annotations import write_annotations
from plausibly.cli import app

_DATA = FOLDER / "data"
_FILES = {
    "a.csv": LONG,
    "counts.csv": COUNTS,
    "e.toi": VOTES,
    "b.csv": GRID.to_csv(index=False).encode(),
    "b.npy": npy_bytes(np.ones((2, 3))),
    "c.txt": b"corn\nmelanoma\nwart\n",
    "r.txt": b"0\n2\n1\n",
    "labels.csv": b"case,annotator,label,confidence\np,ann,x,1\np,bob,y,0.5\nq,ann,x,1\nq,bob,x,0.7\n",
    "broken.json": b'{"cases": {"p',
    "empty.csv": b"",
    "export.json": str(EXPORT).replace("'", '"').replace("False", "false").encode(),
}
_NAMES = ("audit", "convert", "aggregate", "compare", "agreement", "discrepancy", "reliability", "simulate")
_OPTIONS = [
    "--classes",
    "--risks",
    "--predictions",
    "--model",
    "--seed",
    "--out",
    "--metric",
    "--k",
    "--strict",
    "--quiet",
    "--as",
    "--anonymous",
    "--control",
    "--draws",
    "--chains",
    "--distance",
    "--kind",
    "--group",
    "--competence",
    "--replicates",
    "--resamples",
    "--cases",
    "--qualities",
    "--scale",
    "--truth",
    "--measured",
    "--ties",
    "--help",
]
_WORDS = [
    *[
        "A=b.csv",
        "B=b.npy",
        "A=none.csv",
        "=",
        "A=",
        "irn",
        "prirn@3",
        "majority-vote",
        "plackett-luce-ml",
        "prirn@x",
        "0",
        "1",
        "2",
        "-1",
        "x",
        "nan",
        "inf",
        "1e9",
    ],
    *[
        "1,2",
        "0.5",
        "top1_accuracy",
        "nope",
        "toi",
        "counts",
        "table",
        "nominal",
        "leave-one-out",
        "c",
        "[red]x[/red]",
        "out.json",
        "out.csv",
        "out.toi",
    ],
    *("", "out", ".", "/dev/null/x", "a=b=c", "\u202e", "x" * 300),
]


def _words(content: bytes) -> list[str]:
    """Make a command of bytes: its name, a file or two, options with values."""
    if not content:
        return []
    command = _NAMES[content[0] % len(_NAMES)]
    files = [*_FILES, "p.nc", "a.json", "none.csv"]
    words = [command]
    if command != "simulate":
        words.append(files[content[1] % len(files)] if content[1:] else "a.csv")
    for byte in content[2:12]:
        if byte < 96:
            words.append(_OPTIONS[byte % len(_OPTIONS)])
        else:
            words.append(_WORDS[byte % len(_WORDS)] if byte < 216 else files[byte % len(files)])
    # Small and quick: what takes long is not what is looked for.
    small = {"simulate": ["--cases", "3", "--classes", "3"], "compare": ["--resamples", "2"]}
    small |= {"aggregate": ["--draws", "2"], "agreement": ["--replicates", "0"], "discrepancy": ["--replicates", "2"]}
    small |= {"reliability": ["--competence", "0.8"]}
    return [*words, *small.get(command, [])]


def run(content: bytes) -> None:
    """Run a command in a folder of files."""
    _prepare()
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


def _prepare() -> None:
    if _DATA.is_dir():
        return
    _DATA.mkdir()
    for name, content in _FILES.items():
        (_DATA / name).write_bytes(content)
    (_DATA / "p.nc").write_bytes(posterior_bytes())
    write_annotations(KNOWN, _DATA / "a.json")


COMMANDS = Harness(run, [bytes([number, 0, 7 * number, 130, 11 * number, 200]) for number in range(len(_NAMES))])

"""Folders of results: whose results they hold, so that those of other data, or of other commands, are not lost.

Every folder that a command writes into has a small file, ``.plausibly.json``: for each command, the data that its
results are of, the names of its files, and which of them its last run wrote. Others that it wrote before, such as
curves of other metrics, are set aside when it ends, since they would be taken for those of this run.
"""

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from typer import Exit

from plausibly.base.errors import ArgumentError, FileError, PlausiblyWarning
from plausibly.base.names import some

COMMAND = ContextVar("COMMAND", default="")  #: name of the command that runs
RECORD = ".plausibly.json"
_SHARED = {"sweep": "evaluate", "demo": "evaluate"}  # commands that keep their posteriors under the same names
_CLAIMS: dict[Path, dict[str, Any]] = {}  # of folders into which nothing was written yet
_WRITTEN: dict[Path, list[str]] = {}  # files that the command has written, by folder
_CHUNK = 2**20  # bytes
_MOST = 10_000  # files set aside


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write into a sentence that names the place."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror or error}): choose another place.") from error


def make_folder(path: Path | None, data: Iterable[Any] = (), *, fresh: bool | None = None) -> None:
    """Make a folder for results, if one is wanted, and refuse one that holds results of the command of other data.

    Parameters
    ----------
    path
        Folder, which is made with those above it; nothing is done if it is None.
    data
        Files that the results are of, or mappings from annotators to such. Data are the same if the files are, or what
        they hold.
    fresh
        Whether results of other data may be replaced; None for a command without the option ``--fresh``.

    Raises
    ------
    ArgumentError
        If there are results of other data in the folder.
    FileError
        If no file can be written there.
    """
    if path is None:
        return
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    each = [one.values() if isinstance(one, Mapping) else [one] for one in data]
    files = [Path(file) for of in each for file in of]
    if not files:
        return
    record, command = _read(path), _command()
    before = record.get(command, {})
    own = {"data": [_relative(one, path) for one in files], "digest": _digest(files)}
    if before and own["digest"] != before["digest"]:
        names = some([Path(one).name for one in before["data"]], 3)
        if own["data"] == before["data"]:
            warnings.warn(
                f"{names} changed since the results in {path} were written: they are replaced.",
                PlausiblyWarning,
                stacklevel=2,
            )
        elif not fresh:
            replace = "remove this one" if fresh is None else "replace them with --fresh"
            raise ArgumentError(
                f"{path} holds results of other data, {names}: name another folder with --out, or {replace}."
            )
    _CLAIMS[path] = {command: {**before, **own, "files": before.get("files", [])}}


def keep_others(path: Path) -> None:
    """Rename a file that the command is about to write but did not write before, and note which files are its own."""
    folder, command = path.parent, _command()
    record = _read(folder) | _CLAIMS.pop(folder, {})
    if command not in record:
        return
    _WRITTEN.setdefault(folder, []).append(path.name)
    last = record[command].setdefault("last", {}).setdefault(COMMAND.get(), [])
    last += [path.name] * (path.name not in last)
    if path.name in record[command]["files"]:
        _write(folder, record)
        return
    owner = next((one for one in record if path.name in record[one]["files"]), None)
    if path.exists():
        others = record[owner]["files"] if owner else []
        aside = _aside(path, owner or "earlier", others)
        others[:] = [aside.name, *(name for name in others if name not in (path.name, aside.name))]
        whose = f", of plausibly {owner}," if owner else ""
        warnings.warn(f"{path}{whose} was there already: it is now {aside.name}.", PlausiblyWarning, stacklevel=2)
    own = record[command]["files"]
    if (stale := path.with_stem(f"{path.stem}-{command}")).name in own:  # set aside by another command
        stale.unlink(missing_ok=True)
        own.remove(stale.name)
    own.append(path.name)
    _write(folder, record)


@contextmanager
def of_one_run() -> Iterator[None]:
    """Set aside, when a command ends, what only its earlier runs wrote into the folders that it wrote into."""
    _WRITTEN.clear()
    try:
        yield
    except Exit:
        _set_aside()
        raise
    _set_aside()


def _set_aside() -> None:
    for folder, written in _WRITTEN.items():
        own = (record := _read(folder)).get(_command(), {})
        last, moved = own.get("last", {}).get(COMMAND.get(), []), {}
        for path in (folder / name for name in last if name not in written and (folder / name).exists()):
            moved[path.name] = _aside(path, "earlier").name
        if not moved:
            continue
        own["files"] = [name for name in own["files"] if name not in moved]
        own["last"][COMMAND.get()] = list(dict.fromkeys(written))
        _write(folder, record)
        told = ", ".join(f"{name} is now {aside}" for name, aside in moved.items())
        warnings.warn(f"{folder} had files that this run did not write: {told}.", PlausiblyWarning, stacklevel=2)


def _aside(path: Path, whose: str, replaced: Collection[str] = ()) -> Path:
    """Rename a file to the first name that is free, or of one that may be `replaced`."""
    names = (path.with_stem(f"{path.stem}-{whose}{number}") for number in ("", *range(2, _MOST)))
    return path.replace(next(one for one in names if not one.exists() or one.name in replaced))


def _command() -> str:
    return _SHARED.get(COMMAND.get(), COMMAND.get())


def _read(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def results_in(folder: Path) -> set[str]:
    """Names of the files in a folder that commands wrote."""
    return {name for one in _read(folder).values() for name in one.get("files", ())}


def _write(folder: Path, record: dict[str, Any]) -> None:
    with writing(folder / RECORD):
        (folder / RECORD).write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8", newline="\n")


def _relative(file: Path, folder: Path) -> str:
    with suppress(ValueError):  # of another drive
        return os.path.relpath(file, folder)
    return str(file.resolve())


def _digest(files: Iterable[Path]) -> str:
    """Digest of what files hold; of a folder, of the names and sizes of its files."""
    from plausibly.data.annotations.io.files import parted  # which imports pandas

    found = hashlib.blake2b(digest_size=16)
    for named in files:
        file, sheet = parted(named)
        found.update((sheet or "").encode())
        if file.is_dir():
            inner = sorted(one for one in file.rglob("*") if one.is_file())
            found.update(repr([(str(one.relative_to(file)), one.stat().st_size) for one in inner]).encode())
        elif file.is_file():
            with file.open("rb") as opened:
                while chunk := opened.read(_CHUNK):
                    found.update(chunk)
        else:
            found.update(str(named).encode())
        found.update(b"\0")
    return found.hexdigest()

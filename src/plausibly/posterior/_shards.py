"""Work in shards that are on disk as soon as they are done, where the same work finds them after an interruption.

A folder holds the shards' files and a *manifest* of everything that the work depends on. A file appears under its name
only when it is complete, and the name carries the checksum of its contents; a file that does not match it counts for
nothing.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from plausibly.errors import ArgumentError, FileError, reason
from plausibly.fingerprint import file_digest

Made = TypeVar("Made")

_MANIFEST = "manifest.json"
_UNFINISHED = "unfinished-"


class Shards:
    """The finished shards of a piece of work.

    Parameters
    ----------
    folder
        Where they are, made where it does not exist.
    manifest
        Everything that they depend on, in plain texts and numbers.
    fresh
        Start over, whatever the folder holds.

    Raises
    ------
    ArgumentError
        If the folder holds shards of other work.
    FileError
        If the folder cannot be written.

    Examples
    --------
    >>> shards = Shards(Path("p.parts"), {"seed": 0})
    >>> _ = shards.add(0, lambda path: path.write_text("done"))
    >>> Shards(Path("p.parts"), {"seed": 0}).find(0).read_text()
    'done'
    >>> Shards(Path("p.parts"), {"seed": 1})
    Traceback (most recent call last):
        ...
    plausibly.errors.ArgumentError: p.parts holds what another run finished (seed was 0 and is 1): finish that one, name
    another place, or start over with fresh=True (--fresh).
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any], *, fresh: bool = False):
        self.folder = folder
        self.manifest = manifest = json.loads(json.dumps(manifest))
        try:
            if fresh and (folder / _MANIFEST).exists():
                self.remove()
            folder.mkdir(parents=True, exist_ok=True)
            self._check(manifest)
        except OSError as error:
            raise FileError(f"{folder} cannot be written ({reason(error)}): choose another place.") from error

    def _check(self, manifest: Mapping[str, Any]) -> None:
        place = self.folder / _MANIFEST
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if not all(path.name.startswith(_UNFINISHED) for path in self.folder.iterdir()):
                raise ArgumentError(
                    f"{self.folder} is needed for finished parts, but holds something else: move it away, or name "
                    "another place."
                ) from None
            text = json.dumps(manifest, indent=1)
            self._put(lambda path: path.write_text(text, encoding="utf-8"), lambda path: _MANIFEST)
            return
        except ValueError:
            found = {}
        if found != manifest:
            was, now = _flat(found), _flat(manifest)
            names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
            what = ", ".join(f"{name[-1]} was {was.get(name)} and is {now.get(name)}" for name in names)
            raise ArgumentError(
                f"{self.folder} holds what another run finished ({what}): finish that one, name another place, or "
                "start over with fresh=True (--fresh)."
            )
        for path in self.folder.glob(f"{_UNFINISHED}*"):
            _delete(path)  # of a process that was killed

    def find(self, number: int) -> Path | None:
        """Return the file of a finished shard, if it is there and intact."""
        for path in sorted(self.folder.glob(f"{number:06d}-*")):
            if path.name == self._name(number, path):
                return path
        return None

    def add(self, number: int, write: Callable[[Path], Any], room: int = 0) -> Path:
        """Let ``write`` write the file of a shard, and keep it; ``room`` is how many bytes it may take at most.

        Raises
        ------
        FileError
            If it cannot be written, for example because the disk is full; what is finished stays.
        """
        try:
            _reserve(self.folder, room)
            return self._put(write, partial(self._name, number))
        except (OSError, FileError) as error:
            cause = error.__cause__ if isinstance(error, FileError) and error.__cause__ else error
            raise FileError(
                f"{self.folder} cannot be written ({reason(cause)}): make room there, and run the same again, which "
                "goes on with what is finished."
            ) from error

    def adopt(self, number: int, path: Path) -> Path:
        """Keep a complete file that lies in the folder already."""
        return path.replace(self.folder / self._name(number, path))

    def hand_over(self, path: Path, out: Path) -> None:
        """Move the file that the shards were joined to where it is wanted, and forget the shards."""
        try:
            path.replace(out)
        except OSError as error:
            raise FileError(
                f"{out} cannot be written ({reason(error)}): make room for it, and run the same again; what is "
                f"finished is in {self.folder}."
            ) from error
        self.remove()

    def remove(self) -> None:
        """Forget all shards; as long as any are left, the manifest says what they are of."""
        for path in self.folder.iterdir():
            if path.name != _MANIFEST:
                _delete(path)
        (self.folder / _MANIFEST).unlink()
        self.folder.rmdir()

    @staticmethod
    def _name(number: int, path: Path) -> str:
        return f"{number:06d}-{file_digest(path)}"

    def _put(self, write: Callable[[Path], Any], name: Callable[[Path], str]) -> Path:
        """Let ``write`` write a file, which appears under its name when it is complete."""
        return write_whole(write, lambda path: self.folder / name(path), self.folder)


def _flat(manifest: Any, *names: str) -> dict[tuple[str, ...], Any]:
    """Texts and numbers of a manifest, by the names that lead to them."""
    if not isinstance(manifest, dict):
        return {names: manifest} if names else {}
    return {key: value for name, inner in manifest.items() for key, value in _flat(inner, *names, name).items()}


def write_whole(write: Callable[[Path], Any], place: Callable[[Path], Path], folder: Path) -> Path:
    """Let ``write`` write a file in a folder, which appears at its place when it is complete."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=_UNFINISHED) as unfinished:
        path = Path(unfinished) / "file"
        write(path)
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        return path.replace(place(path))


def _reserve(folder: Path, room: int) -> None:
    """Make sure that there is room: HDF5 takes the process down with it where it cannot finish a file."""
    if room and hasattr(os, "posix_fallocate"):
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, room)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def check_shard(shard: object) -> None:
    """Refuse what is no number of cases.

    Raises
    ------
    ArgumentError
        If it is none.
    """
    if isinstance(shard, bool) or not isinstance(shard, int | np.integer) or shard < 1:
        raise ArgumentError(f"shard must be a whole number of at least 1, but {shard!r} was given.")


def work_through(
    shards: Shards,
    sizes: Sequence[int],
    make: Callable[[int], Made],
    write: Callable[[Made, Path], Any],
    advance: Callable[[int], None],
    elsewhere: Callable[[Sequence[int]], Generator[tuple[int, bytes], None, None]] | None = None,
    room: Callable[[Made], int] = lambda made: 0,
) -> list[Path]:
    """Find or make every shard, one after the other or elsewhere.

    Parameters
    ----------
    shards
        Where finished ones are.
    sizes
        How many cases are in each.
    make, write
        Compute the shard of a number, which depends on no other, and write what was computed to a file.
    advance
        Told how many cases more are done.
    elsewhere
        In place of ``make`` and ``write``: takes the numbers of all shards to be made, and yields them in any order,
        each with the contents of its file.
    room
        How many bytes a file may take at most.

    Returns
    -------
    Their files, in order.
    """
    paths: dict[int, Path] = {}
    missing = []
    for number, size in enumerate(sizes):
        path = shards.find(number)
        if path is None and elsewhere is not None:
            missing.append(number)
            continue
        if path is None:
            made = make(number)
            path = shards.add(number, partial(write, made), room(made))
            del made
        paths[number] = path
        advance(size)
    if elsewhere is not None and missing:
        with closing(elsewhere(missing)) as made:
            for number, data in made:
                paths[number] = shards.add(number, lambda path, data=data: path.write_bytes(data))
                del data
                advance(sizes[number])
    return [paths[number] for number in range(len(sizes))]

"""Canonical posteriors, sweeps and results that tests read instead of sampling their own.

Each is made once per version of the source and found by every worker and every later run: it is pickled into a folder
of the user's cache under a digest of the source of the package and of this file. Whoever reads one must not change it.

    from tests import worlds
    posterior = worlds.labels_posterior()
"""

import fcntl
import hashlib
import os
import pickle
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
#: Where tests keep compiled programs and worlds; PLAUSIBLY_TEST_CACHE names another folder.
CACHE = Path(
    os.environ.get("PLAUSIBLY_TEST_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plausibly-tests"
)


@cache
def source_digest() -> str:
    """Digest of the package's source and of this file."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "models").glob("*.py")]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def world(make: Callable[[], T]) -> Callable[[], T]:
    """A function without arguments whose result is made once, by whichever process is first."""

    @cache
    @wraps(make)
    def found() -> Any:
        folder = CACHE / "worlds" / source_digest()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{make.__name__}.pickle"
        with (folder / f"{make.__name__}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                made = make()
                apart = path.with_suffix(f".{os.getpid()}")
                apart.write_bytes(pickle.dumps(made))
                apart.replace(path)
        return pickle.loads(path.read_bytes())

    return found

"""Execute the notebooks, as many at a time as there are cores, into the cache from which Sphinx takes their outputs.

Notebooks whose code did not change since are not executed again.
"""

import sys
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 600  #: seconds of a cell


def main() -> int:
    """Execute the notebooks that are not in the cache, and return how many failed."""
    cache = get_cache(str(ROOT / "build" / "notebooks"))
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cache.add_nb_to_project(str(notebook))
    found = load_executor("temp-parallel", cache).run_and_cache(timeout=TIMEOUT)
    failed = [*found.excepted, *found.errored]
    for path in failed:
        print(f"{path} failed: run it by itself, with make notebooks, to see where.", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())

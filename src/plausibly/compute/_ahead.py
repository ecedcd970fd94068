"""Reading ahead."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Item = TypeVar("Item")


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Take each item, such as a range that is read from disk, while the one before is worked on.

    Examples
    --------
    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    iterator = iter(items)
    nothing = object()
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, iterator, nothing)
        while (item := coming.result()) is not nothing:
            coming = reader.submit(next, iterator, nothing)
            yield cast(Item, item)

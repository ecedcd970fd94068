"""Log of what takes time, under the name ``plausibly``; nothing is printed unless the user configures logging."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

LOGGER = logging.getLogger("plausibly")
LOGGER.addHandler(logging.NullHandler())


@contextmanager
def logged(step: str) -> Iterator[None]:
    """Log a step when it begins (DEBUG) and, with its seconds, when it is done (INFO); one without words is not."""
    if not step:
        yield
        return
    LOGGER.debug("%s: begins", step)
    begun = monotonic()
    yield
    LOGGER.info("%s: %.2f s", step, monotonic() - begun)

"""Progress bars and the log of what takes time, under the name ``plausibly``."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

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


_lock = Lock()
_shown: list[Bars] = []  # what is on the screen, once for each context that uses it


class Progress:
    """A context in which work reports how far it has come, if ``show`` and on a terminal or in a notebook.

    There is a bar for each step that goes on, in any thread, and none for those that are done. Steps are logged when
    they are finished, shown or not.
    """

    def __init__(self, show: bool = True):
        console = Console(stderr=True)
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[unit]}")
        columns += TimeElapsedColumn(), TimeRemainingColumn()
        hidden = not (show and (console.is_terminal or console.is_jupyter))
        self._bars = Bars(*columns, console=console, disable=hidden, transient=True)
        self._tasks: list[TaskID] = []

    def __enter__(self) -> "Progress":
        if not self._bars.disable:
            with _lock:  # bars of two displays would overwrite each other
                _shown.append(_shown[0] if _shown else self._bars)
                self._bars = _shown[0]
                self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None):
        if not self._bars.disable:
            with _lock:
                for task in self._tasks:
                    self._bars.update(task, visible=False)
                _shown.pop()
                if not _shown:
                    self._bars.stop()

    def task(self, description: str, total: float, unit: str) -> Callable[[float], None]:
        """Open a bar; the function returned moves it on. Work of no parts gets no bar."""
        if not total:
            return lambda n: None
        unit = unit.removesuffix("s") if total == 1 else unit
        task = self._bars.add_task(description, total=total, unit=unit)
        self._tasks.append(task)
        begun, done = monotonic(), 0.0

        def advance(n: float) -> None:
            nonlocal done
            before, done = done, done + n
            self._bars.update(task, completed=done, visible=done < total)
            if before < total <= done:
                LOGGER.debug("%s: %s %s in %.2f s", description, f"{total:,.0f}", unit, monotonic() - begun)

        return advance


wording: ContextVar[Callable[[str], str]] = ContextVar("wording", default=str)  #: of what is told, by a command


def tell(text: str) -> None:
    """Print a line on standard error."""
    Console(stderr=True, highlight=False).print(wording.get()(text), markup=False, soft_wrap=True)

"""Progress on standard error: bars on a terminal or in a notebook, elsewhere a line for each long step."""

from collections.abc import Callable
from threading import Lock
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from plausibly._logging import LOGGER

_lock = Lock()
_shown: list[Bars] = []  # what is on the screen, once for each context that uses it
_WORTH_A_LINE, _EVERY, _LONGEST = 1, 10, 60  # seconds: of a step, and between its lines, at first and in the end
_RARER = 0.05  # share of the time taken, between the two


class Progress:
    """A context in which work reports how far it has come, if ``show``.

    A terminal or a notebook shows a bar for each step that goes on, in any thread, and none for those that are done.
    Elsewhere, as in a log file, every step that takes a second gets a line when it is finished; longer steps also get
    a line about every ten seconds, and in the end every minute. Steps are logged when they are finished, shown or not.
    """

    def __init__(self, show: bool = True):
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            _Times(),
        )
        self._lines = show and not _has_bars(console)
        self._bars = Bars(*columns, console=console, disable=not show or self._lines, transient=True)
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
        if total == 1:
            unit = unit.removesuffix("s")
        report = (self._lines_of if self._lines else self._bar_of)(description, total, unit)
        begun, done = monotonic(), 0.0

        def advance(n: float) -> None:
            nonlocal done
            before, done, taken = done, done + n, monotonic() - begun
            if before < total:
                report(done, taken)
            if before < total <= done:
                LOGGER.debug("%s: %s %s in %.2f s", description, f"{total:,.0f}", unit, taken)

        return advance

    def _bar_of(self, description: str, total: float, unit: str) -> Callable[[float, float], None]:
        task = self._bars.add_task(description, total=total, unit=unit)
        self._tasks.append(task)
        return lambda done, taken: self._bars.update(task, completed=done, visible=done < total)

    def _lines_of(self, description: str, total: float, unit: str) -> Callable[[float, float], None]:
        due = float(_EVERY)

        def report(done: float, taken: float) -> None:
            nonlocal due
            if done >= total:
                if taken >= _WORTH_A_LINE:
                    tell(f"{description}: {total:,.0f} {unit} in {_clock(taken)}")
            elif taken >= due:
                due = taken + min(max(_EVERY, _RARER * taken), _LONGEST)
                left, share = _clock(taken * (total / done - 1)), f"{100 * done / total:.0f} %"
                told = f"{description}: {done:,.0f} of {total:,.0f} {unit} ({share}) in {_clock(taken)}"
                tell(f"{told}, about {left} left")

        return report


class _Times(ProgressColumn):
    """How long a task has taken and, as soon as that can be told, how long it will still take."""

    def render(self, task: Task) -> Text:
        told = _clock(task.elapsed or 0)
        return Text(told if task.time_remaining is None else f"{told}, about {_clock(task.time_remaining)} left")


def _clock(seconds: float) -> str:
    """Time in words.

    Examples
    --------
    >>> _clock(7.2), _clock(125), _clock(3700)
    ('7 s', '2:05 min', '1:01 h')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60}:{whole % 60:02} min" if whole < 3600 else f"{whole // 3600}:{whole % 3600 // 60:02} h"


def tell(text: str) -> None:
    """Print a line where progress is shown."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def _has_bars(console: Console) -> bool:
    return console.is_terminal or console.is_jupyter

"""Progress bars with the time that is left, on the standard error of a terminal or in a notebook."""

from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text


class Progress:
    """A context in which work reports how far it has come: one bar at a time, which disappears when its work is done.

    Parameters
    ----------
    show
        Whether to show anything. Nothing is shown where nobody can watch, as in a log file.

    Examples
    --------
    >>> with Progress(show=False) as progress:
    ...     advance = progress.task("Sampling", 3, "cases")
    ...     advance(3)
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
        visible = show and (console.is_terminal or console.is_jupyter)
        self._bars = Bars(*columns, console=console, disable=not visible, transient=True)

    def __enter__(self) -> "Progress":
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None):
        self._bars.stop()

    def task(self, description: str, total: float, unit: str) -> Callable[[float], None]:
        """Open a bar; the function returned moves it on. Work of no parts gets no bar."""
        if not total:
            return lambda n: None
        task = self._bars.add_task(description, total=total, unit=unit)

        done = 0.0

        def advance(n: float) -> None:
            nonlocal done
            done += n
            self._bars.update(task, completed=done, visible=done < total)

        return advance


class _Times(ProgressColumn):
    """How long a task has taken and, as soon as that can be told, how long it will still take."""

    def render(self, task: Task) -> Text:
        told = _clock(task.elapsed or 0)
        return Text(told if task.time_remaining is None else f"{told}, about {_clock(task.time_remaining)} left")


def _clock(seconds: float) -> str:
    """Put a time into words.

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
    """Print a line where a bar would be shown."""
    console = Console(stderr=True, highlight=False)
    if console.is_terminal or console.is_jupyter:
        console.print(text, markup=False, soft_wrap=True)

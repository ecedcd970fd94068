"""Progress bars with the time that is left, on the standard error of a terminal or in a notebook."""

from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars


class Progress:
    """A context in which work reports how far it has come.

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
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        visible = show and (console.is_terminal or console.is_jupyter)
        self._bars = Bars(*columns, console=console, disable=not visible)

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
        return lambda n: self._bars.advance(task, n)


def tell(text: str) -> None:
    """Print a line where a bar would be shown."""
    console = Console(stderr=True, highlight=False)
    if console.is_terminal or console.is_jupyter:
        console.print(text, markup=False, soft_wrap=True)

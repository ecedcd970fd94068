"""Libraries that only some distances take."""

from importlib import import_module
from types import ModuleType

from plausibly.errors import ArgumentError


def needed(library: str, extra: str) -> ModuleType:
    """Import a library, or say which command installs it.

    Raises
    ------
    ArgumentError
        If it is not installed.

    Examples
    --------
    >>> needed("not_there", "text")
    Traceback (most recent call last):
        ...
    plausibly.errors.ArgumentError: this distance takes the library 'not_there', ... pip install 'plausibly[text]'.
    """
    try:
        return import_module(library)
    except ImportError as error:
        raise ArgumentError(
            f"this distance takes the library {library!r}, which is not installed: "
            f"run pip install 'plausibly[{extra}]'."
        ) from error

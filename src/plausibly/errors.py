"""Errors a user can act on: one sentence with the rule, the value received, the place and the fix."""

import re


class PlausiblyError(ValueError):
    """Base of all errors caused by the user's input."""


class AnnotationError(PlausiblyError):
    """Annotations that break a rule of :class:`plausibly.Annotations`."""


class PredictionError(PlausiblyError):
    """Predictions that do not fit the cases or the classes."""


class FileError(PlausiblyError):
    """A file that is missing, unreadable, truncated or of an unknown format."""


class ArgumentError(PlausiblyError):
    """An argument outside its range, or one that the chosen model does not accept."""


class DistanceError(PlausiblyError):
    """A label that a distance cannot compare, or a value that is not a valid distance."""


class ClusterError(PlausiblyError):
    """A Dask cluster that cannot be reached, that fails, or whose workers run other versions."""


class PlausiblyWarning(UserWarning):
    """Something that was left out or done in an unexpected way; nothing that has to be fixed."""


def reason(error: BaseException) -> str:
    """Extract the reason of a file error from the message of the system, or of HDF5, which quotes it between addresses.

    Examples
    --------
    >>> reason(OSError(28, "No space left on device"))
    'No space left on device'
    """
    quoted = re.search(r"error message = '([^']*)'", str(error))
    if quoted:
        return quoted.group(1)
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).splitlines()[0]


def first_line(error: BaseException) -> str:
    r"""Shorten the message of a library to its first line.

    Examples
    --------
    >>> first_line(ValueError("no table\nat all"))
    'no table'
    """
    return (str(error).splitlines() or [type(error).__name__])[0][:120]

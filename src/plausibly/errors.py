"""Errors a user can act on: one sentence that states the rule, the value received, the place and the mend."""

import re


class PlausiblyError(ValueError):
    """Base of every error raised on account of the user's input."""


class AnnotationError(PlausiblyError):
    """Annotations that break a rule of :class:`plausibly.Annotations`."""


class PredictionError(PlausiblyError):
    """Predictions that do not fit the cases or the classes."""


class FileError(PlausiblyError):
    """A file that is missing, unreadable, truncated or of an unknown format."""


class ArgumentError(PlausiblyError):
    """An argument outside its range, or one that the chosen model has no use for."""


class DistanceError(PlausiblyError):
    """A label that a distance cannot compare, or a distance between two labels that is none."""


class ClusterError(PlausiblyError):
    """A Dask cluster that cannot be reached, that fails, or whose workers would compute something else."""


class PlausiblyWarning(UserWarning):
    """Something that was left out, or done otherwise than one may think; nothing that has to be mended."""


def reason(error: BaseException) -> str:
    """Pick what went wrong with a file from what the system says, or HDF5, which quotes it amid addresses.

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
    r"""Shorten what a library said to one line.

    Examples
    --------
    >>> first_line(ValueError("no table\nat all"))
    'no table'
    """
    return (str(error).splitlines() or [type(error).__name__])[0][:120]

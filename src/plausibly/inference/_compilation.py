"""See :mod:`plausibly.compute`."""

from plausibly.compute import compiler_options as compiler_options
from plausibly.compute import kept_on_disk as kept_on_disk

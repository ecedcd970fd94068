"""What files are, how they fit together, and which commands they are enough for.

:func:`doctor` looks into files of any kind that the package reads, runs no model, and returns a :class:`Checkup`: what
every file is taken for, what does not fit between them, and a complete command for every question that they answer.
``_look.py`` looks into one file, ``_between.py`` says what does not fit, and ``_propose.py`` writes commands. Nothing
here imports JAX.
"""

from plausibly.app.doctor._checkup import Checkup as Checkup
from plausibly.app.doctor._checkup import Proposal as Proposal
from plausibly.app.doctor._checkup import doctor as doctor
from plausibly.app.doctor._looked import Looked as Looked

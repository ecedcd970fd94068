"""Checks of annotations and predictions for problems, before any model sees them.

Findings are not errors: every row of the table is a question about the data, with the number of findings, the number
checked, and examples. Checks that need names of annotators are left out (``of`` is 0) if annotators are anonymous.
:data:`SERIOUS` lists the checks whose findings make results wrong rather than uncertain.
"""

from plausibly.data.audit._audit import COLUMNS as COLUMNS
from plausibly.data.audit._audit import SERIOUS as SERIOUS
from plausibly.data.audit._audit import audit as audit
from plausibly.data.audit._audit import checks_of as checks_of
from plausibly.data.audit._audit import read_for_audit as read_for_audit
from plausibly.data.audit._audit import serious as serious
from plausibly.data.audit._doubts import identical_annotators as identical_annotators
from plausibly.data.audit._doubts import tell_doubts as tell_doubts
from plausibly.data.audit._predictions import exchanged_classes as exchanged_classes
from plausibly.data.audit._repeats import pasted as pasted

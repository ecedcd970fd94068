"""What is odd about annotations and predictions, before any model sees them.

Nothing here is an error: every row of the table is a question to ask of the data, with the number of times it arises,
how often it could have, and examples. Whatever depends on who annotated is left out (``of`` is 0) where annotators are
anonymous. :data:`SERIOUS` lists the checks whose findings make results wrong rather than uncertain.
"""

from plausibly.audit._audit import COLUMNS as COLUMNS
from plausibly.audit._audit import SERIOUS as SERIOUS
from plausibly.audit._audit import audit as audit
from plausibly.audit._audit import serious as serious

"""What every command that reads annotations says of the annotators."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import ref

from plausibly.agreement.chance._agreement import agreement
from plausibly.agreement.chance.annotators import flagged_in_words
from plausibly.agreement.chance.leaning import leaning_in_words
from plausibly.base.errors import Fault, PlausiblyError, PlausiblyWarning
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.labels import Labels


def odd_annotators(read: Annotations | Scores | Labels, *, leaning: bool = True) -> list[str]:
    """Say who among the annotators needs a look, and who is strict or lenient; see :meth:`Agreement.annotators`.

    Not who says the same as another, which is told when labels are read. Of annotators who cannot be compared, nothing
    is said.

    Examples
    --------
    >>> coin = np.random.default_rng(0).integers(2, size=60)
    >>> labels = [["ab"[i % 2]] * 3 + ["ab"[coin[i]]] for i in range(60)]
    >>> odd_annotators(pb.Annotations.from_labels(labels, annotators=["ann", "bob", "cy", "eve"]))
    ['1 of 4 annotators needs a look: eve agrees with the others no better than chance.']
    """
    flagged, leans = _said(read)
    return [*filter(None, [flagged, leans if leaning else ""])]


_last: tuple[Callable[[], Any], tuple[str, str]] = (lambda: None, ("", ""))


def _said(read: Annotations | Scores | Labels) -> tuple[str, str]:
    """Both sentences; of the annotations asked about last, which every screen and page of a command is, as kept."""
    global _last
    if _last[0]() is read:
        return _last[1]
    said = "", ""
    with suppress(PlausiblyError), warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausiblyWarning)
        table = agreement(read, progress=False).annotators()
        same = table["flag"].str.startswith("says the same")
        said = Fault(flagged_in_words(table.assign(flag=table["flag"].mask(same, "")))), leaning_in_words(table)
    _last = ref(read), said
    return said

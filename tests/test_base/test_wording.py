"""Numbers in sentences: no exponent of a percentage, no type of NumPy, no plural of one."""

import re

import numpy as np

from plausibly.base.errors import show
from plausibly.base.names import figures, many
from tests.test_house import python_files, text


def test_no_percentage_has_an_exponent():
    """`.2g` writes 100 as 1e+02."""
    written = re.compile(r":\.[12]g\}['\" ]*%|\{100 \*[^{}]*:\.\dg\}")
    assert not [path.name for path in python_files("src/plausibly") if written.search(text(path))]


def test_values_are_shown_without_their_type():
    shown = [show(value) for value in (np.str_("effusion"), np.float64(2), [np.str_("a")])]
    assert shown == ["'effusion'", "2.0", "['a']"]
    written = [figures(value) for value in (99.7, 0.996 * 100, 1234, 1e-3, np.nan)]
    assert written == ["100", "100", "1,200", "0.001", "nan"]
    assert (many(1, "other"), many(2, "other")) == ("1 other", "2 others")

"""What is broken on purpose exists, and breaking changes it for a while."""

import pytest

from validation.__main__ import CHECKS, SLOW
from validation._breaks import BREAKS


def test_what_the_quick_form_leaves_out_are_checks():
    assert SLOW.keys() < CHECKS.keys()


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_changes_what_it_names(name):
    chosen = BREAKS[name]
    assert chosen.group in CHECKS
    right = chosen.find()[-1]
    with chosen.apply():
        assert chosen.find()[-1] != right
    assert chosen.find()[-1] == right

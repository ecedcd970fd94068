"""Old names of arguments: they do what the new ones do, with a warning."""

import inspect

import pytest

import plausibly as pb
from plausibly.base.errors import renamed

NAMES = [
    (pb.evaluate, "groups", "clusters"),
    (pb.sweep, "groups", "clusters"),
    (pb.conformal, "groups", "by"),
    (pb.agreement.discrepancy_ratio, "groups", "clusters"),
    (pb.agreement.discrepancy_ratio, "strata", "by"),
    (pb.agreement.discrepancy_ratio, "delta", "distance"),
    (pb.agreement.threshold_curve, "groups", "clusters"),
    (pb.agreement.alternative_annotator_test, "groups", "clusters"),
    (pb.agreement.judge, "groups", "clusters"),
    (renamed(old="new")(lambda *, new: new), "old", "new"),
]


@pytest.mark.parametrize(("function", "old", "new"), NAMES)
def test_old_names_of_arguments_are_heard(function, old, new):
    names = inspect.signature(function).parameters
    assert new in names
    assert old not in names
    with pytest.raises(pb.ArgumentError, match=f"{old} is the old name of {new}, but both were given"):
        function(**{old: 1, new: 2})
    with pytest.raises(FutureWarning, match=f"{old} is called {new} now"):  # warnings are errors here
        function(**{old: 1})
    with pytest.warns(FutureWarning, match="old is called new"):
        assert NAMES[-1][0](old=1) == 1

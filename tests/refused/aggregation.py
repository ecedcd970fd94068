"""What `aggregate` and its variants refuse."""

from functools import cache

import plausibly as pb
from tests.refused import refused


@cache
def labels() -> pb.Annotations:
    """Two cases of two classes; made by the first row, since tables are imported when tests are collected."""
    return pb.Annotations.from_labels([["x", "y"], ["x"]], classes=["x", "y"])


REFUSED = [
    refused("a model that does not exist", lambda: pb.aggregate(labels(), "plackett-lucy"), "plackett-lucy"),
]

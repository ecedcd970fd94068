"""Annotated cases of which a classifier has no prediction, which ``--unpredicted`` leaves out."""

from collections.abc import Mapping
from typing import TypeVar

from plausibly.app.cli._output import complain
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.labels import Labels

Read = TypeVar("Read", Annotations, Scores, "Annotations | Scores", Labels)


def predicted_by_all(read: Read, files: Mapping[str, str]) -> Read:
    """Keep the cases that all files have a prediction for, and say how many have none."""
    if isinstance(read, Labels):
        from plausibly.data.labels.predictions import all_predicted as all_labelled

        before, kept = len(read.cases), all_labelled(read, files)
    else:
        from plausibly.data.predictions import all_predicted

        before = read.n_cases
        kept = all_predicted(read if isinstance(read, Annotations) else read.split(0), files)
    if not len(kept):
        raise ArgumentError("no case has a prediction of every classifier: call the cases by the same names.")
    if len(kept) < before:
        complain(
            f"{before - len(kept):,} of {before:,} cases have no prediction of some classifier and are left out; if "
            "these were not chosen at random, the numbers do not hold for all cases",
            "Note",
        )
    return read.of_cases(kept) if isinstance(read, Labels) else read.select(kept)

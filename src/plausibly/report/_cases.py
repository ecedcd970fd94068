"""The undecided cases: plausible classes, annotations, and choices of the classifiers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plausibly.posterior import REMAINDER_NAME, case_names, slots_of, stacked_draws, top_classes
from plausibly.sweeps import Run, Sweep

_MOST_CLASSES = 6
_MOST_ANNOTATIONS = 12
_MOST_NAMES = 3


@dataclass(frozen=True)
class Undecided:
    """A case that the annotations leave open."""

    name: str
    certainty: float  # largest share of draws that agree on which class is the most plausible
    classes: list[
        tuple[str, float, float]
    ]  # the most plausible first; mean plausibility, share of draws in which it leads
    more: int  # further classes
    annotations: list[tuple[str, str]]  # annotators and their annotation; equal annotations are together
    left_out: int  # further annotations
    choices: dict[str, list[tuple[str, float]]]  # by classifier, each with the probability of being most plausible


def undecided(swept: Sweep, run: Run) -> Iterator[Undecided]:
    """Describe the least certain cases of a run, the least certain first."""
    excerpt = run.excerpt
    slots, draws, names = slots_of(excerpt), stacked_draws(excerpt), case_names(excerpt)
    classes = np.asarray(excerpt["constant_data"]["class_names"].values, dtype=str)
    # The same random numbers as in the evaluation, whose certainty is shown.
    top = top_classes(excerpt, 1, int(run.results.attrs["seed"]), break_ties=run.results.attrs["break_ties"])[..., 0]
    for at, name in enumerate(names):
        own = np.arange(slots.start[at], slots.start[at + 1])
        named = slots.class_index[own]
        shares = {classes[index]: float((top[:, at] == index).mean()) for index in np.unique(top[:, at])}
        means = draws[:, own].mean(0)
        leads = run.results["top_class"].sel(case=name).item()  # the class that the tables of cases name
        labels = np.where(slots.is_remainder[own], REMAINDER_NAME, classes[named])
        order = np.lexsort((-means, labels != leads))
        rows = []
        for which in order[:_MOST_CLASSES]:
            if slots.is_remainder[own[which]]:
                first = 1 - sum(shares.get(classes[index], 0.0) for index in named[named >= 0])
                rows.append((_rest(int(slots.n_classes[own[which]])), float(means[which]), max(first, 0.0)))
            else:
                label = str(classes[named[which]])
                rows.append((label, float(means[which]), shares.get(label, 0.0)))
        given = _annotations(swept, str(name))
        choices = {}
        if run.choices is not None:
            for classifier, listed in zip(run.choices["classifier"].values, run.choices.values[:, at], strict=True):
                choices[str(classifier)] = [(str(label), shares.get(str(label), 0.0)) for label in listed]
        yield Undecided(
            name=str(name),
            certainty=max(shares.values()),
            classes=rows,
            more=max(len(order) - _MOST_CLASSES, 0),
            annotations=given[:_MOST_ANNOTATIONS],
            left_out=max(len(given) - _MOST_ANNOTATIONS, 0),
            choices=choices,
        )


def _rest(n: int) -> str:
    return f"{n:,} unnamed classes together" if n > 1 else REMAINDER_NAME.replace("remainder", "unnamed class")


def _annotations(swept: Sweep, case: str) -> list[tuple[str, str]]:
    annotators: dict[str, list[str]] = {}
    for annotator, blocks in swept.annotations.rankings(case).items():
        annotators.setdefault(" ≻ ".join(" = ".join(block) for block in blocks), []).append(annotator)
    # The most frequent annotations come first; equally frequent ones keep their order.
    ordered = sorted(annotators.items(), key=lambda item: -len(item[1]))
    return [(_who(names, swept.annotations.anonymous), text) for text, names in ordered]


def _who(names: list[str], anonymous: bool) -> str:
    if len(names) > _MOST_NAMES or (anonymous and len(names) > 1):
        return f"{len(names)} annotators"
    return f"annotator {names[0]}" if anonymous else ", ".join(names)

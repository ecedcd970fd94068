"""The undecided cases: what is plausible there, what annotators said, what classifiers chose."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plausibly.posterior import REMAINDER_NAME, case_names, slots_of, stacked_draws, top_classes
from plausibly.sweeps import Run, Sweep

_MOST_CLASSES = 6
_MOST_OPINIONS = 12
_MOST_NAMES = 3


@dataclass(frozen=True)
class Undecided:
    """A case of which the annotations leave much open.

    Attributes
    ----------
    name
        Of the case.
    certainty
        Share of draws that agree on the most plausible class.
    classes
        Name, mean plausibility, and the probability of being the most plausible class, for the classes of the greatest
        mean; what nobody named is together one of them.
    more
        How many classes somebody named beyond these.
    opinions
        Who said what, equal annotations together.
    silent
        How many different annotations are left out.
    choices
        By classifier, its first choices, each with the probability of being the most plausible class.
    """

    name: str
    certainty: float
    classes: list[tuple[str, float, float]]
    more: int
    opinions: list[tuple[str, str]]
    silent: int
    choices: dict[str, list[tuple[str, float]]]


def undecided(swept: Sweep, run: Run) -> Iterator[Undecided]:
    """Describe the least certain cases of a run, the least certain first."""
    excerpt = run.excerpt
    slots, draws, names = slots_of(excerpt), stacked_draws(excerpt), case_names(excerpt)
    classes = np.asarray(excerpt["constant_data"]["class_names"].values, dtype=str)
    # The same random numbers as in the evaluation, so that shares are those of its certainty.
    top = top_classes(excerpt, 1, int(run.results.attrs["seed"]), break_ties=run.results.attrs["break_ties"])[..., 0]
    for at, name in enumerate(names):
        own = np.arange(slots.start[at], slots.start[at + 1])
        named = slots.class_index[own]
        shares = {classes[index]: float((top[:, at] == index).mean()) for index in np.unique(top[:, at])}
        means = draws[:, own].mean(0)
        order = np.argsort(-means, kind="stable")
        rows = []
        for which in order[:_MOST_CLASSES]:
            if slots.is_remainder[own[which]]:
                first = 1 - sum(shares.get(classes[index], 0.0) for index in named[named >= 0])
                rows.append((_rest(int(slots.n_classes[own[which]])), float(means[which]), max(first, 0.0)))
            else:
                label = str(classes[named[which]])
                rows.append((label, float(means[which]), shares.get(label, 0.0)))
        opinions = _opinions(swept, str(name))
        choices = {}
        if run.choices is not None:
            for classifier, listed in zip(run.choices["classifier"].values, run.choices.values[:, at], strict=True):
                choices[str(classifier)] = [(str(label), shares.get(str(label), 0.0)) for label in listed]
        yield Undecided(
            name=str(name),
            certainty=max(shares.values()),
            classes=rows,
            more=max(len(order) - _MOST_CLASSES, 0),
            opinions=opinions[:_MOST_OPINIONS],
            silent=max(len(opinions) - _MOST_OPINIONS, 0),
            choices=choices,
        )


def _rest(n: int) -> str:
    return (
        f"{n:,} classes that nobody named, together" if n > 1 else REMAINDER_NAME.replace("remainder", "unnamed class")
    )


def _opinions(swept: Sweep, case: str) -> list[tuple[str, str]]:
    said: dict[str, list[str]] = {}
    for annotator, blocks in swept.annotations.rankings(case).items():
        told = " ≻ ".join(" = ".join(block) for block in blocks)
        said.setdefault(told, []).append(annotator)
    # What several say comes first; the rest keeps its order.
    ordered = sorted(said.items(), key=lambda item: -len(item[1]))
    return [(_who(names, swept.annotations.anonymous), told) for told, names in ordered]


def _who(names: list[str], anonymous: bool) -> str:
    if len(names) > _MOST_NAMES or (anonymous and len(names) > 1):
        return f"{len(names)} annotators"
    return f"annotator {names[0]}" if anonymous else ", ".join(names)

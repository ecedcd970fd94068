"""Raters, systems and cases that may not be what they are taken for, in sentences."""

import re
from collections.abc import Iterator

import numpy as np

from plausibly.base.names import plain_name, same_names, some
from plausibly.data.outcomes import Outcomes, cell_of_rows

_MANY = 3  # times as many outcomes as others have
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


def of_names(outcomes: Outcomes) -> Iterator[str]:
    """Say which names are written in two ways, which people may be judges, and which judges may be people."""
    for what, names in (("system", outcomes.systems), ("rater", outcomes.raters)):
        for first, second in same_names(names.tolist()):
            yield (
                f"The {what}s {first!r} and {second!r} are counted apart, but their names differ only in capitals, "
                "spaces or punctuation; write them alike if they are one."
            )
    yield from _of_people(outcomes)
    yield from _of_judges(outcomes)


def _of_people(outcomes: Outcomes) -> Iterator[str]:
    """Tell of people who are called like a system, or rated far more than all other people."""
    number = np.bincount(outcomes.rater, minlength=len(outcomes.raters))
    most = number[~outcomes.is_person].max(initial=0)
    words = [_words(system) for system in outcomes.systems.tolist()]
    people = np.flatnonzero(outcomes.is_person)
    for person in people.tolist():
        name, others = str(outcomes.raters[person]), number[people[people != person]]
        like = [str(system) for system, of in zip(outcomes.systems, words, strict=True) if _words(name) <= of]
        if _words(name) and like:
            yield f"{name} counts as a person, but the name is in that of the system {some(like, 3)}; is it a model?"
        elif len(others) and number[person] >= _MANY * others.max() and 2 * number[person] >= most:
            yield (
                f"{name} counts as a person, but rated {number[person]:,} times, and nobody else more than "
                f"{others.max():,} times; is it a model?"
            )


def _words(name: str) -> set[str]:
    return {*re.findall(r"[^\W_]+", name.lower())}


def _of_judges(outcomes: Outcomes) -> Iterator[str]:
    """Tell of judges who rated no more than a person and far less than another judge."""
    number = np.bincount(outcomes.rater, minlength=len(outcomes.raters))
    of_judges = number[~outcomes.is_person]
    if not len(of_judges):
        return
    few = ~outcomes.is_person & (number <= _MANY * number[outcomes.is_person].max()) & (2 * number <= of_judges.max())
    if few.any():
        who = outcomes.raters[few].tolist()
        count, name = "counts as a judge", "it is a person, name it"
        if len(who) > 1:
            count, name = "count as judges", "they are people, name them"
        yield (
            f"{some(who)} {count}, but rated about as few outputs as people do; if {name} with people= (--people), too."
        )


def of_cases(outcomes: Outcomes, judge: str) -> Iterator[str]:
    """Say that a judge's cases are written differently from those of people, if some, or all, look so."""
    cell, n_cells, at = cell_of_rows(outcomes)
    by_people, by_judge = np.zeros((2, n_cells), bool)
    by_people[cell[outcomes.is_person[outcomes.rater]]] = True
    by_judge[cell[outcomes.raters[outcomes.rater] == judge]] = True
    without, only = (np.unique(outcomes.case[at[one]]) for one in (by_people & ~by_judge, by_judge & ~by_people))
    people, judges = (outcomes.cases[np.setdiff1d(*two)].tolist() for two in ((without, only), (only, without)))
    known = {_key(name): name for name in judges}
    same = [(name, known[_key(name)]) for name in people if _key(name) in known]
    if not same:  # 16 and test 16
        numbered = {_number(name): name for name in judges}
        both = [(name, numbered[_number(name)]) for name in people if _number(name) in numbered]
        same = [(first, second) for first, second in both if first.isdecimal() or second.isdecimal()]
    if not same and people and judges and not (by_people & by_judge).any():
        same = [(people[0], judges[0])]
    for first, second in same[:1]:
        yield (
            f"{(by_people & ~by_judge).sum():,} of the {by_people.sum():,} {outcomes.unit}s that people rated have no "
            f"outcome by {judge}. Are cases written in two ways? People have {first!r}, {judge} {second!r}."
        )


def _number(name: str) -> str:
    """The last number in a name, or the name."""
    return _key((re.findall(r"\d+", name) or [name])[-1])


def _key(name: str) -> str:
    return _ZEROS.sub("", plain_name(name))

"""What columns of unknown names may hold, by words in their names."""

import re
import shlex
from collections.abc import Sequence
from itertools import chain

from plausibly.base.errors import FileError
from plausibly.base.names import some
from plausibly.data.annotations.io.spellings import find

ROLES = ("case", "annotator", "label", "score")  #: in the order in which options name their columns
#: Words of names of columns that hint at what they are; in the order in which columns are looked for.
_HINTS = {
    "annotator": "annotator reader rater coder expert judge reviewer grader labeler labeller evaluator user worker",
    "label": "label class diagnosis answer response verdict category decision finding choice",
    "score": "score rating grade",
    "case": "case id image item task study question prompt document sample example text scan slide",
}
_SAID = ("label", "score")


def roles_by_words(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of unknown names that look like a role, by role, by words in their names."""
    usual = {role: name for role in _HINTS if (name := find(role, names)) is not None}
    called: dict[str, list[str]] = {}
    for role, hints in _HINTS.items():
        free = [name for name in names if name not in {*usual.values(), *chain(*called.values())}]
        words = {name: {*re.split(r"[^a-z]+", name.lower())} for name in free}
        like = [name for name in free if words[name] & {*hints.split()} and not ("id" in words[name] and role in _SAID)]
        if like and role not in usual and not (role == "score" and "label" in {*usual, *called}):
            called[role] = like
    return {role: called[role] for role in ROLES if role in called}


def refuse_unknown(names: Sequence[str]) -> None:
    """Refuse a table none of whose columns has a known name, if one looks like the case."""
    if "case" not in (roles := roles_by_words(names)):
        return
    label = None if "label" in roles else find("label", names)
    looks = ", ".join(f"{some(like)} looks like {role}" for role, like in roles.items())
    options = " ".join(f"--{role} {shlex.quote(like[0])}" for role, like in roles.items())
    raise FileError(
        f"no column has a name that is known, but {looks}: say so, {options}, or, in predictions, call it case"
        + ("" if label is None else f" ({label!r} is taken for the label; name another with --label)")
    )

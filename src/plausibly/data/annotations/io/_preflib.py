"""PrefLib's files of votes: one file is one case, its alternatives are the classes, its voters the annotators.

The four kinds differ in whether votes may tie alternatives (``t``) or not (``s``), and whether every vote names all
alternatives (``c``) or some (``i``). A line "12: 3,{1,2}" stands for twelve voters, who have no names: annotators are
anonymous. A header of lines with "#" says how many alternatives and voters there are and what the alternatives are
called; files from before 2022 have a number and "number,name" lines instead, and both are read.

Several files are several cases, by the names of the files, and must have the same alternatives in the same order unless
classes are given.
"""

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from plausibly.base.errors import AnnotationError, FileError, show
from plausibly.base.names import numbered, repeated, some, to_names, unknown_class
from plausibly.data.annotations._rows import Rows, check_size
from plausibly.data.annotations.io.files import lines_of, naming, read_text
from plausibly.data.annotations.io.long_table import refuse_names
from plausibly.data.annotations.views import rankings_of

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations
    from plausibly.data.annotations.io.source import Source

SUFFIXES = (".soc", ".soi", ".toc", ".toi")
_HEADER = re.compile(r"# *([A-Z ]+?)(?: *([0-9]{1,9}))? *:(.*)")
_ITEM = r"(?:[0-9]{1,9}|\{ *[0-9]{1,9}(?: *, *[0-9]{1,9})* *\})"
_ORDER = re.compile(rf" *{_ITEM}(?: *, *{_ITEM})* *")
_VOTES = re.compile(r"([0-9]{1,9}) *[:,](.*)")


class Profile(NamedTuple):
    """The votes of one file."""

    classes: np.ndarray  #: names of the alternatives
    counts: list[int]  #: of voters who gave each order
    orders: list[list[list[int]]]  #: blocks of alternatives, counted from 0, best first


def read_preflib(source: "Source") -> Rows:
    """Read one file as one case, or a folder as a case per file; alternatives must be among the classes, if given."""
    path, classes = source.path, source.classes
    assert path is not None
    if not path.is_dir():
        return _rows({case_name(path): parse_profile(read_text(path), path.suffix.lower())}, classes)
    profiles: dict[str, Profile] = {}
    first = None
    for file in sorted(path.iterdir()):
        if file.suffix.lower() not in SUFFIXES:
            continue
        with naming(file.name):
            if case_name(file) in profiles:
                raise FileError(f"another file names the case {case_name(file)!r}, too; rename one")
            profile = parse_profile(read_text(file), file.suffix.lower())
            if first is None:
                first = profile
            elif classes is None and not np.array_equal(profile.classes, first.classes):
                raise AnnotationError(
                    "its alternatives are not those of the files before it; pass classes= (--classes) with all names, "
                    "or read the files one by one"
                )
            profiles[case_name(file)] = profile
    if not profiles:
        raise FileError(f"the folder has no {some(SUFFIXES, 4)} files; name another")
    return _rows(profiles, classes)


def case_name(path: Path) -> str:
    """Return the name of the case that a file stands for: the file's, what cannot be in file names written as %XX."""
    return unquote(path.stem)


def parse_profile(text: str, suffix: str) -> Profile:
    """Read the text of a file."""
    lines = lines_of(text)
    head, names, start = _header(lines) if text.lstrip().startswith("#") else _old_header(lines)
    n_classes = head.get("NUMBER ALTERNATIVES", len(names))
    if sorted(names) != list(range(1, n_classes + 1)):
        raise FileError(
            f"the header promises {n_classes} alternatives and names {len(names)}; number them from 1 and name each "
            f"once"
        )
    classes = to_names([names[i] for i in range(1, n_classes + 1)], "class")
    counts: list[int] = []
    orders: list[list[list[int]]] = []
    for number, line in enumerate(lines[start:], start + 1):
        if not line.strip():
            continue
        found = _VOTES.fullmatch(line.strip())
        if found is None or not _ORDER.fullmatch(found[2]):
            raise FileError(f"line {number} is {show(line)}; write votes like 12: 3,{{1,2}}")
        if not int(found[1]):
            raise AnnotationError(f"line {number}: this vote has 0 voters; remove it, or give a number of 1 or more")
        counts.append(int(found[1]))
        orders.append(_order(found[2], number, n_classes, suffix))
    if not orders:
        raise AnnotationError("there are no votes; give at least one")
    check_size(sum(count * sum(map(len, order)) for count, order in zip(counts, orders, strict=True)), len(orders))
    for what, have in (("NUMBER VOTERS", sum(counts)), ("NUMBER UNIQUE ORDERS", len(orders))):
        if head.get(what, have) != have:
            raise FileError(
                f"the header promises {head[what]} as {what.lower()}, and there are {have}; the file is cut off, "
                "or the header wrong, so write it again"
            )
    return Profile(classes, counts, orders)


def _header(lines: list[str]) -> tuple[dict[str, int], dict[int, str], int]:
    """Read the lines with "#": numbers by what they count, alternatives by number, and where the votes begin."""
    head: dict[str, int] = {}
    names: dict[int, str] = {}
    votes = (place for place, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    start = next(votes, len(lines))
    for place, line in enumerate(lines[:start], 1):
        if (entry := _HEADER.fullmatch(line.strip())) is None:
            continue
        key, number, content = entry[1], entry[2], entry[3].strip()
        if key == "ALTERNATIVE NAME" and number:
            if int(number) in names:
                raise FileError(f"line {place} names alternative {number} again; name each once")
            names[int(number)] = content
        elif key.startswith("NUMBER "):
            if not re.fullmatch("[0-9]{1,9}", content):
                raise FileError(f"line {place}: {key.lower()} is {show(content)}; write a whole number")
            head[key] = int(content)
    return head, names, start


def _old_header(lines: list[str]) -> tuple[dict[str, int], dict[int, str], int]:
    """Read the form from before 2022: a number, that many "number,name", and "voters,sum,orders"."""
    lines = [line.strip() for line in lines]
    first = next((place for place, line in enumerate(lines) if line), 0)
    if not re.fullmatch("[0-9]{1,6}", lines[first]):
        raise FileError(f"line {first + 1} is {show(lines[first])}; begin with '# NUMBER ALTERNATIVES: …' and its like")
    n_classes = int(lines[first])
    names: dict[int, str] = {}
    for place in range(first + 1, min(first + 1 + n_classes, len(lines))):
        number, _, name = lines[place].partition(",")
        if not re.fullmatch("[0-9]{1,6}", number) or int(number) in names:
            raise FileError(
                f"line {place + 1} is {show(lines[place])}; write the number and the name of an alternative"
            )
        names[int(number)] = name.strip()
    at = first + 1 + n_classes
    found = re.fullmatch(r"([0-9]{1,9}) *,[^,]*, *([0-9]{1,9})", lines[at] if at < len(lines) else "")
    if found is None:
        raise FileError(
            f"there is no line 'voters,sum,orders' after {n_classes} alternatives; the file is cut off, so write it "
            f"again"
        )
    counted = {"NUMBER ALTERNATIVES": n_classes, "NUMBER VOTERS": int(found[1]), "NUMBER UNIQUE ORDERS": int(found[2])}
    return counted, names, at + 1


def _order(text: str, line: int, n_classes: int, suffix: str) -> list[list[int]]:
    blocks = [[int(n) - 1 for n in re.findall("[0-9]+", item)] for item in re.findall(r"\{[^}]*\}|[0-9]+", text)]
    named = [index for block in blocks for index in block]
    for index in named:
        if not 0 <= index < n_classes:
            raise AnnotationError(f"line {line}: there is no alternative {index + 1}; count from 1 to {n_classes}")
    if again := repeated(named):
        raise AnnotationError(f"line {line}: alternative {again[0] + 1} is ranked twice; rank each once")
    if suffix[1] == "s" and len(named) > len(blocks):
        raise AnnotationError(
            f"line {line} ties alternatives, which {suffix} does not allow; name the file .t{suffix[2:]}"
        )
    if suffix[3] == "c" and len(named) < n_classes:
        raise AnnotationError(
            f"line {line} ranks {len(named)} of {n_classes} alternatives, and {suffix} needs all; name the file "
            f"{suffix[:3]}i"
        )
    return blocks


def _rows(profiles: dict[str, Profile], classes: np.ndarray | None) -> Rows:
    if classes is None:
        classes = next(iter(profiles.values())).classes
    at = {name: index for index, name in enumerate(classes.tolist())}
    rows: list[tuple[int, int, int, int]] = []  # case, order, class and rank of every class in an order
    counts: list[int] = []  # of voters by order
    first: list[int] = []  # number of the first voter of each order, in her case
    for position, (case, profile) in enumerate(profiles.items()):
        for name in profile.classes.tolist():
            if name not in at:
                raise AnnotationError(f"case {case!r}: {unknown_class(name, at)}")
        rename = [at[name] for name in profile.classes.tolist()]
        for order, blocks in enumerate(profile.orders, len(counts)):
            rows += [(position, order, rename[k], rank) for rank, block in enumerate(blocks) for k in block]
        first += [0, *np.cumsum(profile.counts[:-1]).tolist()]
        counts += profile.counts
    case, order, class_index, rank = np.array(rows).T
    repeats = np.array(counts)[order]
    entry = np.repeat(np.arange(len(rows)), repeats)  # as many times as the order has voters
    voter = np.array(first)[order[entry]] + np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return Rows(
        cases=to_names(list(profiles), "case"),
        classes=classes,
        annotators=numbered(int(voter.max()) + 1),
        anonymous=True,
        case=case[entry],
        annotator=voter,
        class_index=class_index[entry],
        rank=rank[entry],
    )


def write_preflib(annotations: "Annotations", path: Path, form: str) -> None:
    """Write one case to a file, or a file for each into a folder."""
    refuse_names(annotations, "PrefLib's files")
    for name in annotations.classes.tolist():
        if re.search(r"[\r\n]", name):
            raise AnnotationError(
                f"the class {name!r} has a line break in its name, which PrefLib cannot hold; rename it"
            )
    single = path.suffix.lower() in SUFFIXES
    if single and (annotations.n_cases > 1 or case_name(path) != annotations.cases[0]):
        raise AnnotationError(
            f"a PrefLib file holds one case, which has the name of the file, and here are {some(annotations.cases)}; "
            f"name a folder, with form={form!r} (--as {form})"
        )
    classes = annotations.classes.tolist()
    texts = []
    for position, case in enumerate(annotations.cases.tolist()):
        rankings = rankings_of(
            annotations, position, annotations.annotators.tolist(), list(map(str, range(1, len(classes) + 1)))
        )
        votes = Counter(_vote(blocks, case, form, len(classes)) for blocks in rankings.values())
        texts.append(_profile(f"{file_name(case)}.{form}", case, form, classes, votes))
    if not single:
        path.mkdir(parents=True, exist_ok=True)
    for case, text in zip(annotations.cases.tolist(), texts, strict=True):
        (path if single else path / f"{file_name(case)}.{form}").write_text(text, encoding="utf-8", newline="\n")


def file_name(case: str) -> str:
    """Write the name of a case so that it can be a file's; :func:`case_name` undoes it."""
    return quote(case, safe=" ,;()+=@&").replace(".", "%2E")


def _vote(blocks: list[list[str]], case: str, form: str, n_classes: int) -> str:
    if form[0] == "s" and any(len(block) > 1 for block in blocks):
        raise AnnotationError(
            f"case {case!r}: an annotator ties classes, which .{form} does not allow; write t{form[1:]}"
        )
    if form[2] == "c" and sum(map(len, blocks)) < n_classes:
        raise AnnotationError(
            f"case {case!r}: an annotator leaves classes unranked, which .{form} does not allow; write {form[:2]}i"
        )
    return ",".join(block[0] if len(block) == 1 else f"{{{','.join(block)}}}" for block in blocks)


def _profile(name: str, case: str, form: str, classes: list[str], votes: Counter) -> str:
    head = {"FILE NAME": name, "TITLE": " ".join(case.split()), "DATA TYPE": form, "MODIFICATION TYPE": "original"}
    head |= {"NUMBER ALTERNATIVES": len(classes), "NUMBER VOTERS": votes.total(), "NUMBER UNIQUE ORDERS": len(votes)}
    head |= {f"ALTERNATIVE NAME {number}": alternative for number, alternative in enumerate(classes, 1)}
    lines = [f"# {key}: {value}" for key, value in head.items()]
    lines += [f"{count}: {vote}" for vote, count in votes.items()]
    return "\n".join(lines) + "\n"

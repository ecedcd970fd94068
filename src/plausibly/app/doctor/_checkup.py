"""All files together."""

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from plausibly.app.doctor._as_predictions import as_classifier, as_classifiers, as_scores
from plausibly.app.doctor._between import PREDICTING, extra_cases, unfit, unfit_gold, unfit_risks, unnamed, unpredicted
from plausibly.app.doctor._look import look, of_one_rater, with_classes
from plausibly.app.doctor._looked import Looked, named_as_judges
from plausibly.app.doctor._propose import GOLD, Proposal, Together, of_posterior, of_systems, propose
from plausibly.app.screen import WIDTH, paragraph
from plausibly.base.errors import ArgumentError
from plausibly.base.names import listed, many, no_answers, some
from plausibly.base.shown import Shown
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.files import TABLES, check_path, ending, named_file

_BEGINNING = "predictions"  # how names of files of classifiers often begin


@dataclass(frozen=True, repr=False)
class Checkup(Shown, kind="doctor"):
    """What files are, what does not fit between them, and commands.

    Parameters
    ----------
    files
        What every file is taken for.
    cautions
        Sentences on how labels came about, where that limits what they tell.
    problems
        A sentence for whatever does not fit.
    proposals
        Questions that the files answer, each with its command.
    """

    files: tuple[Looked, ...]
    cautions: tuple[str, ...]
    problems: tuple[str, ...]
    proposals: tuple[Proposal, ...]

    @property
    def commands(self) -> list[str]:
        """Commands to be run in a shell."""
        return [one.command for one in self.proposals]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, most: float = np.inf, width: int = WIDTH) -> list[str]:
        """Lines of a screen, broken where they are printed to at most so many of a `width`.

        Of more, questions after the second are left out, then notes, files, and what does not fit, the last first.
        """
        alike: dict[str, list[str]] = {}
        for one in self.files:
            alike.setdefault(str(one).removeprefix(f"{one.path}: "), []).append(str(one.path))
        files = [f"{listed(paths)}: {words}" for words, paths in alike.items()]
        notes = [*dict.fromkeys(f"Note: {note}." for one in self.files for note in one.notes)]
        problems = [f"Does not fit: {problem}" for problem in self.problems]
        if not self.proposals:
            problems.append(
                "There is no command for these files: give annotations, as a table of case, annotator, class."
            )
        commands: dict[str, list[str]] = {}
        for one in self.proposals:
            commands.setdefault(one.question, []).append(one.command)
        questions = [
            f"{question}{f' ({len(found) - 1:,} more with other files)' if found[1:] else ''}\n  {found[0]}"
            for question, found in commands.items()
        ]
        lines = [*(f"First: {caution}" for caution in self.cautions), *files, *notes, *problems]
        lines += [("" if number else "\n") + question for number, question in enumerate(questions)]
        rest = [one for group in (problems, files, notes, questions[2:]) for one in group]
        n_all = len(lines)
        while rest and sum(_rows(line, width) for line in lines) + (len(lines) < n_all) > most:
            lines.remove(rest.pop())
        return lines + [f"{n_all - len(lines)} more with --all."] * (len(lines) < n_all)


def _rows(text: str, width: int) -> int:
    """Rows of a terminal that sentences take, and commands, which are not broken."""
    lines = (() if line.startswith("  plausibly ") else paragraph(line, width) for line in text.splitlines())
    return sum(max(len(line), 1) for line in lines)


def doctor(
    paths: str | os.PathLike | Iterable[str | os.PathLike],
    *,
    case: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    score: str | None = None,
    count: str | None = None,
    layout: str | None = None,
    control: str | None = None,
    missing: str | None = None,
    repeats: str | None = None,
) -> Checkup:
    r"""Identify files, and propose the commands that they are enough for.

    Parameters
    ----------
    paths
        Files with annotations, predictions, labels, ratings, classes, risks, groups of cases, outcomes of systems or a
        posterior, exports of tools among them, in any order; or ``NAME=FILE`` for the files of one annotator each.
        A file of labels by one rater is gold labels if its name says so (``gold.csv``, ``truth.csv``), and else
        predictions of a classifier that is called by the name of the file; a table with a column for each classifier is
        taken for as many files.
    case, annotator, label, score, count, layout, control, missing, repeats
        How to read the first file, or those of one annotator each, and others that cannot be read without, as for
        :func:`plausibly.read_annotations`; texts in `missing` are separated by commas.

    Returns
    -------
    Checkup
        What each file is taken for (``files``), what does not fit between them (``problems``) and complete
        ``commands``; as text, all of it. No model is run. A file that cannot be read has the role None, and a sentence
        on why.

    Raises
    ------
    ArgumentError
        If no file is given, or what is given is no path.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("case,annotator,class\np,ann,x\np,bob,y\nq,ann,x\nq,bob,x\n")
    ...     print(doctor(Path(folder, "a.csv")).commands[0].replace(folder, "data"))
    plausibly audit data/a.csv
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ArgumentError('a file must be given, but none was: write for example doctor(["annotations.csv"]).')
    for path in given:
        check_path(path, "the names of files")
    each = dict(filter(None, map(named_file, given)))
    roles = {"case": case, "annotator": annotator, "label": label, "score": score, "count": count}
    rest = {"layout": layout, "control": control, "missing": missing, "repeats": repeats}
    asked = {name: text for name, text in (roles | rest).items() if text is not None}
    named = Path(" ".join(f"{who}={file}" for who, file in each.items()))
    files = [look(named, files=each, asked=asked)] if each else []
    taken = bool(each) or not asked
    for path in (Path(path) for path in given if named_file(path) is None):
        first, second = ({}, asked) if files else (asked, {})
        found = look(path, asked=first)
        if found.role is None and asked and (files or len(given) > 1):
            again = look(path, asked=second)
            found = found if again.role is None else again
        taken |= found.asked == asked
        files.append(found)
    if not taken:  # by none of several files
        files[0] = look(files[0].path, asked=asked)
    lists = [one for one in files if one.role == "classes"]
    classes = lists[0] if lists else None
    problems = [f"{one.path} is a second list of classes: leave one out." for one in lists[1:]]
    if classes is not None and classes.classes is not None:
        again = ("annotations", "predictions", "labels of one rater", None)
        known = classes.classes
        files = [with_classes(one, known) if one.role in again else one for one in files]
    mains = sorted((one for one in files if one.role in ("annotations", "labels")), key=_size, reverse=True)
    if mains:
        files = [as_classifier(one, mains[0]) or as_scores(one, mains[0]) or one for one in files]
        files = [part for one in files for part in as_classifiers(one, mains[0]) or [one]]
        mains = [one for one in mains if any(one is other for other in files)]
    if not mains and (main := _of_one_each(files)) is not None:
        mains = [main]
        if GOLD not in main.files:
            files = [main, *(one for one in files if str(one.path) not in main.files.values())]
    files = [_one_annotator(one, mains[0]) or one for one in files] if mains else files
    mains = [one for one in mains if one is mains[0] or any(one is other for other in files)]
    proposals, lacking = of_systems(files)
    problems += lacking
    for main in mains[:1]:
        together, told = _together(main, files, classes)
        problems += told
        proposals += propose(together)
        if main.conditions is not None and together.gold is None:
            told = "which plausibly readers compares with gold labels: give them, too, in a file called gold.csv"
            problems.append(f"{main.path} has readings under conditions, {told}.")
    for main in mains[1:]:
        shared = len(np.intersect1d(main.cases, mains[0].cases))
        other = " and ".join(some(one.cases[:1]) for one in (main, mains[0]) if one.cases is not None)
        named = "" if shared else f" (they are called {other}, for example)"
        shared_with = f"shares {many(shared, 'case')} with {mains[0].path}{named}"
        alone = [one for one in mains if one.by_one] if main.by_one and shared else []
        words = shlex.join(f"{one.path.stem}={one.path}" for one in alone)
        alike = shared and not alone and type(main.content) is type(mains[0].content)
        fix = " To take them together, put all rows into one table." if alike else ""
        fix = f" If each is by one annotator, name them: plausibly doctor {words}" if len(alone) > 1 else fix
        problems.append(f"{main.path} {shared_with}, and is looked at alone.{fix}")
        proposals += propose(Together(main))
    classifiers = named_by_file([one for one in files if one.role == "predictions"])
    for posterior in (one for one in files if one.role == "posterior"):
        proposals += of_posterior(posterior, classifiers)
    cautions = [f"{one.path}: {told}" for one in mains for told in _cautions(one)]
    return Checkup(tuple(files), tuple(cautions), tuple(problems), tuple(proposals))


def _of_one_each(files: Iterable[Looked]) -> Looked | None:
    """Take gold labels, or else files of labels by one rater each, for annotations where there are no others."""
    gold = [one for one in files if one.role == "gold labels"]
    raters = [one for one in files if one.role == "labels of one rater" and not one.of_tool]
    others = [one for one in files if one.role in PREDICTING]
    each = {GOLD: gold[0]} if gold and others else {one.path.stem: one for one in raters} if len(raters) > 1 else {}
    if not each:
        return None
    found = {name: str(one.path) for name, one in each.items()}
    main = look(Path(" ".join(f"{name}={file}" for name, file in found.items())), files=found)
    return None if main.role != "annotations" else main


def _one_annotator(one: Looked, main: Looked) -> Looked | None:
    """Take a table of annotations by one annotator, of most of the cases that others annotated, for one rater's."""
    read, labels = one.content, one.labels
    alone = isinstance(read, Annotations) and labels is not None and not read.anonymous and len(read.annotators) == 1
    alone = alone and not one.files and ending(one.path) in TABLES and main.cases is not None and one is not main
    if not alone or labels is None or 2 * len(np.intersect1d(main.cases, read.cases)) < len(main.cases):
        return None
    who = str(read.annotators[0])
    found = of_one_rater(Path(f"{one.path}:{who}"), labels.cases[labels.case].tolist(), labels.values.tolist(), {})
    return replace(found, role="labels of one rater", column=who)


def _cautions(one: Looked) -> Iterator[str]:
    """Say what may be wrong in annotations, and that further labels follow from the first ones, if so."""
    yield from one.faults
    if isinstance(one.content, Annotations) and (rounds := one.content.rounds) is not None:
        yield rounds.told


def _together(main: Looked, files: Iterable[Looked], classes: Looked | None) -> tuple[Together, list[str]]:
    """Find what fits annotations, and say what does not."""
    problems, fitting, golden = [], [], []
    read = main.content
    if classes is not None and isinstance(read, Annotations) and not np.array_equal(read.classes, classes.classes):
        problems.append(
            f"{main.path} names classes that {classes.path} does not list, so it is read without: add them."
        )
        classes = None
    risks = groups = None
    for one in files:
        if one.role == "gold labels":
            golden.append(one)
        elif one.role in PREDICTING:
            told = list(unfit(one, main))
            problems += told
            fitting += [] if told else [one]
            if not told and (n := unpredicted(one, main)):
                problems.append(
                    f"{one.path} has no prediction for {many(n, 'case')} of {main.path}, which the commands leave out "
                    "(--unpredicted leave-out); if these were not chosen at random, numbers do not hold for all cases."
                )
            if not told and (name := unnamed(one, main)) is not None:
                problems.append(
                    f"{one.path} has numbers of one class, but their column {name!r} is called after neither of "
                    f"{main.path}: say with --positive which class they are the probability of."
                )
            if not told and (extra := extra_cases(one, main)):
                problems.append(f"{one.path} has {many(extra, 'case')} that {main.path} has not, which are ignored.")
        elif one.role == "groups" and groups is None:
            told = list(unfit(one, main))
            problems += told
            groups = groups if told else one
        elif one.role == "risks" and isinstance(main.content, Annotations):
            if (word := unfit_risks(one, main.content.classes)) is not None:
                problems.append(word)
            else:
                risks = one
    if isinstance(read, Annotations) and (silent := sorted(chain(*no_answers(read.classes.tolist())))):
        problems.append(
            f"{main.path} has classes that may stand for no answer ({some(silent)}): if they do, leave such labels out "
            f"(--missing {','.join(silent)!r})."
        )
    gold = None
    for one in golden[:1]:
        told = unfit_gold(one, main)
        problems += [] if told is None else [told]
        gold = one if told is None else None
    return Together(main, named_by_file(fitting), gold, classes, risks, groups), problems


def _size(one: Looked) -> tuple[bool, bool, bool, int]:
    """Order annotations: first those with a column that names the annotators, the largest of them first.

    Other tables may be of classifiers, and are if these are called like models. Exports of tools that test language
    models come last.
    """
    rows = one.labels if one.content is None else one.content.annotation_case
    by_people = one.labels is None or not named_as_judges(one.labels.annotators)
    return not one.of_tool, by_people, "annotator" in one.columns.values(), 0 if rows is None else len(rows)


def named_by_file(files: Iterable[Looked]) -> dict[str, Looked]:
    """Name classifiers by their files."""
    found: dict[str, Looked] = {}
    for one in files:
        stem = (one.column or one.path.stem).replace("=", "-")
        short = stem.removeprefix(_BEGINNING).strip("-_. ") if stem.startswith(_BEGINNING) else stem
        name = short if short and short not in found else stem
        while name in found:
            name += "'"
        found[name] = one
    return found

"""The formats of annotations, a line each: which files may hold it, how it is recognised, read and written.

A source has the first format of the table whose suffix it has and that recognises it. Readers of exports and of rows by
case return :class:`Answers`, those of tables that are long already the source, and all others :class:`Rows`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

from plausibly.base.errors import ArgumentError, FileError, suggest
from plausibly.data.annotations._rows import Rows
from plausibly.data.annotations.io._annotation_tools import (
    argilla_answers,
    doccano_answers,
    has_argilla_fields,
    is_argilla,
    is_doccano,
    is_doccano_table,
    is_prodigy,
    prodigy_answers,
)
from plausibly.data.annotations.io._counts import read_counts, write_counts
from plausibly.data.annotations.io._crowdflower import crowdflower_answers, is_crowdflower
from plausibly.data.annotations.io._inspect import ARCHIVE, inspect_verdicts, is_inspect
from plausibly.data.annotations.io._label_studio import is_label_studio, label_studio_answers
from plausibly.data.annotations.io._label_studio_min import is_label_studio_min, label_studio_min_answers
from plausibly.data.annotations.io._model_tests import (
    deepeval_verdicts,
    is_deepeval,
    is_lm_eval,
    is_promptfoo,
    lm_eval_verdicts,
    promptfoo_verdicts,
)
from plausibly.data.annotations.io._mturk import is_mturk, mturk_answers
from plausibly.data.annotations.io._preflib import SUFFIXES as PREFLIB
from plausibly.data.annotations.io._preflib import read_preflib, write_preflib
from plausibly.data.annotations.io._rankings import parse_rankings, write_rankings
from plausibly.data.annotations.io._shared_tables import (
    ALT_TEST,
    alt_test_answers,
    chaos_nli_answers,
    counted_answers,
    is_alt_test,
    is_chaos_nli,
    is_counted,
)
from plausibly.data.annotations.io._toloka import is_toloka, toloka_answers
from plausibly.data.annotations.io._traces import (
    is_langfuse,
    is_langsmith,
    is_mlflow,
    is_phoenix,
    langfuse_verdicts,
    langsmith_verdicts,
    mlflow_verdicts,
    phoenix_verdicts,
)
from plausibly.data.annotations.io._zooniverse import is_zooniverse, zooniverse_answers
from plausibly.data.annotations.io.answers import Answers
from plausibly.data.annotations.io.by_annotator import answers_by_annotator
from plausibly.data.annotations.io.case_rows import (
    holds_nested,
    is_by_case,
    nested_answers,
    read_case_rows,
    write_case_rows,
)
from plausibly.data.annotations.io.files import BY_ANNOTATOR, TABLES
from plausibly.data.annotations.io.long_table import is_long, is_of_scores, write_long_table
from plausibly.data.annotations.io.source import JSON, Source, column_of, open_files
from plausibly.data.annotations.io.unread import refuse_unread
from plausibly.data.annotations.io.verdicts import Reader, answers_to_one
from plausibly.data.annotations.io.wide import counted_long, is_counted_long, is_wide, rater_rows, wide_rows

LINES = (".jsonl",)


class Format(NamedTuple):
    """A format of annotations."""

    name: str  #: if it is written, the ``form`` in :func:`plausibly.annotations.write_annotations`
    suffixes: tuple[str, ...]  #: of files that may hold it
    content: str  #: of such a file, for the documentation
    recognise: Callable[[Source], bool]
    read: Callable[[Source], Any]
    write: Callable[..., None] | None = None  #: of annotations, to a path
    written: tuple[str, ...] = ()  #: suffixes of files that are written
    folder: bool = False  #: whether it is a folder of such files
    controls: bool = False  #: whether there may be several controls, or questions, to choose from
    verdicts: Reader | None = None  #: of a tool that tests language models: what raters say of outputs


def _any(source: Source) -> bool:
    return True


def as_it_is(source: Source) -> Source:
    """Take a table that is long already, whose columns are read when it is known which of them."""
    return source


def _of_records(is_one: Callable[[Any], bool]) -> Callable[[Source], bool]:
    """Make a test of whether the first of several records is one of a tool's."""
    return lambda source: bool(source.records) and is_one(source.records[0])


def _of_tool(
    name: str, suffixes: tuple[str, ...], content: str, recognise: Callable[[Source], bool], verdicts: Reader
) -> Format:
    """Declare the export of a tool that tests language models."""

    def read(source: Source) -> Answers:
        return answers_to_one(verdicts(source), source.control)

    return Format(name, suffixes, content, recognise, read, controls=True, verdicts=verdicts)


#: Exports of tools that test language models.
TOOLS = (
    _of_tool(
        "inspect",
        (".json", ARCHIVE),
        "log of Inspect AI (log format 2): scorers of samples",
        is_inspect,
        inspect_verdicts,
    ),
    _of_tool(
        "promptfoo", JSON[:1], "results of promptfoo (2, 3): assertions on outputs", is_promptfoo, promptfoo_verdicts
    ),
    _of_tool(
        "deepeval", JSON[:1], "test run of DeepEval (2, 3): metrics of test cases", is_deepeval, deepeval_verdicts
    ),
    _of_tool("lm-eval", JSON, "samples of lm-evaluation-harness (0.4)", _of_records(is_lm_eval), lm_eval_verdicts),
    _of_tool("mlflow", JSON, "traces of MLflow (3) with assessments", is_mlflow, mlflow_verdicts),
    _of_tool("langfuse", (*JSON, *TABLES), "scores of Langfuse (2, 3)", is_langfuse, langfuse_verdicts),
    _of_tool("langsmith", (*JSON, *TABLES), "feedback of LangSmith", is_langsmith, langsmith_verdicts),
    _of_tool("phoenix", (*JSON, *TABLES), "span annotations of Phoenix (9)", is_phoenix, phoenix_verdicts),
)
#: Formats that are taken apart into answers.
OF_ANSWERS = (
    *TOOLS,
    Format("chaos-nli", JSON, "ChaosNLI: `uid`, `label_counter`", _of_records(is_chaos_nli), chaos_nli_answers),
    Format(
        "nested-counts",
        JSON[:1],
        "label counts, `{case: {class: count}}`, if the classes are given",
        is_counted,
        counted_answers,
    ),
    Format(
        ALT_TEST,
        JSON[:1],
        "alternative annotator test, `{annotator: {case: label}}`, if there are at least ten cases for each annotator",
        is_alt_test,
        alt_test_answers,
    ),
    Format(
        "by-annotator",
        BY_ANNOTATOR,
        "folder with a file for each annotator, called by the name, as doccano exports it; files may be exports, or "
        "tables with the columns `case` and `label`",
        _any,
        lambda source: read_by_annotator(source),
        folder=True,
    ),
    Format(
        "mturk",
        TABLES,
        "batch results of Mechanical Turk: `HITId`, `WorkerId`, `Answer.…`; rejected assignments are left out and "
        "counted",
        is_mturk,
        mturk_answers,
        controls=True,
    ),
    Format(
        "toloka",
        TABLES,
        "results of Toloka: `INPUT:…`, `OUTPUT:…`, `ASSIGNMENT:worker_id`; tasks with a known answer are left out and "
        "counted",
        is_toloka,
        toloka_answers,
        controls=True,
    ),
    Format(
        "crowdflower",
        TABLES,
        "full report of CrowdFlower, Figure Eight or Appen: `_unit_id`, `_worker_id`; test questions are left out and "
        "counted",
        is_crowdflower,
        crowdflower_answers,
        controls=True,
    ),
    Format(
        "zooniverse",
        TABLES,
        "classifications of Zooniverse: `subject_ids`, `user_name`, and `annotations` as JSON",
        is_zooniverse,
        zooniverse_answers,
        controls=True,
    ),
    Format(
        "label-studio",
        JSON,
        "export of Label Studio; cancelled and empty annotations are left out and counted",
        _of_records(is_label_studio),
        label_studio_answers,
        controls=True,
    ),
    Format(
        "label-studio-min",
        (*JSON, *TABLES),
        "export of Label Studio as CSV or JSON-MIN",
        is_label_studio_min,
        label_studio_min_answers,
        controls=True,
    ),
    Format(
        "argilla",
        (*JSON, *TABLES),
        "export of Argilla (1, 2), also as a data set",
        lambda source: has_argilla_fields({*source.names}) or _of_records(is_argilla)(source),
        argilla_answers,
        controls=True,
    ),
    Format("prodigy", JSON, "export of Prodigy", _of_records(is_prodigy), prodigy_answers),
    Format("doccano", JSON, "export of doccano, by one annotator", _of_records(is_doccano), doccano_answers),
    Format("doccano-csv", TABLES, "export of doccano as CSV, by one annotator", is_doccano_table, doccano_answers),
    Format(
        "cases",
        (*JSON, *TABLES),
        "one row per case with list columns: `annotations` or `labels`, and optionally `annotators`; lists in CSV are "
        "JSON. In place of them `soft_label`, a mapping from class to probability; `soft_weight` is the number of "
        "annotators behind it",
        is_by_case,
        read_case_rows,
        write_case_rows,
        LINES,
    ),
    Format(
        "wide",
        TABLES,
        "one row per case and one column per annotator: `case`, and columns with the same few texts as cells, or "
        "called after annotators (`Rater1`, `r2`), also of numbers",
        is_wide,
        wide_rows,
    ),
    Format(
        "raters-in-rows",
        TABLES,
        "one row per annotator and one column per case, as survey forms export it; only if it is named",
        lambda source: False,
        rater_rows,
    ),
    Format(
        "nested",
        JSON[:1],
        "nested mappings from case and annotator to label, or from case to such a row",
        lambda source: holds_nested(source.content),
        nested_answers,
    ),
)
FORMATS = (
    Format("preflib", PREFLIB, "PrefLib, a folder of such files", _any, read_preflib, folder=True),
    *OF_ANSWERS,
    Format(
        "long-counts",
        TABLES,
        "one row per case and class, and how often it was named: `case`, `label`, `count` (or `n`, `votes`)",
        is_counted_long,
        counted_long,
    ),
    Format(
        "scores",
        (*TABLES, *JSON),
        "scores: `case`, `annotator`, `score`",
        lambda source: is_of_scores(source.names, source.columns),
        as_it_is,
    ),
    Format(
        "table",
        (*TABLES, *JSON),
        "long table: `case`, `annotator`, `class`, optionally `rank` or `confidence` (also `task`, `worker`, `label`, "
        "or the only column with a name such as `image_id`, `reader` or `diagnosis`)",
        lambda source: source.suffixes == {*LINES} or is_long(source.names),
        as_it_is,
        write_long_table,
        (".csv", ".parquet"),
    ),
    # Its reader says what is wrong with records of no other form.
    Format(
        "records", JSON[:1], "", _of_records(lambda one: isinstance(one, dict)), label_studio_answers, controls=True
    ),
    Format(
        "rankings",
        JSON[:1],
        "rankings: nested lists (case, annotator, block, class), or an object "
        '`{"classes": […], "cases": {case: {annotator: [[class, …], …]}}}`',
        _any,
        lambda source: parse_rankings(source.content, source.classes),
        write_rankings,
        JSON[:1],
    ),
    Format(
        "counts",
        (*TABLES, ".npy"),
        "label counts: one row per case, one column per class",
        _any,
        read_counts,
        write_counts,
        (".csv", ".parquet", ".npy"),
    ),
    *(
        Format(s[1:], (s,), "PrefLib, one file per case", _any, read_preflib, partial(write_preflib, form=s[1:]), (s,))
        for s in PREFLIB
    ),
)
#: Suffixes of all files that are read.
SUFFIXES = tuple(dict.fromkeys(suffix for known in FORMATS if not known.folder for suffix in known.suffixes))


def read_source(source: Source, formats: Sequence[Format] = FORMATS) -> Rows | Source | None:
    """Read a source as a long table, or as rows of ranked or counted classes; return None if no format recognises it.

    The format is the one that is named, or the first that recognises the source.
    """
    found = taken_apart(source, formats)
    if not isinstance(found, Answers):
        return found
    columns = found.to_columns()
    found.tell_left_out(source.path)
    cells = {name: column if name == "label" else column_of(column) for name, column in columns.items()}
    return source.as_long(cells, scores=found.scores, graded=found.rating)


def taken_apart(source: Source, formats: Sequence[Format]) -> Rows | Answers | Source | None:
    """Read a source by the reader of its format."""
    if not source.roles:
        refuse_unread({*map(str, source.content)} if isinstance(source.content, Mapping) else source.names)
    known = format_of(source, formats)
    if known is not None and source.control is not None and not known.controls:
        refuse_control(source.control)
    return None if known is None else known.read(source)


def read_by_annotator(source: Source) -> Answers:
    """Read files by one annotator each, which those of a folder are called after; see ``by_annotator.py``."""
    if (parts := source.parts) is None:
        assert source.path is not None
        files = {path.stem: path for path in sorted(source.path.iterdir()) if path.suffix.lower() in BY_ANNOTATOR}
        parts = open_files(files, control=source.control, classes=source.classes).parts
    return answers_by_annotator(parts or {}, lambda part: taken_apart(part, OF_ANSWERS))


def refuse_control(control: str) -> NoReturn:
    """Refuse the name of a control for what has none."""
    raise ArgumentError(
        "a control is for exports of annotation tools, platforms, and tools that test language models, but "
        f"{control!r} was given: leave it out."
    )


def format_of(source: Source, formats: Sequence[Format] = FORMATS) -> Format | None:
    """Return the format that is named, or the first that recognises a source; None if none does."""
    candidates = [one for one in formats if one.folder is source.folder and source.suffixes & {*one.suffixes}]
    if source.layout is None:
        return next((one for one in candidates if one.recognise(source)), None)
    if (named := next((one for one in candidates if one.name == source.layout), None)) is not None:
        return named
    names = list(dict.fromkeys(one.name for one in formats))
    if source.layout not in names:
        fix = suggest(source.layout, names, f"choose from {', '.join(names)}")
        raise ArgumentError(f"there is no format {source.layout!r}: {fix}")
    suffixes = dict.fromkeys(suffix for one in formats if one.name == source.layout for suffix in one.suffixes)
    raise FileError(f"the format {source.layout!r} is in files that end in {', '.join(suffixes)}; name such a file")

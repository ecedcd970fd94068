"""What a file is taken for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.data.labels import Labels

#: Parts of names of models, among those of raters.
MODEL = re.compile(r"gpt|llama|claude|gemini|gemma|mistral|mixtral|qwen|deepseek|llm|bert|palm|model")
JUDGE = re.compile(f"{MODEL.pattern}|judge|auto|metric")  #: and of what judges outputs of systems


def named_as_judges(names: Iterable[Any]) -> bool:
    """Whether all names are such as models and other judges have."""
    return all(JUDGE.search(str(name).lower()) for name in names)


Role = Literal[
    "annotations",
    "labels",
    "predictions",
    "labels of one rater",
    "gold labels",
    "classes",
    "risks",
    "plausibilities",
    "groups",
    "outcomes",
    "posterior",
]


@dataclass(frozen=True)
class Looked:
    """What a file is taken for.

    Parameters
    ----------
    path
        The file.
    role
        What it is for; None if it cannot be read.
    words
        A sentence with its format and content, or on why it cannot be read.
    columns
        Names of columns with what each is taken for.
    content
        What was read of it: annotations, scores, labels or a matrix; None where that is not needed.
    labels
        The same as labels for measures of agreement; None if it has no such form.
    cases, classes
        Names of cases and of classes, as far as the file has any.
    control
        Question of an export that is read, of several there are.
    by, clusters
        Columns with groups of cases, and one with clusters of cases, such as patients.
    of_tool
        Whether it is the export of a tool that tests language models.
    options
        Words of the command for outcomes of systems.
    column
        Column of a table with one for each classifier, which ends the path then.
    files
        Files by one annotator each, if these are several, which the path lists then.
    asked
        Options of reading by name, such as columns that only look like their role, which commands have to be told.
    conditions
        Column of the conditions under which readers read every case, as in a reader study.
    notes
        What was left out of what is read, and why.
    faults
        What may be wrong in what is read.
    """

    path: Path
    role: Role | None
    words: str
    columns: Mapping[str, str] = field(default_factory=dict)
    content: Any = None
    labels: Labels | None = None
    cases: np.ndarray | None = None
    classes: np.ndarray | None = None
    control: str | None = None
    by: Sequence[str] = ()
    clusters: str | None = None
    of_tool: bool = False
    options: Sequence[str] = ()
    column: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    conditions: str | None = None
    notes: Sequence[str] = ()
    faults: Sequence[str] = ()

    @property
    def by_one(self) -> bool:
        """Whether annotations may be those of a single annotator, who is not named."""
        read = self.content
        return isinstance(read, Annotations) and read.anonymous and read.per_case.max(initial=0) == 1

    @property
    def given(self) -> list[str]:
        """Words by which a command takes the file, or the files, and knows its columns."""
        named = [word for option, text in self.asked.items() for word in (f"--{option}", text)]
        return [*([f"{who}={file}" for who, file in self.files.items()] or [str(self.path)]), *named]

    def __str__(self) -> str:
        meant: dict[str, list[str]] = {}
        for name, what in self.columns.items():
            meant.setdefault(what, []).append(name)
        taken = "; ".join(f"{what}: {some(names)}" for what, names in meant.items())
        return f"{self.path}: {self.words}{f' ({taken})' if taken else ''}"

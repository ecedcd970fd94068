"""Logs of Inspect AI, as JSON or as ``.eval``: an archive with ``header.json`` and a file in ``samples/`` for each.

Log format version 2. A sample is a case, by its id, and by its epoch if there are several. Scorers whose values are all
C, I, P or N (correct, incorrect, partial, no answer) answer one question, ``correct``, and are its raters; any other
scorer is a question of its own, as is every key of a score that is a mapping. ``answer``, the model's answer in the
first score that has one, and ``target`` are not verdicts. The tested model is the system; C counts 1, P counts ½, as in
Inspect's own accuracy.
"""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, FileError, show
from plausibly.data.annotations.io.answers import is_list, is_nothing, scalars, to_name
from plausibly.data.annotations.io.files import check_not_empty, parse_json, reading
from plausibly.data.annotations.io.spellings import GRADES
from plausibly.data.annotations.io.verdicts import TARGET, Output, Verdict, list_in, record_of

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

ARCHIVE = ".eval"
_GRADES = {name.upper(): counts for name, counts in GRADES.items()}
_MOST = 2**31  # bytes of the samples of an archive, unpacked


def read_archive(path: Path) -> dict[str, Any]:
    """Read the samples of an archive, in the form that a JSON log has."""
    check_not_empty(path)
    with reading("no .eval archive or truncated"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "header.json" not in names:
            raise FileError("the archive has no header.json, so it is no finished log of Inspect; give a .eval file")
        inside = sorted(name for name in names if name.startswith("samples/") and name.endswith(".json"))
        if sum(archive.getinfo(name).file_size for name in inside) > _MOST:
            raise FileError("the samples take more than 2 GB; convert the log to tables with Inspect, and give these")
        header = parse_json(archive.read("header.json").decode(), "header.json")
        samples = [parse_json(archive.read(name).decode(), name) for name in inside]
    return {**record_of(header, "header.json"), "samples": samples}


def is_inspect(source: "Source") -> bool:
    """Whether this is a log of Inspect."""
    content = source.content
    return isinstance(content, Mapping) and "samples" in content and bool({"eval", "plan"} & set(content))


def inspect_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield what scorers say of samples, and what the model answered."""
    log = record_of(source.content, "the log")
    samples = [record_of(one, f"sample {number}") for number, one in enumerate(list_in(log, "samples", "the log"), 1)]
    epochs = {one.get("epoch", 1) for one in samples if isinstance(one.get("epoch", 1), int)}
    run = log.get("eval")
    run = run if isinstance(run, Mapping) else {}
    model = str(run.get("model") or "model")
    rows: list[tuple[str, str, Any, Mapping]] = []
    cases = []
    for number, sample in enumerate(samples, 1):
        name = to_name(sample.get("id"), f"sample {number}: the id")
        case = name if len(epochs) < 2 else f"{name}, epoch {sample.get('epoch', 1)}"
        cases.append(case)
        target = sample.get("target")
        target = target[0] if is_list(target) and len(target) == 1 else target
        further = {"sample": name, "epoch": sample.get("epoch", 1), "target": None if is_list(target) else target}
        scores = sample.get("scores") or {}
        answer = None
        for scorer, score in record_of(scores, f"sample {name!r}: scores").items():
            score = record_of(score, f"sample {name!r}, scorer {scorer!r}: the score")
            if "value" not in score:
                raise AnnotationError(
                    f"sample {name!r}, scorer {scorer!r}: the score {show(score)} has no value; export again"
                )
            answer = score.get("answer") if answer is None else answer
            value = score["value"]
            parts = {f"{scorer}/{key}": one for key, one in value.items()} if isinstance(value, Mapping) else None
            rows += [(what, case, one, further) for what, one in (parts or {scorer: value}).items()]
        yield Verdict("answer", case, model, answer, further, of_model=True)
        if not is_list(target):
            yield Verdict(TARGET, case, TARGET, target, further, of_model=True)
    names = [what for what, *_ in rows]
    graded = {*names}
    graded -= {what for what, _, value, _ in rows if not is_nothing(value) and str(value) not in _GRADES}
    system = str(run["model"]) if run.get("model") else None
    fields = scalars(run, ("model",)) | {"date": run.get("created")}
    scored = {case for _, case, *_ in rows}
    rows += [(what, case, None, {}) for case in cases if case not in scored for what in dict.fromkeys(names)]
    for what, case, value, further in rows:
        question, number = ("correct", _GRADES.get(str(value))) if what in graded else (what, None)
        output = Output(system, cluster=further.get("sample"), fields=fields)
        yield Verdict(question, case, what, value, further, number=number, output=output)

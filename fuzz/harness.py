"""The harnesses, by name, each with the files to begin from."""

import io
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plausibly.agreement import Labels, read_labels
from plausibly.app.doctor import doctor
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.data.annotations import (
    Annotations,
    Scores,
    Slots,
    read_annotations,
    read_classes,
    read_metadata,
    read_risks,
    write_annotations,
)
from plausibly.data.annotations.io import table_files
from plausibly.data.annotations.io.formats import FORMATS
from plausibly.data.audit import audit
from plausibly.data.predictions import read_predictions
from plausibly.evaluation import evaluate
from plausibly.posterior import annotations_of, build_posterior, load, save
from plausibly.posterior.diagnostics import diagnose
from plausibly.systems import systems
from tests.exports import CROWDFLOWER, DOCCANO_CSV, LABEL_STUDIO_MIN, MTURK, TOLOKA, ZOONIVERSE

CLASSES = ["corn", "melanoma", "wart"]
KNOWN = Annotations.from_rankings(
    {"cases": {"p": {"ann": [["corn"], ["wart"]], "bob": [["wart"]]}, "q": {"ann": [["melanoma", "corn"]]}}}, CLASSES
)
FOLDER = Path(tempfile.mkdtemp(prefix="plausibly-fuzz-"))

# What is read in blocks has several of them in a small file, too.
table_files._ROWS, table_files._CELLS = 2, 6


class Finding(Exception):
    """What no reader may do."""


@dataclass(frozen=True)
class Harness:
    """What is done with bytes, content to begin from, and words that the fuzzer puts in."""

    run: Callable[[bytes], None]
    seeds: list[bytes]
    words: tuple[str, ...] = field(default=())


def refused(error: PlausiblyError, place: str = "") -> None:
    """Check that a refusal is one sentence on one line, that says where."""
    text = str(error)
    if "\n" in text or "\r" in text or not text.strip() or len(text) > 2000:
        raise Finding(f"a refusal of several lines or none, or {len(text)} characters: {text[:2000]!r}") from error
    if place not in text:
        raise Finding(f"a refusal that does not name {place}: {text!r}") from error


def same_again(annotations: Annotations | Scores) -> None:
    """Write annotations in the formats that hold them, and read them again; a few bytes of counts may be millions."""
    if isinstance(annotations, Scores) or annotations.n_annotations > 10_000:
        return
    for name in ("again.json", "again.jsonl", "again.csv", "again.parquet"):
        if name not in ("again.json", "again.jsonl") and all(
            one.removeprefix("-").isdecimal() for one in annotations.classes.tolist()
        ):
            continue  # such classes look like indices in a table
        write_annotations(annotations, FOLDER / name)
        if read_annotations(FOLDER / name, annotations.classes) != annotations:
            raise Finding(f"{name} is not read as it was written")
    audit(annotations)


def check_scores(found: np.ndarray) -> None:
    """Check that scores are what was promised of them."""
    if found.shape != (KNOWN.n_cases, KNOWN.n_classes) or not np.isfinite(found).all():
        raise Finding(f"scores of shape {found.shape}, or not finite")


def posterior(found: Any) -> None:
    """Use what was loaded: a damaged file may still load, but not end in another error when used."""
    for use in (annotations_of, diagnose, evaluation):
        try:
            use(found)
        except PlausiblyError as error:
            refused(error)


def evaluation(found: Any) -> None:
    """Evaluate classifiers, of which one says nothing."""
    shape = found["observed_data"].sizes["case"], found["constant_data"].sizes["class_id"]
    if max(shape) <= 1000:
        evaluate(found, {"A": np.eye(*shape), "B": np.ones(shape)}, k=1, sizes=1, progress=False)


def table_bytes(frame: pd.DataFrame) -> bytes:
    """Write a table as Parquet."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def npy_bytes(array: np.ndarray, pickled: bool = False) -> bytes:
    """Write an array as .npy."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=pickled)
    return buffer.getvalue()


def posterior_bytes() -> bytes:
    """Write a posterior as netCDF."""
    slots = Slots.of(KNOWN)
    draws = np.full((1, 2, len(slots)), 0.5, np.float32)
    save(build_posterior(draws, KNOWN, slots, point=draws[0, 0], concentration=1.0), FOLDER / "seed.nc")
    return (FOLDER / "seed.nc").read_bytes()


LIST = [[[["corn"], ["wart"]], [[1, 2]]], [[[0]]]]
OBJECT = KNOWN.to_rankings()
ANSWER = {"from_name": "c", "to_name": "i", "type": "choices", "value": {"choices": ["wart", "corn"]}}
RANKER = {"from_name": "c", "type": "ranker", "value": {"ranker": {"_": ["x"], "best": ["wart", "corn"]}}}
EXPORT = [{"id": 1, "annotations": [{"completed_by": {"id": 3}, "was_cancelled": False, "result": [ANSWER]}]}]
LONG = b'case,annotator,class,rank\np,ann,corn,1\np,ann,wart,2\nq,bob,"melanoma",1\n'
COUNTS = b"case,corn,melanoma,wart\np,1,0,2\nq,0,3,0\n"
VOTES = b"# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n# ALTERNATIVE NAME 1: a\n"
VOTES += b"# ALTERNATIVE NAME 2: b\n2: 1,2\n1: {1,2}\n"
COCO = {"images": [{"id": 1, "file_name": "x.jpg"}], "annotations": [{"image_id": 1, "bbox": [1, 2, 3, 4]}]}
COCO["annotations"][0]["annotator"] = "ann"
RECORDS = [{"case": "p", "annotator": "ann", "label": [[0, 0, 1, 1]]}, {"case": "p", "annotator": "bob", "label": []}]
GRID = pd.DataFrame({"case": ["p", "q"], "corn": [0.1, 0.2], "melanoma": [0.3, 0.4], "wart": [0.6, 0.4]})
RANKED = [{"id": 1, "annotations": [{"completed_by": 3, "result": [RANKER]}]}]
ODD = ("", " ", "x", "7", "-1", "=1+1", "<b>", "a\nb", "é", "null", "nan")
NUMBERS = (0, 1, 2, -1, 3, 7, 2**31, 2**63, 10**20, 0.5, 1e308, -0.0)


def tree(content: bytes, words: tuple[str, ...]) -> Any:
    """Make JSON of bytes: every byte decides something, so that a fuzzer that changes bytes changes the tree."""
    left = list(content)

    def take() -> int:
        return left.pop(0) if left else 0

    def text() -> str:
        number = take()
        return words[number % len(words)] if number < 200 else ODD[number % len(ODD)]

    def value(depth: int) -> Any:
        kind = take() % 8
        if kind < 5 and depth < 7:
            size = take() % 5
            if kind < 3:
                return [value(depth + 1) for _ in range(size)]
            return {text(): value(depth + 1) for _ in range(size)}
        if kind < 6:
            return text()
        return (None, True, False)[take() % 3] if kind == 7 else NUMBERS[take() % len(NUMBERS)]

    return value(0)


def of_tree(name: str, read: Callable[[Path], Any], words: str, then: Callable[[Any], Any] = id) -> Harness:
    """Make a harness that reads bytes as a recipe for JSON, so that what is read is always well-formed."""
    inner = of_file(name, read, [], then=then).run
    return Harness(lambda content: inner(json.dumps(tree(content, tuple(words.split()))).encode()), [bytes(range(50))])


def of_file(
    name: str, read: Callable[[Path], Any], seeds: list[bytes], words: str = "", then: Callable[[Any], Any] = id
) -> Harness:
    """Make a harness of a reader: write the bytes to a file of this name, read it, and look at what was read."""

    def run(content: bytes) -> None:
        path = FOLDER / name
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", PlausiblyWarning)
            try:
                found = read(path)
            except PlausiblyError as error:
                refused(error, name)
                return
            then(found)

    return Harness(run, seeds, tuple(words.split()))


def with_classes(path: Path) -> Any:
    """Read annotations of known classes."""
    return read_annotations(path, CLASSES)


def predictions(path: Path) -> np.ndarray:
    """Read predictions for known annotations."""
    return read_predictions(path, KNOWN)


def labels(kind: str, one: bool = False) -> Callable[[Path], Labels]:
    """Read labels from a file with all annotators, or with one's."""
    return lambda path: read_labels({"ann": path} if one else path, kind)


def as_json(*values: Any) -> list[bytes]:
    """Write seeds as JSON."""
    return [json.dumps(value).encode() for value in values]


CASES = [
    {"id": "p", "annotations": ["a", "b"], "annotators": ["ann", "bob"], "site": "x"},
    {"id": "q", "annotations": []},
]
NESTED = {"p": {"ann": "a", "bob": [["b"], ["a"]]}, "q": {"ann": None, "bob": "b"}}
ARGILLA = [
    {"id": "p", "fields": {"text": "t"}, "responses": {"q": [{"value": "a", "user_id": "u", "status": "submitted"}]}},
    {"id": "q", "q.responses": [[{"value": "a", "rank": 1}]], "q.responses.users": ["u"]},
]
PRODIGY = [{"_input_hash": 1, "_task_hash": 2, "accept": ["a"], "answer": "accept", "_annotator_id": "u"}]
DOCCANO = [{"id": 1, "text": "x", "label": ["a", "b"]}, {"id": 2, "text": "y", "label": []}]
CELLS = b'id,annotations,annotators\np,"[""a"", ""b""]","[""ann"", ""bob""]"\nq,"[\'a\']",ann\n'


SCORES = {"s": {"value": "C", "answer": "a"}, "t": {"value": "I", "explanation": "no"}}
INSPECT = {
    "version": 2,
    "eval": {"model": "m"},
    "samples": [{"id": "p", "epoch": 1, "target": "a", "scores": SCORES}, {"id": 7, "epoch": 2, "scores": SCORES}],
}
COMPONENT = {"pass": True, "score": 1, "assertion": {"type": "llm-rubric", "metric": None}}
PROMPTFOO = {
    "results": {
        "version": 3,
        "results": [
            {"testIdx": 0, "promptIdx": 0, "provider": {"id": "m"}, "vars": {"x": "y"}, "success": True}
            | {"gradingResult": {"pass": True, "componentResults": [COMPONENT]}},
            {"vars": {}, "success": False, "score": 0, "provider": "m", "prompt": {"raw": "x"}},
        ],
    }
}
METRIC = {"name": "faithful", "score": 0.5, "success": True, "threshold": 0.5, "evaluationModel": "m"}
DEEPEVAL = {"testRunData": {"testCases": [{"name": "p", "metricsData": [METRIC]}]}}
LM_EVAL = [
    {
        "doc_id": 0,
        "target": "a",
        "resps": [["a"]],
        "filtered_resps": ["a"],
        "filter": "none",
        "metrics": ["acc"],
        "acc": 1,
    },
    {"doc_id": 1, "target": 0, "filtered_resps": [[-1.5, True], [-2.0, False]], "acc": 0.0},
]
ASSESSMENT = {
    "assessment_name": "good",
    "source": {"source_type": "HUMAN", "source_id": "u"},
    "feedback": {"value": "a"},
}
EXPECTED = {"name": "good", "source": {"source_type": "CODE"}, "expectation": {"serialized_value": {"value": '["b"]'}}}
MLFLOW = [{"info": {"trace_id": "p", "assessments": [ASSESSMENT, EXPECTED]}, "data": {"spans": []}}]
LANGFUSE = [
    {"traceId": "p", "observationId": None, "name": "good", "value": 1, "stringValue": said, "dataType": "CATEGORICAL"}
    | {"source": source, "authorUserId": who}
    for said, source, who in (("yes", "EVAL", None), ("no", "ANNOTATION", "u"))
]
PHOENIX = [
    {"span_id": "p", "name": "good", "annotator_kind": kind, "label": said, "score": 1.0, "identifier": who}
    for kind, said, who in (("HUMAN", "a", "u"), ("LLM", "b", ""))
]
LANGSMITH = [
    {
        "id": number,
        "run_id": "p",
        "key": "good",
        "score": number,
        "value": None,
        "user_id": who,
        "feedback_source": None,
    }
    for number, who in enumerate("uv")
]
RATED = [one | {"dataType": "NUMERIC", "value": 0.5, "stringValue": None} for one in LANGFUSE]


def with_soft_labels(path: Path) -> Any:
    """Read annotations of which some may be soft."""
    return read_annotations(path, soft_weight=5)


def eval_bytes(log: Any) -> bytes:
    """Write a log of Inspect as an archive, always the same."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        files = {f"samples/{number}.json": one for number, one in enumerate(log["samples"])}
        for name, content in {"header.json": {"eval": log["eval"]}, **files}.items():
            archive.writestr(zipfile.ZipInfo(name), json.dumps(content))
    return buffer.getvalue()


def in_file(content: Any, suffix: str) -> bytes:
    """Write a seed, a table or the content of JSON, as a file of a suffix; bytes are a file already."""
    if isinstance(content, bytes):
        return content
    if suffix == ".eval":
        return eval_bytes(content)
    if suffix == ".json":
        records = content.to_dict("records") if isinstance(content, pd.DataFrame) else content
        return json.dumps(records, default=int).encode()
    if suffix == ".npy":
        return npy_bytes(content.drop(columns="case").to_numpy())
    table = pd.DataFrame(content)
    if suffix == ".jsonl":
        return b"\n".join(as_json(*table.to_dict("records")))
    if suffix == ".parquet":
        return table_bytes(table)
    if suffix == ".xlsx":
        buffer = io.BytesIO()
        table.map(lambda cell: cell if isinstance(cell, int | float) else str(cell)).to_excel(buffer, index=False)
        return buffer.getvalue()
    return table.to_csv(index=False, sep="\t" if suffix == ".tsv" else ",").encode()


ROWS = "case id annotations labels annotators soft_label"
EXPORTS = "id fields responses value user_id status q.responses q.responses.users _input_hash accept answer label rank"
JSON = 'cases classes annotations result null true NaN 1e999 [[[[ {" "\\ud800"'
STUDIO = "id completed_by was_cancelled from_name type value choices taxonomy ranker"
CSV = "case annotator annotation worker task label class rank confidence \" '= \r"
#: What a file of each format of annotations may hold.
SEEDS: dict[str, list[Any]] = {
    "inspect": [INSPECT],
    "promptfoo": [PROMPTFOO],
    "deepeval": [DEEPEVAL],
    "lm-eval": [LM_EVAL],
    "mlflow": [MLFLOW],
    "langfuse": [LANGFUSE, RATED],
    "phoenix": [PHOENIX],
    "langsmith": [LANGSMITH],
    "chaos-nli": [[{"uid": "p", "label_counter": {"e": 3, "n": 1}, "old_label": "e"}]],
    "nested-counts": [{"p": {"corn": 2, "wart": 1}, "q": {"wart": 3}}],
    "alt-test": [{who: {f"{case}": "ab"[case % 2] for case in range(20)} for who in ("ann", "bob")}],
    "label-studio": [EXPORT, RANKED],
    "records": [[{"id": 1, "annotations": []}, *EXPORT]],
    "mturk": [MTURK],
    "toloka": [TOLOKA],
    "crowdflower": [CROWDFLOWER],
    "zooniverse": [ZOONIVERSE],
    "label-studio-min": [LABEL_STUDIO_MIN],
    "argilla": [ARGILLA],
    "prodigy": [PRODIGY],
    "doccano": [DOCCANO],
    "doccano-csv": [DOCCANO_CSV],
    "cases": [CASES],
    "long-counts": [pd.DataFrame({"case": ["p", "p", "q"], "label": ["corn", "wart", "wart"], "count": [2, 1, 3]})],
    "raters-in-rows": [pd.DataFrame({"name": ["ann", "bob"], "1": ["corn", "wart"], "2": ["wart", "corn"]})],
    "wide": [pd.DataFrame({"case": ["p", "q"], "ann": ["corn", "wart"], "bob": ["wart", None], "site": ["n", "s"]})],
    "nested": [NESTED],
    "rankings": [LIST, OBJECT],
    "scores": [pd.DataFrame({"case": ["p", "p", "q"], "annotator": ["ann", "bob", "ann"], "score": [1, 2.5, -3]})],
    "table": [KNOWN.to_table()],
    "counts": [pd.DataFrame({"case": ["p", "q"], "corn": [1, 0], "melanoma": [0, 3], "wart": [2, 0]})],
    **{key: [VOTES, b"2\n1,a\n2,b\n3,3,1\n3,{1,2}\n"] for key in ("soc", "soi", "toc", "toi")},
}
OUTCOMES = b"system,case,rater,outcome,kind\nA,p,ann,1,person\nA,q,gpt,0,judge\nA,p,gpt,1,judge\n"
PAIRS = b"left,right,prompt,worker,winner,kind\nA,B,p,ann,left,human\nB,A,q,gpt,tie,llm\nA,B,p,gpt,B,llm\n"
SHOWN = b"case,rater,ranking,kind,date\np,ann,A>B=C,person,2026-01-31\np,gpt,B>A,judge,2026-02-01T09:30:00Z\n"
TOOLS = f"{JSON} {STUDIO} {ROWS} {EXPORTS} null"
VERDICTS = (
    "samples scores eval epoch target results success testCases metricsData assessments source traceId span_id name"
)
HARNESSES: dict[str, Harness] = {
    **{
        f"{known.name}{suffix}": of_file(
            f"a{suffix}",
            read_annotations,
            [in_file(seed, suffix) for seed in SEEDS[known.name]],
            TOOLS if suffix.startswith(".json") else f"{CSV} # {{ }} [ ] 999999999",
            same_again,
        )
        for known in FORMATS
        if not known.folder
        for suffix in known.suffixes
    },
    "annotations-json": of_file("a.json", with_classes, as_json(LIST, OBJECT), JSON, same_again),
    "annotations-json-tree": of_tree("a.json", read_annotations, "corn wart cases classes p ann", same_again),
    "label-studio-tree": of_tree("a.json", read_annotations, f"annotations result {STUDIO}", same_again),
    "case-rows-tree": of_tree("a.json", with_soft_labels, f"{ROWS} a b ann", same_again),
    "exports-tree": of_tree("a.json", with_soft_labels, f"{EXPORTS} a b ann", same_again),
    "case-rows-csv": of_file("a.csv", read_annotations, [CELLS], f"{ROWS} [ ] {{ }} null", same_again),
    "verdicts-tree": of_tree("a.json", read_annotations, f"{VERDICTS} id value answer info trace_id a b", same_again),
    "labels-inspect": of_file("l.json", Labels.of, as_json(INSPECT, MLFLOW), f"{JSON} {VERDICTS}"),
    "predictions-inspect": of_file("b.json", predictions, as_json(INSPECT, PHOENIX, {"p": "corn", "q": "wart"}), JSON),
    "systems-csv": of_file("o.csv", systems, [OUTCOMES, PAIRS, SHOWN], f"{CSV} system judge yes 2.5 1e400", str),
    "systems-json": of_file(
        "o.json", systems, as_json(PROMPTFOO, INSPECT, MLFLOW, DEEPEVAL), f"{JSON} {VERDICTS}", str
    ),
    "doctor-csv": of_file(
        "a.csv", doctor, [OUTCOMES, PAIRS, LONG, COUNTS, GRID.to_csv(index=False).encode(), CELLS], CSV, str
    ),
    "doctor-json": of_file("a.json", doctor, as_json(EXPORT, INSPECT, NESTED, {"p": "a"}, RECORDS), JSON, str),
    "doctor-txt": of_file("a.txt", doctor, [b"corn\nwart\n", b"0\n1\n2\n", b"1 2\n3 4\n"], "", str),
    "metadata-label-studio": of_file("a.json", read_metadata, as_json(EXPORT, RANKED), f"{JSON} {STUDIO}"),
    "metadata-tree": of_tree("a.json", read_metadata, f"{ROWS} {EXPORTS} site"),
    "labels-case-rows-tree": of_tree("l.json", Labels.of, f"{ROWS} {EXPORTS}"),
    "labels-label-studio": of_file("l.json", Labels.of, as_json(EXPORT, RANKED), f"{JSON} {STUDIO}"),
    "annotations-csv": of_file("a.csv", with_classes, [LONG, COUNTS], CSV, same_again),
    "counts-without-header": of_file("a.csv", read_annotations, [b"1,2\n3,4\n"], CSV, same_again),
    "predictions-csv": of_file(
        "b.csv",
        predictions,
        [GRID.to_csv(index=False).encode(), b"1,2,3\n4,5,6\n"],
        f"{CSV} nan inf 1e400",
        check_scores,
    ),
    "predictions-txt": of_file("b.txt", predictions, [b"1 2 3\n4 5 6\n", b"1\t2\t3\n4\t5\t6\n"], "", check_scores),
    "predictions-npy": of_file(
        "b.npy", predictions, [npy_bytes(np.ones((2, 3), np.float32)), npy_bytes(np.array([[{}]]), pickled=True)]
    ),
    "predictions-parquet": of_file("b.parquet", predictions, [table_bytes(GRID)], "", check_scores),
    "classes": of_file("c.txt", read_classes, [b"corn\nmelanoma\nwart\n", "n\u00e4vus\r\nwart".encode()]),
    "risks": of_file(
        "r.csv", lambda path: read_risks(path, CLASSES), [b"0\n2\n1\n", b"class,risk\ncorn,0\nmelanoma,2\nwart,1\n"]
    ),
    "labels-csv": of_file(
        "l.csv",
        labels("literal"),
        [b'item,uid,annotation\n7,ann,"[[0, 0, 2, 2]]"\n7,bob,[]\n8,ann,null\n'],
        "[ { (1, ' null 1_0 nan",
    ),
    "labels-jsonl": of_file("l.jsonl", labels("literal"), [b"\n".join(as_json(*RECORDS))], JSON),
    "labels-json-tree": of_tree("l.json", labels("boxes"), "case annotator label images annotations id image_id bbox"),
    "labels-table-json": of_tree("l.json", Labels.of, "case annotator label"),
    "labels-coco": of_file("l.json", labels("boxes"), as_json(COCO, RECORDS), JSON),
    "labels-coco-of-one": of_file("l.json", labels("keypoints", one=True), as_json(COCO), JSON),
    "labels-bio": of_file("l.conll", labels("bio"), [b"The O O\ncat B-X B-X\nsat I-X O\n\nHi O O\n"]),
    "labels-trees": of_file("l.mrg", labels("trees", one=True), [b"(S (NP cat)\n (VP sat))\n(S x)\n"]),
    "labels-offsets": of_file("l.ann", labels("spans", one=True), [b"T1\tX 0 3;5 7\tcat\nR1\tx\n"]),
    "labels-parquet": of_file("l.parquet", labels("literal"), [table_bytes(pd.DataFrame(RECORDS))]),
    "posterior": of_file("p.nc", load, [posterior_bytes()], "", posterior),
}

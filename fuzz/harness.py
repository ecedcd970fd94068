"""The harnesses, by name, each with the files to begin from."""

import io
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd

from fuzz.trees import tree
from plausibly.agreement import Labels, read_labels
from plausibly.annotations import (
    Annotations,
    read_annotations,
    read_classes,
    read_risks,
    write_annotations,
)
from plausibly.annotations.io import _table_files
from plausibly.audit import audit
from plausibly.diagnostics import diagnose
from plausibly.errors import PlausiblyError, PlausiblyWarning
from plausibly.evaluation import evaluate
from plausibly.posterior import annotations_of, build_posterior, load, opened, save
from plausibly.predictions import read_predictions

CLASSES = ["corn", "melanoma", "wart"]
KNOWN = Annotations.from_rankings(
    {"cases": {"p": {"ann": [["corn"], ["wart"]], "bob": [["wart"]]}, "q": {"ann": [["melanoma", "corn"]]}}}, CLASSES
)
FOLDER = Path(tempfile.mkdtemp(prefix="plausibly-fuzz-"))

# What is read in blocks has several of them in a small file, too.
_table_files._ROWS, _table_files._CELLS = 2, 6


class Finding(Exception):
    """What no reader may do."""


@dataclass(frozen=True)
class Harness:
    """One attack.

    Parameters
    ----------
    run
        What is done with the bytes.
    seeds
        Content to begin from.
    words
        What the content is made of, for the fuzzer to put in.
    """

    run: Callable[[bytes], None]
    seeds: list[bytes]
    words: tuple[str, ...] = field(default=())


def refused(error: PlausiblyError, place: str = "") -> None:
    """Check that a refusal is one sentence on one line, that says where."""
    text = str(error)
    if "\n" in text or "\r" in text or not text.strip():
        raise Finding(f"a refusal of several lines or none: {text!r}") from error
    if place not in text:
        raise Finding(f"a refusal that does not name {place}: {text!r}") from error
    if len(text) > 2000:
        raise Finding(f"a refusal of {len(text)} characters") from error


def reading(name: str, read: Callable[[Path], Any], then: Callable[[Any], None] = lambda _: None):
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

    return run


def same_again(annotations: Annotations) -> None:
    """Write annotations in the formats that hold them, and read them again; a few bytes of counts may be millions."""
    if annotations.n_annotations > 10_000:
        return
    for name in ("again.json", "again.csv", "again.parquet"):
        if name != "again.json" and all(one.removeprefix("-").isdecimal() for one in annotations.classes.tolist()):
            continue  # such classes look like indices in a table
        write_annotations(annotations, FOLDER / name)
        if read_annotations(FOLDER / name, annotations.classes) != annotations:
            raise Finding(f"{name} is not read as it was written")
    audit(annotations)


def scores(found: np.ndarray) -> None:
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


def from_file(path: Path) -> None:
    """Use what is in a file, while it is there and in memory."""
    with opened(path) as found:
        posterior(found)
    posterior(load(path))


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
    from plausibly.annotations import Slots

    slots = Slots.of(KNOWN)
    draws = np.full((1, 2, len(slots)), 0.5, np.float32)
    save(build_posterior(draws, KNOWN, slots, point=draws[0, 0], concentration=1.0), FOLDER / "seed.nc")
    return (FOLDER / "seed.nc").read_bytes()


def unsealed_bytes() -> bytes:
    """Write a posterior without the seal, which whoever opens a file to change it takes off."""
    posterior_bytes()
    with h5py.File(FOLDER / "seed.nc", "a"):
        pass
    return (FOLDER / "seed.nc").read_bytes()


LIST = b'[[[["corn"], ["wart"]], [[1, 2]]], [[[0]]]]'
OBJECT = json.dumps(KNOWN.to_rankings()).encode()
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
JSON_WORDS = ("cases", "classes", "annotations", "result", "null", "true", "NaN", "1e999", "[[[[", '{"', '"\\ud800"')
STUDIO_WORDS = ("id", "completed_by", "was_cancelled", "from_name", "type", "value", "choices", "taxonomy", "ranker")
LABEL_WORDS = ("case", "annotator", "label", "images", "annotations", "id", "image_id", "bbox")
CSV_WORDS = (
    "case",
    "annotator",
    "annotation",
    "worker",
    "task",
    "label",
    "class",
    "rank",
    "confidence",
    '"',
    "'=",
    "\r",
)


def of_tree(name: str, read: Callable[[Path], Any], words: tuple[str, ...], then=lambda _: None):
    """Make a harness that reads bytes as a recipe for JSON, so that what is read is always well-formed."""
    inner = reading(name, read, then)
    return lambda content: inner(json.dumps(tree(content, words)).encode())


def labels(kind: str) -> Callable[[Path], Labels]:
    """Read a file with all annotators."""
    return lambda path: read_labels(path, kind)


def labels_of_one(kind: str) -> Callable[[Path], Labels]:
    """Read a file with one annotator's labels."""
    return lambda path: read_labels({"ann": path}, kind)


HARNESSES: dict[str, Harness] = {
    "annotations-json": Harness(
        reading("a.json", lambda path: read_annotations(path, CLASSES), same_again), [LIST, OBJECT], JSON_WORDS
    ),
    "annotations-json-tree": Harness(
        of_tree("a.json", read_annotations, (*CLASSES, "cases", "classes", "p", "ann"), same_again),
        [bytes(range(40)), b"\x05\x01\x04\x02\x04\x00\x03"],
    ),
    "label-studio": Harness(
        reading("a.json", read_annotations, same_again),
        [json.dumps(EXPORT).encode(), json.dumps(EXPORT).replace(json.dumps(ANSWER), json.dumps(RANKER)).encode()],
        (*JSON_WORDS, *STUDIO_WORDS),
    ),
    "label-studio-tree": Harness(
        of_tree("a.json", lambda path: read_annotations(path), ("annotations", "result", *STUDIO_WORDS), same_again),
        [bytes(range(60))],
    ),
    "annotations-csv": Harness(
        reading("a.csv", lambda path: read_annotations(path, CLASSES), same_again), [LONG, COUNTS], CSV_WORDS
    ),
    "annotations-csv-without-classes": Harness(
        reading("a.csv", read_annotations, same_again), [LONG, COUNTS, b"1,2\n3,4\n"], CSV_WORDS
    ),
    "annotations-npy": Harness(
        reading("a.npy", read_annotations, same_again), [npy_bytes(np.eye(3, dtype=int)), npy_bytes(np.ones((2, 2)))]
    ),
    "annotations-parquet": Harness(
        reading("a.parquet", read_annotations, same_again), [table_bytes(KNOWN.to_table()), table_bytes(GRID)]
    ),
    "preflib": Harness(
        reading("e.toi", read_annotations, same_again),
        [VOTES, b"2\n1,a\n2,b\n3,3,1\n3,{1,2}\n"],
        ("# NUMBER VOTERS: ", "# ALTERNATIVE NAME 1: ", "{", "}", ": ", "999999999"),
    ),
    "predictions-csv": Harness(
        reading("b.csv", lambda path: read_predictions(path, KNOWN), scores),
        [GRID.to_csv(index=False).encode(), b"1,2,3\n4,5,6\n"],
        (*CSV_WORDS, "nan", "inf", "1e400"),
    ),
    "predictions-txt": Harness(
        reading("b.txt", lambda path: read_predictions(path, KNOWN), scores), [b"1 2 3\n4 5 6\n", b"1\t2\t3\n4\t5\t6\n"]
    ),
    "predictions-npy": Harness(
        reading("b.npy", lambda path: read_predictions(path, KNOWN), scores),
        [npy_bytes(np.ones((2, 3), np.float32)), npy_bytes(np.array([[{}]], object), pickled=True)],
    ),
    "predictions-parquet": Harness(
        reading("b.parquet", lambda path: read_predictions(path, KNOWN), scores), [table_bytes(GRID)]
    ),
    "classes": Harness(reading("c.txt", read_classes), [b"corn\nmelanoma\nwart\n", "n\u00e4vus\r\nwart".encode()]),
    "risks": Harness(
        reading("r.csv", lambda path: read_risks(path, CLASSES)),
        [b"0\n2\n1\n", b"class,risk\ncorn,0\nmelanoma,2\nwart,1\n"],
    ),
    "labels-csv": Harness(
        reading("l.csv", labels("literal")),
        [b'item,uid,annotation\n7,ann,"[[0, 0, 2, 2]]"\n7,bob,[]\n8,ann,null\n'],
        ("[", "{", "(1,", "'", "null", "1_0", "nan"),
    ),
    "labels-jsonl": Harness(
        reading("l.jsonl", labels("literal")), [b"\n".join(json.dumps(row).encode() for row in RECORDS)], JSON_WORDS
    ),
    "labels-json-tree": Harness(
        of_tree("l.json", labels("boxes"), LABEL_WORDS),
        [bytes(range(50))],
    ),
    "labels-table-json": Harness(of_tree("l.json", Labels.of, ("case", "annotator", "label")), [bytes(range(50))]),
    "labels-coco": Harness(
        reading("l.json", labels("boxes")), [json.dumps(COCO).encode(), json.dumps(RECORDS).encode()], JSON_WORDS
    ),
    "labels-coco-of-one": Harness(
        reading("l.json", labels_of_one("keypoints")), [json.dumps(COCO).encode()], JSON_WORDS
    ),
    "labels-bio": Harness(reading("l.conll", labels("bio")), [b"The O O\ncat B-X B-X\nsat I-X O\n\nHi O O\n"]),
    "labels-trees": Harness(reading("l.mrg", labels_of_one("trees")), [b"(S (NP cat)\n (VP sat))\n(S x)\n"]),
    "labels-offsets": Harness(reading("l.ann", labels_of_one("spans")), [b"T1\tX 0 3;5 7\tcat\nR1\tx\n"]),
    "labels-parquet": Harness(reading("l.parquet", labels("literal")), [table_bytes(pd.DataFrame(RECORDS))]),
    "posterior": Harness(reading("p.nc", from_file), [posterior_bytes()]),
    "posterior-without-seal": Harness(reading("p.nc", from_file), [unsealed_bytes()]),
}

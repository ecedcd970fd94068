"""One row per case, exports of tools, nested dictionaries, soft labels: made files of each form, and damaged ones."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausibly.agreement import Labels
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.data.annotations import Annotations, read_annotations, read_metadata, write_annotations
from plausibly.data.audit import audit
from tests.exports import SITES, argilla, flat, prodigy

EXPECTED = Annotations.from_rankings(
    {"cases": {"p": {"ann": [["a"]], "bob": [["b"]]}, "q": {"bob": [["a"]], "cy": [["a"]]}}}
)
RECORDS = [
    {"id": "p", "annotations": ["a", "b"], "annotators": ["ann", "bob"], "age": [30, 41], "site": "north"},
    {"id": "q", "annotations": ["a", "a"], "annotators": ["bob", "cy"], "age": [41, 52], "site": "south"},
]
COLUMNS = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}


SAID = {"p": {"ann": "a", "bob": "b"}, "q": {"bob": "a", "cy": "a"}}
EXPORTS = {
    "rows.json": RECORDS,
    "shared-task.json": {
        r["id"]: {
            "annotations": ",".join(r["annotations"]),
            "annotators": ",".join(r["annotators"]),
            "lang": r["site"],
            "soft_label": {"a": 0.5, "b": 0.5},
        }
        for r in RECORDS
    },
    "mappings.json": {
        r["id"]: {"annotations": dict(zip(r["annotators"], r["annotations"], strict=True))} for r in RECORDS
    },
    "nested.json": SAID,
    "argilla.json": [argilla(case, said) for case, said in SAID.items()],
    "argilla-flat.json": [flat(case, said) for case, said in SAID.items()],
    "prodigy.jsonl": [prodigy(case, who, [value]) for case, said in SAID.items() for who, value in said.items()],
    "rows.jsonl": RECORDS,
    "long.jsonl": [
        {"case": c, "annotator": who, "label": value} for c, said in SAID.items() for who, value in said.items()
    ],
}


def write(path, content):
    text = "\n".join(map(json.dumps, content)) if path.suffix == ".jsonl" else json.dumps(content)
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", EXPORTS)
def test_reads_every_form(name, tmp_path):
    path = write(tmp_path / name, EXPORTS[name])
    found = read_annotations(path)
    assert found == EXPECTED
    assert not audit(path)["check"].empty
    labels = Labels.of(path)
    table = sorted(zip(labels.cases[labels.case], labels.annotators[labels.annotator], labels.values, strict=True))
    assert table == [("p", "ann", "a"), ("p", "bob", "b"), ("q", "bob", "a"), ("q", "cy", "a")]


@pytest.mark.parametrize(
    "form", ["json", "python", "parquet", "pandas", "polars", "arrow", "columns", "records", "dataset"]
)
def test_reads_lists_in_cells(form, tmp_path):
    class Dataset:  # what datasets.Dataset offers
        features = None
        column_names = list(COLUMNS)

        def to_dict(self):
            return COLUMNS

    pd.DataFrame(RECORDS).to_parquet(tmp_path / "rows.parquet")
    for name, dump in (("json", json.dumps), ("python", str)):
        rows = [{key: dump(cell) if isinstance(cell, list) else cell for key, cell in row.items()} for row in RECORDS]
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    source = {
        "json": tmp_path / "json.csv",
        "python": tmp_path / "python.csv",
        "parquet": tmp_path / "rows.parquet",
        "pandas": pd.DataFrame(RECORDS),
        "polars": pl.DataFrame(COLUMNS),
        "arrow": pa.table(COLUMNS),
        "columns": COLUMNS,
        "records": RECORDS,
        "dataset": Dataset(),
    }[form]
    read = read_annotations if form in ("json", "python", "parquet") else Annotations.from_case_rows
    assert read(source) == EXPECTED
    labels = Labels.of(source, columns=["site", "age"])
    ages = {"ann": 30, "bob": 41, "cy": 52}
    assert dict(zip(labels.annotators[labels.annotator], labels.floats("age"), strict=True)) == ages
    assert read_metadata(source)["site"].to_dict() == SITES
    assert {who: float(age) for who, age in read_metadata(source, "annotators")["age"].items()} == ages
    assert len(audit(source))


def test_doccano_has_a_file_for_every_annotator(tmp_path):
    for who in ("ann", "bob", "cy"):
        documents = [
            {"id": i, "text": "…", "site": "x", "label": [SAID[case][who]] if who in SAID[case] else []}
            for i, case in enumerate(SAID)
        ]
        write(tmp_path / f"{who}.jsonl", documents)
    with pytest.warns(PlausiblyWarning, match="2 documents without labels"):
        found = read_annotations(tmp_path)
    assert found.rankings("0") == EXPECTED.rankings("p")
    alone = read_annotations(tmp_path / "bob.jsonl")
    assert alone.anonymous
    spans = write(tmp_path / "spans.jsonl", [{"id": 1, "text": "A cat", "label": [[2, 5, "animal"]]}])
    assert Labels.of(spans).values.tolist() == [[(2, 5, "animal")]]


def test_rankings_ties_what_says_nothing_and_other_forms():
    ranked = {"id": 1, "annotations": [[["a"], ["b", "c"]], None, ["a", "b"], 2.0], "annotators": list("wxyz")}
    with pytest.warns(PlausiblyWarning, match=r"left out 1 row without a label: blank \(1\)"):
        found = Annotations.from_case_rows([ranked])
    assert found.rankings("1") == {"w": [["a"], ["b", "c"]], "y": [["a", "b"]], "z": [["2"]]}
    ranked = argilla("p", {"u": [{"value": "x", "rank": 2}, {"value": "y", "rank": 1}]})
    assert Annotations.from_case_rows([ranked]).rankings("p") == {"u": [["y"], ["x"]]}
    lines = [prodigy("p", "ann", ["a", "b"]), prodigy("p", "bob", []), prodigy("p", "cy", ["a"], "ignore")]
    with pytest.warns(PlausiblyWarning, match="1 tasks without a choice, 1 ignored tasks"):
        assert Annotations.from_case_rows(lines).rankings("p") == {"ann": [["a", "b"]]}
    binary = [{"text": "…", "label": "SPAM", "_task_hash": 5, "_input_hash": 1, "answer": "reject", "_session_id": "s"}]
    assert Annotations.from_case_rows(binary).rankings("5") == {"s": [["reject"]]}
    for status in ("discarded", "draft"):
        unsaid = argilla("q", {"u": "a"}, status)
        with pytest.warns(PlausiblyWarning, match=f"left out: 1 {status} responses"):
            assert Annotations.from_case_rows([argilla("p", {"v": "b"}), unsaid]).cases.tolist() == ["p"]
    missing = Labels.of([{"id": 1, "annotations": ["a", None], "annotators": ["x", "y"]}])
    assert missing.n_missing == 1
    assert np.array_equal(Annotations.from_case_rows({"p": {"ann": 0}}, classes=["no", "yes"]).classes, ["no", "yes"])
    rows = [{"study_id": "the same", "labels": ["a", "b"]}] * 3
    assert Annotations.from_case_rows(rows).cases.tolist() == ["0", "1", "2"]


def test_soft_labels_count_as_so_many_annotators(tmp_path):
    records = [{"id": "p", "soft_label": {"a": 0.55, "b": 0.45}}, {"id": "q", "soft_label": {"b": 1.0}}]
    found = Annotations.from_case_rows(records, soft_weight=10)
    assert [len(found.rankings(case)) for case in "pq"] == [10, 10]
    first = [blocks[0][0] for blocks in found.rankings("p").values()]
    assert (first.count("a"), first.count("b")) == (6, 4)
    (tmp_path / "text.csv").write_text('id,annotations\np,"[""a"", ""b"""\n')  # no JSON, but text with commas
    assert read_annotations(tmp_path / "text.csv").n_annotations == 2
    path = write(tmp_path / "soft.jsonl", records)
    assert read_annotations(path, soft_weight=10) == found
    with pytest.raises(ArgumentError, match="soft_weight=10"):
        read_annotations(path)


@pytest.mark.parametrize(
    "annotations", [EXPECTED, Annotations.from_rankings([[[["a"], ["b", "c"]], [["b"]]], [[["c"]]]])]
)
def test_lines_by_case_are_read_as_written(annotations, tmp_path):
    write_annotations(annotations, tmp_path / "a.jsonl")
    assert read_annotations(tmp_path / "a.jsonl", annotations.classes) == annotations


@pytest.mark.parametrize("kind", ["records", "frame", "jsonl", "parquet", "mapping"])
def test_what_has_no_answer_is_told(kind, tmp_path):
    rows = [
        {"case": "p", "annotations": ["a", None, "b"]},
        {"case": "q", "annotations": []},
        {"case": "r", "annotations": ["a"]},
    ]
    if kind == "mapping":
        rows = {"p": {"x": "a", "y": None, "z": "b"}, "q": {}, "r": {"x": "a"}}
    elif kind == "frame":
        rows = pd.DataFrame(rows)
    elif kind == "parquet":
        pd.DataFrame(rows).to_parquet(tmp_path / "a.parquet")
    elif kind == "jsonl":
        (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    read = read_annotations if kind in ("jsonl", "parquet") else Annotations.from_case_rows
    with pytest.warns(PlausiblyWarning) as told:
        found = read(tmp_path / f"a.{kind}" if read is read_annotations else rows)
    words = " ".join(str(one.message) for one in told)
    assert "left out: 1 cases without answers" in words
    assert "left out 1 row without a label: blank (1)" in words
    assert (found.cases.tolist(), found.n_annotations) == (["p", "r"], 3)

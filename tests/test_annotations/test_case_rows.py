"""One row per case, exports of tools, nested dictionaries, soft labels: made files of each form, and damaged ones."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausibly.agreement import Labels
from plausibly.annotations import Annotations, read_annotations, read_metadata, write_annotations
from plausibly.audit import audit
from plausibly.errors import AnnotationError, ArgumentError, PlausiblyError, PlausiblyWarning

EXPECTED = Annotations.from_rankings(
    {"cases": {"p": {"ann": [["a"]], "bob": [["b"]]}, "q": {"bob": [["a"]], "cy": [["a"]]}}}
)
RECORDS = [
    {"id": "p", "annotations": ["a", "b"], "annotators": ["ann", "bob"], "age": [30, 41], "site": "north"},
    {"id": "q", "annotations": ["a", "a"], "annotators": ["bob", "cy"], "age": [41, 52], "site": "south"},
]
COLUMNS = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}
SITES = {"p": "north", "q": "south"}


def argilla(case, said, status="submitted"):
    responses = {"label": [{"value": value, "user_id": who, "status": status} for who, value in said.items()]}
    metadata = {"site": SITES[case]} if case in SITES else {}
    return {
        "id": case,
        "status": "completed",
        "fields": {"text": "…"},
        "metadata": metadata,
        "suggestions": {"label": {"value": "z"}},
        "responses": responses,
    }


def flat(case, said):
    return {
        "id": case,
        "text": "…",
        "site": SITES.get(case),
        "label.responses": list(said.values()),
        "label.responses.users": list(said),
        "label.responses.status": ["submitted"] * len(said),
        "label.suggestion": "z",
    }


def prodigy(case, who, accept, answer="accept"):
    return {
        "text": "…",
        "_input_hash": case,
        "_task_hash": 9,
        "options": [{"id": "a", "text": "A"}],
        "accept": accept,
        "answer": answer,
        "_session_id": f"set-{who}",
        "_annotator_id": who,
        "meta": {"site": SITES.get(case)},
    }


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
    with pytest.warns(PlausiblyWarning, match="left out: 1 missing answers"):
        found = Annotations.from_case_rows([ranked])
    assert found.rankings("1") == {"w": [["a"], ["b", "c"]], "y": [["a", "b"]], "z": [["2"]]}
    ranked = argilla("p", {"u": [{"value": "x", "rank": 2}, {"value": "y", "rank": 1}]})
    assert Annotations.from_case_rows([ranked]).rankings("p") == {"u": [["y"], ["x"]]}
    lines = [prodigy("p", "ann", ["a", "b"]), prodigy("p", "bob", []), prodigy("p", "cy", ["a"], "ignore")]
    with pytest.warns(PlausiblyWarning, match="1 tasks without a choice, 1 ignored tasks"):
        assert Annotations.from_case_rows(lines).rankings("p") == {"ann": [["a", "b"]]}
    binary = [{"text": "…", "label": "SPAM", "_task_hash": 5, "_input_hash": 1, "answer": "reject", "_session_id": "s"}]
    assert Annotations.from_case_rows(binary).rankings("5") == {"s": [["reject"]]}
    discarded = argilla("q", {"u": "a"}, "discarded")
    with pytest.warns(PlausiblyWarning, match="left out"):
        assert Annotations.from_case_rows([argilla("p", {"v": "b"}), discarded]).cases.tolist() == ["p"]
    missing = Labels.of([{"id": 1, "annotations": ["a", None], "annotators": ["x", "y"]}])
    assert missing.n_missing == 1
    with pytest.raises(AnnotationError, match="no row for each case"):
        Annotations.from_case_rows([{"case": "p", "annotator": "x", "label": "a"}])
    with pytest.raises(ArgumentError, match="of must be"):
        read_metadata(RECORDS, "people")
    with pytest.raises(AnnotationError, match="no answers by case"):
        read_metadata(pd.DataFrame({"a": [1]}))
    with pytest.raises(AnnotationError, match="several questions"):
        Annotations.from_case_rows([argilla("p", {"u": "a"}) | {"responses": {"x": [], "y": []}}])
    assert np.array_equal(Annotations.from_case_rows({"p": {"ann": 0}}, classes=["no", "yes"]).classes, ["no", "yes"])
    rows = [{"study_id": f"s{i}", "labels": ["a", "b"]} for i in range(3)]
    with pytest.raises(AnnotationError, match=r"'study_id' differs in every row .* one of case, id, .*; call it case"):
        Annotations.from_case_rows(rows)
    for row in rows:
        row["study_id"] = "the same"
    assert Annotations.from_case_rows(rows).cases.tolist() == ["0", "1", "2"]


def test_soft_labels_count_as_so_many_annotators(tmp_path):
    records = [{"id": "p", "soft_label": {"a": 0.55, "b": 0.45}}, {"id": "q", "soft_label": {"b": 1.0}}]
    found = Annotations.from_case_rows(records, soft_weight=10)
    assert [len(found.rankings(case)) for case in "pq"] == [10, 10]
    first = [blocks[0][0] for blocks in found.rankings("p").values()]
    assert (first.count("a"), first.count("b")) == (6, 4)
    path = write(tmp_path / "soft.jsonl", records)
    assert read_annotations(path, soft_weight=10) == found
    with pytest.raises(ArgumentError, match="soft_weight=10"):
        read_annotations(path)
    for wrong in (0, -3, 2.5, True):
        with pytest.raises(ArgumentError, match="soft_weight must be"):
            Annotations.from_case_rows(records, soft_weight=wrong)


@pytest.mark.parametrize(
    "annotations", [EXPECTED, Annotations.from_rankings([[[["a"], ["b", "c"]], [["b"]]], [[["c"]]]])]
)
def test_lines_by_case_are_read_as_written(annotations, tmp_path):
    write_annotations(annotations, tmp_path / "a.jsonl")
    assert read_annotations(tmp_path / "a.jsonl", annotations.classes) == annotations


DAMAGED = {
    "case rows": [
        [{"id": "p", "annotations": ["a", "b"], "annotators": ["x"]}],
        [{"id": "p", "annotations": ["a"], "annotators": ["x"]}] * 2,
        [{"id": "p", "annotations": ["a"]}, {"id": "q", "annotations": ["a"], "annotators": ["x"]}],
        [{"id": "p", "annotations": ["a"], "annotators": [None]}],
        [{"id": "p", "annotations": ["a"], "annotators": [""]}],
        [{"id": True, "annotations": ["a"]}],
        [{"id": "p", "annotations": [{"x": 1}, "a"]}],
        [{"id": "p", "annotations": ["a"]}, 7],
        [{"id": "p", "annotations": ["a", "b"], "annotators": ["x", "x"]}],
        [{"id": "p", "annotations": [0.5]}],
        [{"id": "p", "annotations": ["a"], "labels": ["b"]}],
        [{"id": "p", "annotations": [[]]}],
    ],
    "argilla": [
        [argilla("p", {"u": "a"})] * 2,
        [argilla("p", {}) | {"responses": {"label": "a"}}],
        [argilla("p", {}) | {"responses": {"label": ["a"]}}],
        [argilla("p", {}) | {"responses": []}],
        [argilla("p", {}) | {"responses": {"x": [], "y": []}}],
        [argilla("p", {"u": {"a": 1}})],
        [argilla("p", {"u": [{"value": "x", "rank": "one"}]})],
        [flat("p", {"u": "a"}) | {"label.responses.users": ["u", "v"]}],
        [flat("p", {"u": "a"}) | {"label.responses": "a"}],
        [argilla("p", {"u": "a"}), 3],
        [argilla("p", {"u": "a"}, "discarded")],
    ],
    "prodigy": [
        [prodigy("p", "u", ["a"], "yes")],
        [prodigy("p", "u", "a")],
        [prodigy("p", "u", ["a"])] * 2,
        [prodigy("p", "u", [])],
        [prodigy("p", "u", [{"x": 1}])],
        [prodigy("p", "u", ["a"]), 5],
        [prodigy("p", "u", ["a"]), {"answer": "accept"}],
        [prodigy(None, "u", ["a"]) | {"_input_hash": 1.5}],
        [prodigy("p", 1.5, ["a"])],
        [prodigy("p", "u", ["a"]), prodigy("q", None, ["a"]) | {"_session_id": None}],
    ],
    "doccano": [
        [{"id": 1, "label": ["a"]}] * 2,
        [{"id": 1, "label": ["a"]}, {"id": 2}],
        [{"id": 1, "label": ["a"]}, {"id": 2, "label": "a"}],
        [{"id": 1, "label": ["a"]}, 3],
        [{"id": None, "label": ["a"]}, {"id": "0", "label": ["a"]}],
        [{"id": 1, "label": []}],
        [{"id": 1, "label": [{"a": 1}]}],
        [{"id": 1, "label": ["a", "a"]}],
        [{"id": 1.5, "label": ["a"]}],
        [{"id": " ", "label": ["a"]}],
    ],
    "nested": [
        {"p": {"ann": {"x": 1}}},
        {"p": {"ann": ["a", "a"]}},
        {"p": {"ann": None}},
        {"p": {"": "a"}},
        {"": {"ann": "a"}},
        {"p": {"ann": 0.5}},
        {"p": {"ann": [[]]}},
        {"p": {"annotations": "a,b", "annotators": "x"}},
        {"p": {"annotations": ["a"], "annotators": {"x": 1}}},
        {"p": {"annotations": 3}},
    ],
    "soft": [
        [{"id": "p", "soft_label": {"a": 0.5, "b": 0.2}}],
        [{"id": "p", "soft_label": {"a": -0.5, "b": 1.5}}],
        [{"id": "p", "soft_label": {"a": "x"}}],
        [{"id": "p", "soft_label": {}}],
        [{"id": "p", "soft_label": [0.5, 0.5]}],
        [{"id": "p", "soft_label": {"a": float("nan"), "b": 1}}],
        [{"id": "p", "soft_label": {"a": None}}],
        [{"id": "p", "soft_label": {"a": 1.0}}] * 2,
        [{"id": "p", "soft_label": {"a": 1.0}}, {"id": "q", "annotations": ["a"], "annotators": ["x"]}],
        [{"id": "p", "soft_label": "x"}],
    ],
}


@pytest.mark.parametrize(
    ("form", "number"), [(form, i) for form, contents in DAMAGED.items() for i in range(len(contents))]
)
def test_damage_gets_one_sentence(form, number, tmp_path):
    content = DAMAGED[form][number]
    path = write(tmp_path / "a.json", content)
    warnings.simplefilter("ignore", PlausiblyWarning)
    with pytest.raises(PlausiblyError, match=r"a\.json: ") as error:
        read_annotations(path, soft_weight=10 if form == "soft" else None)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('id,annotations\np,"[""a"", ""b"""\n', None),
        ("id,annotations\np\n", "no table"),
        ("id,annotations,annotations\np,a,b\n", "2 times"),
        ("id,annotations,annotators\np,\"['a']\",\"['x', 'y']\"\n", "1 annotations and 2 annotators"),
        ("id,annotations\np,\n", "no case has an answer"),
        ("id,annotations\np,[]\n", "no case has an answer"),
        ("annotations\n", "no case has an answer"),
        ("id,annotations\np,a\np,b\n", "two records"),
        ('id,annotations\np,"[{""a"": 1}]"\n', "the answer is"),
        ('id,annotations,annotators\np,"[""a""]","[1.5]"\n', "names are text or whole numbers"),
    ],
)
def test_damage_in_cells_gets_one_sentence(text, sentence, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    if sentence is None:  # what is not JSON is text, with commas
        assert read_annotations(path).n_annotations == 2
        return
    with pytest.raises(PlausiblyError, match=sentence) as error:
        read_annotations(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("kind", ["records", "frame", "jsonl", "parquet", "mapping"])
def test_what_has_no_answer_is_told(kind, tmp_path):
    rows = [
        {"case": "p", "annotations": ["a", None, "b"]},
        {"case": "q", "annotations": []},
        {"case": "r", "annotations": ["a"]},
    ]
    words = "left out: 1 cases without answers, 1 missing answers"
    if kind == "mapping":
        rows = {"p": {"x": "a", "y": None, "z": "b"}, "q": {}, "r": {"x": "a"}}
    elif kind == "frame":
        rows = pd.DataFrame(rows)
    elif kind == "parquet":
        pd.DataFrame(rows).to_parquet(tmp_path / "a.parquet")
    elif kind == "jsonl":
        (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    read = read_annotations if kind in ("jsonl", "parquet") else Annotations.from_case_rows
    with pytest.warns(PlausiblyWarning, match=words):
        found = read(tmp_path / f"a.{kind}" if read is read_annotations else rows)
    assert (found.cases.tolist(), found.n_annotations) == (["p", "r"], 3)

"""Clusters of cases, and groups to report by, from a column of the annotations, or from a table of their own."""

import json

import pandas as pd
import pytest

from plausibly.app.cli import _groups
from plausibly.app.cli._groups import read_by, read_column
from plausibly.base.errors import ArgumentError, PlausiblyError
from plausibly.data.annotations import read_metadata
from tests.test_app.test_cli.run import succeed

TABLE = "case,annotator,class,patient\np,ann,a,1\np,bob,b,1\nq,ann,a,2\n"


@pytest.fixture
def annotations(tmp_path):
    path = tmp_path / "annotations.csv"
    path.write_text(TABLE)
    return path


def test_columns_and_tables_say_the_same_and_posteriors_have_none(annotations, tmp_path):
    (tmp_path / "clusters.csv").write_text("case,cluster\np,1\nq,2\n")
    for given in ("patient", str(tmp_path / "clusters.csv")):
        assert read_column(given, annotations).to_dict() == {"p": "1", "q": "2"}
    assert read_column(None, annotations) is None
    (tmp_path / "more.csv").write_text("case,site,sex\np,north,f\nq,south,m\n")
    found = read_by(f"patient, {tmp_path / 'more.csv'}", annotations)
    assert {name: values.to_dict() for name, values in found.items()} == {
        "patient": {"p": "1", "q": "2"},
        "site": {"p": "north", "q": "south"},
        "sex": {"p": "f", "q": "m"},
    }
    lines = tmp_path / "cases.jsonl"
    lines.write_text('{"id": "p", "labels": ["a", "b"], "site": "x"}\n{"id": "q", "labels": ["a"], "site": "y"}\n')
    assert read_by("site", lines)["site"].to_dict() == read_column("site", lines).to_dict() == {"p": "x", "q": "y"}
    assert read_by(None, annotations) is None
    with pytest.raises(ArgumentError, match="--clusters must be a file with the columns case and cluster, but"):
        read_column("patient")
    (tmp_path / "clusters.csv").write_text("case,patient\np,1\n")
    with pytest.raises(PlausiblyError, match="the table must have the columns case and cluster, but has no 'cluster'"):
        read_column(str(tmp_path / "clusters.csv"))
    (tmp_path / "clusters.csv").write_text("case,cluster\np,\n")
    with pytest.raises(PlausiblyError, match="case 'p' has no cluster"):
        read_column(str(tmp_path / "clusters.csv"))


def test_metadata_of_annotations_are_read_once(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    rows = [{"case": name, "annotations": ["x"], "site": "north", "sex": "f", "age": 40} for name in "pq"]
    path.write_text("\n".join(map(json.dumps, rows)))
    calls = []
    monkeypatch.setattr(_groups, "read_metadata", lambda source: calls.append(source) or read_metadata(source))
    assert list(read_by("site, sex,age", path)) == ["site", "sex", "age"]
    assert [one.path for one in calls] == [path]


def test_groups_of_cases_whose_labels_are_all_missing_are_left_out(tmp_path):
    rows = [
        f"c{i},r{who},{'n/a' if i == 3 else 'ab'[(i + who) % 2]},{'ns'[i % 2]}" for i in range(8) for who in range(2)
    ]
    (tmp_path / "a.csv").write_text("\n".join(["case,annotator,label,site", *rows]))
    (tmp_path / "p.csv").write_text("\n".join(["case,a,b", *(f"c{i},0.25,0.75" for i in range(8))]))
    words = ["evaluate", tmp_path / "a.csv", "--missing", "n/a", "--predictions", f"A={tmp_path / 'p.csv'}"]
    words += ["--extra", "ignore", "--truth", "annotator", "--metrics", "brier", "--replicates", 20]
    result = succeed(*words, "--by", "site", "--clusters", "site", "--out", tmp_path / "out")
    assert "left out 2 rows without a label: 'n/a' (2)" in result.output
    assert set(pd.read_csv(tmp_path / "out" / "groups.csv")["group"]) == {"n", "s"}

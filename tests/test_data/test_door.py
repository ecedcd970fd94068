"""What is written in a layout and read back is the same; a sheet of small numbers is what was drawn, or refused."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import Labels
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.data.annotations.io.read import annotations_of, open_any
from plausibly.data.understood import understood

KINDS = {
    "texts": ["wart", "corn", "nevus"],
    "yes and no": ["yes", "no"],
    "0 and 1": [0, 1],
    "grades": [1, 2, 3, 4, 5],
    "scores": [0.25, 1.5, 3.0, 7.75],
}
pytestmark = pytest.mark.filterwarnings("ignore::plausibly.errors.PlausiblyWarning")


def drawn(random):
    """Labels of a few cases by two to four readers, some of whom leave cases out, and their kind."""
    kind = random.choice([*KINDS])
    people = [f"reader {n}" for n in range(1, random.integers(3, 6))]
    rows = [
        (f"c{case}", who, KINDS[kind][random.integers(len(KINDS[kind]))])
        for case in range(random.integers(3, 8))
        for who in people
        if random.random() < 0.9 or who in people[:2]
    ]
    return kind, rows


def wide(rows):
    return pd.DataFrame(rows, columns=["case", "annotator", "label"]).pivot_table(
        index="case", columns="annotator", values="label", aggfunc="first"
    )


def write(layout, rows, path):
    """Write labels in a layout; returns what the reader is given, and the options that it needs."""
    table = pd.DataFrame(rows, columns=["case", "annotator", "label"])
    if layout == "long":
        table.to_csv(path / "a.csv", index=False)
        return path / "a.csv", {}
    if layout == "other names":
        table.set_axis(["image_id", "rater", "grade" if table["label"].dtype == object else "label"], axis=1).to_csv(
            path / "a.csv", index=False
        )
        return path / "a.csv", {}
    if layout == "unknown names":
        table.set_axis(["photo", "who", "said"], axis=1).assign(note=1).to_csv(path / "a.tsv", sep="\t", index=False)
        return path / "a.tsv", {"case": "photo", "annotator": "who", "label": "said"}
    if layout == "wide":
        wide(rows).to_csv(path / "a.csv")
        return path / "a.csv", {}
    if layout == "wide, semicolons":
        wide(rows).to_csv(path / "a.csv", sep=";", decimal=",")
        return path / "a.csv", {}
    if layout == "parquet":
        table.to_parquet(path / "a.parquet")
        return path / "a.parquet", {}
    records = table.to_dict("records")
    if layout == "records":
        (path / "a.json").write_text(json.dumps(records))
        return path / "a.json", {}
    if layout == "JSON lines":
        (path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
        return path / "a.jsonl", {}
    cases: dict = {}
    for case, who, label in rows:
        cases.setdefault(case, {})[who] = label
    if layout == "nested":
        (path / "a.json").write_text(json.dumps(cases))
        return path / "a.json", {}
    if layout == "case rows":
        lines = [{"case": case, "annotators": [*said], "annotations": [*said.values()]} for case, said in cases.items()]
        (path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
        return path / "a.jsonl", {}
    if layout == "a file each":
        files = {}
        for who, own in table.groupby("annotator", sort=False):
            files[who] = path / f"{who}.csv"
            own.drop(columns="annotator").to_csv(files[who], index=False)
        return files, {}
    return rows, {}


LAYOUTS = ("long", "other names", "unknown names", "wide", "wide, semicolons", "parquet", "records", "JSON lines")
LAYOUTS += ("nested", "case rows", "a file each", "triples")


def plain(value):
    """A label as it compares: numbers as numbers, however they were written."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_labels_in_any_layout_are_the_same_labels(layout, tmp_path):
    random = np.random.default_rng(sum(map(ord, layout)))
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        kind, rows = drawn(random)
        given, options = write(layout, rows, folder)
        read = Labels.of(given, **options)
        found = zip(read.cases[read.case], read.annotators[read.annotator], read.values.tolist(), strict=True)
        expected = Counter((case, who, plain(label)) for case, who, label in rows)
        assert Counter((str(case), str(who), plain(label)) for case, who, label in found) == expected, (kind, rows)


def sheet(random):
    """A sheet of small numbers as users have them: grades of readers, or counts of classes, with what it is."""
    n_cases, n = random.integers(1, 9), random.integers(2, 6)
    what = random.choice(["labels", "counts"])
    if what == "labels":
        names = random.choice(
            [["Rater{}", "reader {}", "r{}", "expert_{}"], ["col {}", "x{}", "site {}"]][random.integers(2)]
        )
        low = random.integers(2)
        values = random.integers(low, random.choice([2, 4, 6]), (n_cases, n))
    else:
        names = random.choice(["class {}", "grade{}", "finding {}"])
        sizes = np.full(n_cases, random.integers(2, 9)) if random.random() < 0.5 else random.integers(1, 9, n_cases)
        values = np.array([random.multinomial(size, random.dirichlet(np.ones(n))) for size in sizes])
    table = pd.DataFrame(values, columns=[names.format(k + 1) for k in range(n)])
    table.insert(0, "case", [f"c{i}" for i in range(n_cases)])
    if what == "counts" and random.random() < 0.3:
        table["total"] = values.sum(axis=1)
    return what, table, values


def misread(random, path):
    """Draw a sheet, and return it if it is read as something else; None if it is read as it is, or refused."""
    what, table, values = sheet(random)
    table.to_csv(path, index=False)
    try:
        read = pb.read_annotations(path)
    except PlausiblyError:
        return None
    if what == "counts":
        found = np.zeros(values.shape, int)
        shape = (read.n_cases, read.n_classes) if isinstance(read, pb.Annotations) else ()
        if shape != values.shape or not read.anonymous:
            return what, table
        np.add.at(found, (read.entry_case, read.entry_class), 1)
        return None if (found == values).all() else (what, table)
    named = isinstance(read, pb.Annotations) and not read.anonymous and read.n_annotations == values.size
    return (
        None
        if named and read.classes[read.entry_class].astype(int).tolist() == values.ravel().tolist()
        else (what, table)
    )


def test_a_sheet_of_small_numbers_is_what_was_drawn_or_refused(tmp_path):
    n = 100
    random = np.random.default_rng(n)
    wrong = [found for _ in range(n) if (found := misread(random, tmp_path / "a.csv")) is not None]
    assert not wrong, f"{len(wrong)} of {n}, such as {wrong[0][0]}:\n{wrong[0][1]}"
    pd.DataFrame({"case": ["p", "q"], "r1": [0, 1], "r2": [1, 1]}).to_csv(tmp_path / "a.csv", index=False)
    with pytest.warns(PlausiblyWarning, match="one annotator each"):
        read = pb.read_annotations(tmp_path / "a.csv")
    assert read.annotators.tolist() == ["r1", "r2"]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"p": {"ann": 0, "bob": 1}}, "2 labels, 0 and 1, by 2 annotators of 1 case"),
        ({"p": {"ann": 1, "bob": 5}, "q": {"ann": 2}}, "3 grades, 1 to 5, by 2 annotators of 2 cases"),
        ({"p": {"ann": 0.5, "bob": 5}}, "2 scores, 0.5 to 5, by 2 annotators of 1 case"),
        ({"p": {"ann": "x", "bob": "y"}}, "2 labels, of 2 classes (x, y), by 2 annotators of 1 case"),
        ({"p": {"ann": [(0, 4, "drug")], "bob": []}}, "2 lists of spans, by 2 annotators of 1 case"),
    ],
)
def test_what_was_read_is_said(labels, said):
    assert understood(Labels.of(labels)) == said


def test_what_is_not_used_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("photo,who,said,note\np,ann,x,1\np,bob,y,2\n")
    source = open_any(tmp_path / "a.csv", {"case": "photo", "annotator": "who", "label": "said"})
    assert understood(annotations_of(source), source).endswith("of 1 case; column 'note' not used")
    assert understood(annotations_of(source), source, ["note"]).endswith("of 1 case")
    counts = pb.Annotations.from_counts([[2, 0], [1, 1]], classes=["x", "y"])
    assert understood(counts) == "4 labels, of 2 classes (x, y), by annotators without names, of 2 cases"


def test_records_of_scores_within_a_case_are_rows_of_scores(tmp_path):
    records = [
        {"id": "p", "ward": 1, "ratings": [{"annotator": "ann", "rating": 3}, {"annotator": "bob", "rating": 2.5}]},
        {"id": "q", "ward": 2, "ratings": [{"annotator": "bob", "rating": 1}]},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    read = pb.read(tmp_path / "a.jsonl")
    assert isinstance(read, pb.Scores)
    assert [read.cases[read.annotation_case].tolist(), read.score.tolist()] == [["p", "p", "q"], [3, 2.5, 1]]
    assert pb.read_metadata(tmp_path / "a.jsonl")["ward"].tolist() == [1, 2]
    (tmp_path / "a.json").write_text(json.dumps([*records, {"id": "r", "ratings": []}]))
    with pytest.raises(PlausiblyError, match="record 3 has no ratings"):
        pb.read(tmp_path / "a.json")


def test_rows_of_spans_are_an_answer_for_each_case_and_annotator(tmp_path):
    rows = ["d,ann,0,4,drug", "d,ann,9,12,dose", "d,bob,0,5,drug", "e,ann,,,", "e,bob,3,8,drug"]
    (tmp_path / "a.csv").write_text("\n".join(["case,annotator,start,end,label", *rows]))
    read = pb.read(tmp_path / "a.csv")
    said = [[(0, 4, "drug"), (9, 12, "dose")], [(0, 5, "drug")], [], [(3, 8, "drug")]]
    assert read.values.tolist() == said
    assert understood(read, open_any(tmp_path / "a.csv", {})) == "4 lists of spans, by 2 annotators of 2 cases"
    (tmp_path / "a.csv").write_text("case,annotator,start,end,label\nd,ann,7,4,x\nd,ann,9,12,y\n")
    with pytest.raises(PlausiblyError, match="second answer"):
        pb.read(tmp_path / "a.csv")


def test_rows_of_a_ranking_are_no_second_answers():
    ranks = {"case": ["p", "p", "p"], "annotator": ["a", "a", "b"], "class": ["x", "y", "y"], "rank": [1, 2, 1]}
    assert pb.read(ranks) == pb.read_annotations(ranks)
    with pytest.raises(PlausiblyError, match="second answer"):
        pb.read({name: column for name, column in ranks.items() if name != "rank"})
    turned = {name: column[::-1] for name, column in ranks.items()}
    for each in (ranks, turned):
        read = Labels.of(each, repeats="ties")
        said = dict(zip(read.annotators[read.annotator].tolist(), read.values.tolist(), strict=True))
        assert said == {"a": [["x"], ["y"]], "b": [["y"]]}
        with pytest.raises(PlausiblyError, match="no column 'site'"):
            Labels.of(each | {"site": [1, 1, 1]}, columns=["site"], repeats="ties")


def test_the_first_of_ranked_rows_is_that_of_the_first_rank_wherever_it_stands():
    rows = {"case": ["p", "p", "p"], "annotator": ["a", "a", "b"], "class": ["y", "x", "y"], "rank": [2, 1, 1]}
    assert Labels.of(rows, repeats="first").values.tolist() == ["x", "y"]
    assert Labels.of(rows, repeats="last").values.tolist() == ["y", "y"]


def test_of_second_answers_the_one_that_was_asked_for_counts():
    rows = [("p", "ann", "x"), ("p", "ann", "y"), ("p", "bob", "y"), ("q", "ann", "z"), ("q", "bob", "z")]
    for repeats, kept in (("first", "x"), ("last", "y")):
        assert Labels.of(rows, repeats=repeats).values.tolist() == [kept, "y", "z", "z"]
        assert pb.read_annotations(rows, repeats=repeats).rankings("p") == {"ann": [[kept]], "bob": [["y"]]}
    assert Labels.of(rows, repeats="ties").values.tolist() == [["x", "y"], ["y"], ["z"], ["z"]]
    assert Labels.of(rows, repeats="readings").values.tolist() == ["x", "y", "y", "z", "z"]


def test_columns_of_nothing_but_class_names_are_annotators(tmp_path):
    (tmp_path / "a.csv").write_text("case,ann,bob\nc1,0,0\nc2,1.0,\nc3,0,1\n")
    with pytest.raises(PlausiblyError, match=r"the cell is missing.*--layout wide"):
        pb.read_annotations(tmp_path / "a.csv")
    (tmp_path / "c.csv").write_text("case,ann,bob\nc1,0,0\nc2,1,0\n")
    with pytest.raises(PlausiblyError, match=r"labels of 2 cases by annotators called 'ann', 'bob'.*--classes 0,1"):
        pb.read_annotations(tmp_path / "c.csv")
    for classes in ("0,1", ["0", "1"]):
        read = pb.read_annotations(tmp_path / "a.csv", classes=classes)
        assert (read.annotators.tolist(), read.n_annotations, read.classes.tolist()) == (["ann", "bob"], 5, ["0", "1"])
    assert pb.agreement.agreement(Labels.of({"c": {"a": 1, "b": 3}, "d": {"a": 2, "b": 2}}).in_order("123"), "ordinal")
    (tmp_path / "b.csv").write_text("case,0,1\nc1,0,1\nc2,1,0\n")
    assert pb.read_annotations(tmp_path / "b.csv", classes="0,1").n_annotations == 2
    with pytest.raises(PlausiblyError, match="header is wrong"):
        pb.read_annotations(tmp_path / "c.csv", classes="no,yes")

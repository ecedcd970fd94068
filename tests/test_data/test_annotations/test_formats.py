"""Writing annotations: what is written is read back equal, and what a format cannot hold is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.data.annotations import Annotations, read_annotations, write_annotations
from plausibly.data.annotations.io import long_table
from plausibly.data.annotations.io.write import without_names
from tests.test_app.test_cli.run import plausibly, refuse, succeed
from tests.test_data.test_annotations.test_container import forms

NAMED = Annotations.from_rankings(
    {"cases": {"p": {"ann": [["b"], ["a", "c"]]}, "q/r": {"bob": [["a"]], "ann": [["c"]]}}}, classes="abcd"
)
COUNTED = Annotations.from_counts([[2, 0, 1], [0, 3, 0]], classes=["x", "y", "z"], cases=["p", "q"])

# Whatever a name may hold: quotes, commas, line breaks within, formulas, apostrophes before them, other scripts.
names = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)
    | st.sampled_from(
        ["=1+1", "'=x", "''@x", "-1", "+", "a,b", 'a"b', "a\nb", "a\rb", "007", "1e5", "nan", "NA", "<b>"]
    )
    | st.sampled_from(
        ["null", "{1}", "# x", "a: b", "case", "rank", ".x", "a%2Fb", "/", "..", "é", "e\u0301", "\ufeffx"]
    )
).filter(lambda name: name == name.strip() and name.strip())
quick = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def annotations(**options):
    return forms(names, **options).map(Annotations.from_rankings)


def as_votes(annotations: Annotations) -> dict[str, list[str]]:
    """What was said of each case, in any order of annotators and cases."""
    return {case: sorted(map(repr, annotations.rankings(case).values())) for case in annotations.cases.tolist()}


@quick
@given(annotations())
@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.parquet"])
def test_rankings_and_tables_hold_everything_but_classes(tmp_path, name, annotations):
    write_annotations(annotations, tmp_path / name)
    digits = all(one.removeprefix("-").isdecimal() for one in annotations.classes.tolist())
    if not digits or name == "a.json":  # else class names and indices look alike
        assert read_annotations(tmp_path / name, annotations.classes) == annotations


@quick
@given(annotations(single=True, anonymous=True))
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_counts_hold_single_labels(tmp_path, name, annotations):
    try:
        write_annotations(annotations, tmp_path / name, "counts")
    except AnnotationError as error:
        assert "which in a header means something else" in str(error)  # noqa: PT017
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*left out as a total")
        back = read_annotations(tmp_path / name, layout="counts")
    assert as_votes(back) == as_votes(annotations)
    assert back.classes.tolist() == annotations.classes.tolist()
    assert back.cases.tolist() == annotations.cases.tolist()


@quick
@given(annotations(anonymous=True), st.sampled_from(["soc", "soi", "toc", "toi"]))
def test_preflib_holds_votes(tmp_path_factory, annotations, form):
    folder = tmp_path_factory.mktemp("votes")
    try:
        write_annotations(annotations, folder, form)
    except AnnotationError as error:
        assert "does not allow" in str(error) or "line break" in str(error)  # noqa: PT017
        assert not list(folder.iterdir())
        return
    back = read_annotations(folder)
    assert as_votes(back) == as_votes(annotations)
    assert back.classes.tolist() == annotations.classes.tolist()


def test_files_of_one_case_of_counts_and_of_the_anonymous_without_formulas(tmp_path):
    one = without_names(NAMED.select(["p"]))
    write_annotations(one, tmp_path / "p.toi")
    assert read_annotations(tmp_path / "p.toi") == one
    write_annotations(without_names(NAMED.select(["q/r"])), tmp_path / "q%2Fr.soi")
    assert read_annotations(tmp_path / "q%2Fr.soi").cases.tolist() == ["q/r"]
    counts = np.array([[2, 0, 1], [0, 3, 0]])
    write_annotations(Annotations.from_counts(counts), tmp_path / "a.npy")
    assert np.load(tmp_path / "a.npy").tolist() == counts.tolist()
    write_annotations(COUNTED, tmp_path / "a.csv")
    table = pd.read_csv(tmp_path / "a.csv")
    assert table.columns.tolist() == ["case", "annotation", "class", "rank"]
    assert read_annotations(tmp_path / "a.csv", COUNTED.classes) == COUNTED
    assert Annotations.from_table(table, COUNTED.classes) == COUNTED
    table = pd.DataFrame({"case": ["p"], "annotator": ["ann"], "annotation": [7], "class": ["x"]})
    assert not Annotations.from_table(table).anonymous
    evil = Annotations.from_rankings({"cases": {"=cmd|' /C calc'!A0": {"@SUM(1)": [["+x"], ["-1"], ["'=y"]]}}})
    write_annotations(evil, tmp_path / "a.csv")
    cells = {cell for line in (tmp_path / "a.csv").read_text().splitlines() for cell in line.split(",")}
    assert cells >= {"'=cmd|' /C calc'!A0", "'@SUM(1)", "'+x", "-1", "''=y"}
    assert read_annotations(tmp_path / "a.csv", evil.classes) == evil


def test_convert_through_every_format_with_notes(tmp_path):
    write_annotations(COUNTED, tmp_path / "0.json")
    steps = [["1.csv"], ["2.parquet"], ["3.csv", "--as", "counts"], ["4.parquet", "--as", "counts"], ["5.json"]]
    steps += [["votes", "--as", "soi"], ["7.json"]]
    before = "0.json"
    for name, *more in steps:
        # A long table tells the classes that somebody named, which here are all.
        succeed("convert", tmp_path / before, tmp_path / name, *more)
        with warnings.catch_warnings():  # the total of counts is named
            warnings.simplefilter("ignore", PlausiblyWarning)
            assert as_votes(read_annotations(tmp_path / name)) == as_votes(COUNTED)
        before = name
    assert read_annotations(tmp_path / "5.json") == COUNTED
    done = '{"result": [{"from_name": "c", "type": "choices", "value": {"choices": ["x"]}}], "completed_by": 1}'
    (tmp_path / "e.json").write_text(f'[{{"id": 1, "annotations": [{done}, {{"was_cancelled": true}}]}}]')
    result = succeed("convert", tmp_path / "e.json", tmp_path / "a.json", "--control", "c")
    assert "e.json: left out: 1 cancelled annotations." in result.output


def test_convert_says_where_classes_are_needed_and_forgets_names_if_told_to(tmp_path):
    write_annotations(NAMED, tmp_path / "a.json")
    words = "convert", tmp_path / "a.json", tmp_path / "made" / "a.csv", "--write-classes", tmp_path / "made" / "c.txt"
    result = succeed(*words)
    assert "c.txt" in result.output.splitlines()[1]
    assert (tmp_path / "made" / "c.txt").read_text() == "a\nb\nc\nd\n"
    assert read_annotations(tmp_path / "made" / "a.csv", tmp_path / "made" / "c.txt") == NAMED
    for words, sentence in (
        (["a.xlsx"], "use one of .json"),
        (["a.npy", "--as", "table"], "table are not written as .npy: use .csv or .parquet"),
        (["votes"], "the suffix '' names no format written here"),
    ):
        result = refuse("convert", tmp_path / "a.json", tmp_path / words[0], *words[1:])
        assert sentence in result.output
    refused = refuse("convert", tmp_path / "a.json", tmp_path / "votes", "--as", "toi")
    assert "--anonymous" in refused.output
    assert plausibly("convert", tmp_path / "a.json", tmp_path / "votes", "--as", "toi", "--anonymous").exit_code == 0
    assert as_votes(read_annotations(tmp_path / "votes")) == as_votes(NAMED)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_table_in_pieces(tmp_path, monkeypatch, ending):
    whole, pieces = tmp_path / f"whole{ending}", tmp_path / f"pieces{ending}"
    annotations = Annotations.from_rankings([[[["=a"], ["b", "c\rd"]], [["b"]]], [[["c\rd"]]]])
    write_annotations(annotations, whole)
    monkeypatch.setattr(long_table, "_TOGETHER", 2)
    write_annotations(annotations, pieces)
    assert read_annotations(pieces) == read_annotations(whole) == annotations


def test_audit_and_convert_take_the_options_of_reading_and_say_what_was_read(tmp_path):
    """`audit --missing` was accepted and ignored, and `convert` knew no columns."""
    path = tmp_path / "a.csv"
    path.write_text("photo,who,said\np,ann,x\np,bob,n/a\nq,ann,y\nq,bob,x\nq,bob,y\n")
    roles = ["--case", "photo", "--annotator", "who", "--label", "said", "--missing", "n/a"]
    found = succeed("audit", path, *roles).output
    assert "3 answers, of 2 classes (x, y), by 2 annotators of 2 cases." in found
    assert "second answers" in found
    assert "missing labels as classes" not in found
    found = succeed("convert", path, tmp_path / "b.csv", *roles, "--repeats", "last").output
    assert "3 labels, of 2 classes (x, y), by 2 annotators of 2 cases." in found
    assert read_annotations(tmp_path / "b.csv").rankings("q") == {"ann": [["y"]], "bob": [["y"]]}
    wide = tmp_path / "w.csv"
    wide.write_text("case,Rater1,Rater2\np,x,y\np,x,x\nq,x,x\nr,y,y\n")
    assert "second answers" in succeed("audit", wide).output

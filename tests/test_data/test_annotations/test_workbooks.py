"""Sheets of Excel workbooks, which every reader of tables reads as if they were CSV files."""

import datetime
import sys
import zipfile

import numpy as np
import openpyxl
import pytest

import plausibly as pb
from plausibly.agreement import Labels, read_labels
from plausibly.base.errors import ArgumentError, FileError
from plausibly.data.annotations.io.table_files import read_batches, read_columns
from plausibly.data.groups import columns_of
from plausibly.data.outcomes import read_outcomes
from tests.test_app.test_cli.run import succeed

ROWS = [("case", "annotator", "class"), (1, "ann", "x"), (1, "bob", "y"), (2, "ann", "y"), (2, "bob", "y")]


def book(path, change=lambda book: None, **sheets):
    """A workbook with one sheet for each list of rows."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    change(made)
    made.save(path)
    return path


def as_csv(path, rows):
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def cells(path):
    return {name: column.to_pylist() for name, column in read_columns(path).items()}


def test_a_sheet_is_read_as_its_csv_file_by_every_reader(tmp_path):
    of_case = [("case", "site"), (1, "n"), (2, "s")]
    scores = [("case", "x", "y"), (2, 0.25, 0.75), (1, 1, 0)]
    systems = [("system", "case", "rater", "outcome"), ("A", "p", "r", 1), ("B", "p", "r", 0), ("A", "q", "r", 1)]
    sheets = {"labels": ROWS, "groups": of_case, "scores": scores, "outcomes": [*systems, ("B", "q", "r", 1)]}
    path = book(tmp_path / "all.xlsx", **sheets)
    both = [(f"{path}:{name}", as_csv(tmp_path / f"{name}.csv", rows)) for name, rows in sheets.items()]
    (labels, _), (groups, _), (predicted, _), (outcomes, _) = both
    read = pb.read_annotations(labels)
    assert read == pb.read_annotations(both[0][1])
    assert read.cases.tolist() == ["1", "2"]
    for reader in (Labels.of, read_labels, pb.read_metadata, pb.audit, pb.doctor):
        found = [reader([source] if reader is pb.doctor else source) for source in both[0]]
        shown = [str(one).replace(str(source), "") for one, source in zip(found, both[0], strict=True)]
        assert shown[0] == shown[1], reader
    assert columns_of(groups)["site"].to_dict() == {"1": "n", "2": "s"}
    assert pb.read_predictions(predicted, read) == pytest.approx(np.array([[1, 0], [0.25, 0.75]]))
    for column in (f"{predicted}:y", f"{book(tmp_path / 'one.xlsx', scores=scores)}:y"):
        assert pb.read_predictions(column, read) == pytest.approx(np.array([[1, 0], [0.25, 0.75]]))
    assert (
        read_outcomes(outcomes, ["r"]).value.tolist() == read_outcomes(both[3][1], ["r"]).value.tolist() == [1, 0, 1, 1]
    )
    given = ["--predictions", f"A={predicted}", "--by", groups, "--out", tmp_path / "out", "--quick", "--quiet"]
    succeed("evaluate", labels, "--truth", "annotator", *given)


def test_cells_are_written_as_csv_files_have_them(tmp_path):
    when = datetime.datetime(2024, 3, 1, 9, 30)
    row = ("007", 3.0, 0.25, True, datetime.date(2024, 3, 1), when, datetime.time(9), 'a "b",\nc', "=x", None)
    header = [f"c{number}" for number in range(len(row))]
    blank = [None] * len(row)

    def text(made):
        made["s"]["I5"].data_type = "s"

    path = book(tmp_path / "a.XLSX", text, s=[blank, header, blank, blank, [*row, None, ""]])
    expected = ["007", "3", "0.25", "TRUE", "2024-03-01", "2024-03-01T09:30:00", "09:00:00"]
    assert cells(path) == {name: [cell] for name, cell in zip(header, [*expected, 'a "b",\nc', "=x", ""], strict=True)}
    assert sum(len(batch["c0"]) for batch in read_batches(path)) == 1


def test_sheets_without_content_and_hidden_ones_are_no_choice(tmp_path):
    def hide(made):
        made["notes"].sheet_state = "hidden"

    path = book(tmp_path / "a.xlsx", hide, empty=[], labels=ROWS, notes=[("anything",)])
    assert cells(path)["case"] == ["1", "1", "2", "2"]
    assert cells(tmp_path / "a.xlsx:notes") == {"anything": []}


@pytest.mark.parametrize(
    ("sheets", "name", "message"),
    [
        ({"a": ROWS, "b": ROWS}, "w.xlsx", "w.xlsx: the workbook has the sheets 'a', 'b'; name one, .*w.xlsx:a"),
        ({"one": ROWS}, "w.xlsx:on", "w.xlsx:on: the workbook has no sheet 'on'; did you mean 'one'"),
        ({"one": []}, "w.xlsx", "the workbook is empty"),
        ({"one": [], "b": ROWS}, "w.xlsx:one", "the sheet 'one' is empty"),
        ({"one": ROWS}, "none.xlsx", "does not exist"),
        ({"one": [("case", "annotator", "class"), ("p", "a", '=IF(1,"x")')]}, "w.xlsx", "formula in C2 whose value"),
        ({"one": [("case", "case", "class")]}, "w.xlsx", "names the column 'case' 2 times"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, sheets, name, message):
    book(tmp_path / "w.xlsx", **sheets)
    with pytest.raises(pb.errors.PlausiblyError, match=message):
        pb.read_annotations(tmp_path / name)


@pytest.mark.parametrize(("name", "content", "message"), [
    ("a.xlsx", b"PK\x03\x04 damaged", "no workbook or damaged"),
    ("a.xlsx", b"case,annotator,class\n", "no workbook or damaged"),
    ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", "has a password, or an old format"),
    ("a.ods", b"x", "Save As with the type"),
])  # fmt: skip
def test_damaged_and_other_spreadsheets_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=message):
        pb.read_annotations(tmp_path / name)


def test_a_formula_has_the_value_that_is_stored_with_it(tmp_path):

    path, done = (
        book(tmp_path / "a.xlsx", s=[*ROWS, (3, "ann", '=IF(1,"x")'), (3, "bob", '=IF(1,"")')]),
        tmp_path / "b.xlsx",
    )
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(done, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            for place, value in (("C6", "x"), ("C7", "")):
                start, _, rest = text.partition(f'<c r="{place}"')
                text = f'{start}<c r="{place}" t="str"{rest.replace("<v />", f"<v>{value}</v>", 1)}' if rest else text
            new.writestr(name, text)
    assert cells(done)["class"][-2:] == ["x", ""]


def test_a_missing_library_is_named_with_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK")
    with pytest.raises(ArgumentError, match=r"a.xlsx: .*workbooks need the library 'openpyxl', .*plausibly\[excel\]"):
        pb.read_annotations(path)


def test_a_sheet_that_was_saved_again_is_read_again(tmp_path):
    path = book(tmp_path / "a.xlsx", s=[("case", "x"), ("p", 1)])
    assert cells(path)["x"] == ["1"]
    book(path, s=[("case", "x"), ("p", 1234)])
    assert cells(path)["x"] == ["1234"]

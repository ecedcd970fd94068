"""A folder as input: what is taken of it, and what is refused because it may be several things."""

import re

import pandas as pd
import pytest

from plausibly.app.cli._study import read_study
from plausibly.base.errors import ArgumentError
from tests.test_app.test_cli.run import refuse, succeed

N = 40
RIGHT = "case,x,y\n" + "".join(f"c{i},{1 - i % 2},{i % 2}\n" for i in range(N))
LABELS = "case,annotator,class\n" + "".join(
    f"c{i},{who},{'xy'[(i + (i % n == 0)) % 2]}\n" for i in range(N) for who, n in (("ann", 5), ("bob", 7), ("cy", 4))
)
TRUTH = "case,label\n" + "".join(f"c{i},{'xy'[i % 2]}\n" for i in range(N))
FILES = {"labels.csv": LABELS, "A.csv": RIGHT, "predictions-B.csv": RIGHT.replace(",1,0", ",0.6,0.4")}
FILES |= {"classes.txt": "x\ny\n", "risks.txt": "0\n1\n", "scan.pdf": "-", ".hidden.csv": LABELS}


def study(folder, more=(), without=()):
    """Write the files of a study."""
    folder.mkdir()
    for name, text in (FILES | dict(more)).items():
        if name not in without:
            (folder / name).write_text(text)
    return folder


def test_files_are_taken_for_what_they_are(tmp_path):
    folder = study(tmp_path / "study")
    read = read_study(folder)
    assert read.annotations == folder / "labels.csv"
    assert read.predictions == [f"A={folder / 'A.csv'}", f"B={folder / 'predictions-B.csv'}"]
    assert (read.classes, read.risks, read.gold) == (folder / "classes.txt", folder / "risks.txt", None)
    assert read.told == (
        f"{folder}: annotations labels.csv; predictions A.csv (A) and predictions-B.csv (B); classes classes.txt; "
        "risks risks.txt; not used scan.pdf (not read)."
    )
    assert read_study(folder, ["predictions", "risks"])[1:4] == ([], folder / "classes.txt", None)


def test_gold_labels_in_a_folder_are_the_truth_and_the_first_line_says_so(tmp_path):
    folder = study(tmp_path / "study", {"gold.csv": TRUTH})
    words = "--quick", "--replicates", 50, "--out"
    found = succeed("evaluate", folder, *words, tmp_path / "of_folder")
    first = found.stdout.splitlines()[0]
    assert first.startswith(f"{folder}: annotations labels.csv; predictions A.csv (A)")
    assert "gold labels gold.csv" in first
    assert "risks.txt (risks)" in first.partition("not used")[2]  # which only a model knows
    files = "--predictions", f"A={folder / 'A.csv'}", "--predictions", f"B={folder / 'predictions-B.csv'}"
    gold = "--gold", folder / "gold.csv", "--classes", folder / "classes.txt"
    succeed("evaluate", folder / "labels.csv", *files, *gold, *words, tmp_path / "named")
    tables = [pd.read_csv(tmp_path / name / "metrics.csv") for name in ("of_folder", "named")]
    pd.testing.assert_frame_equal(*tables)
    assert set(tables[0]["model"]) == {"gold"}


@pytest.mark.parametrize(
    ("more", "without", "told"),
    [
        ({"second.csv": LABELS}, (), r"several files of annotations, labels.csv and second.csv: give one of them"),
        ({"gold.csv": TRUTH, "truth.csv": TRUTH}, (), r"gold labels, gold.csv and truth.csv: say which by --gold"),
        ({"names.txt": "x\ny\nz\n"}, (), r"files of classes, classes.txt and names.txt: say which by --classes"),
        ({"levels.txt": "1\n1\n"}, (), r"files of risks, levels.txt and risks.txt: say which by --risks"),
        ({"C.csv": "case,x,y\nother,1,0\n"}, (), r"C.csv has no rows .* by --predictions"),
        ({}, ("labels.csv",), r"no annotations that are recognised: run plausibly doctor"),
        ({}, tuple(FILES)[:-1], r"holds no files"),
    ],
)
def test_what_may_be_several_things_is_refused_with_the_option_that_settles_it(tmp_path, more, without, told):
    folder = study(tmp_path / "study", more, without)
    with pytest.raises(ArgumentError, match=told):
        read_study(folder)


def test_an_option_settles_which_file_is_meant(tmp_path):
    folder = study(tmp_path / "study", {"gold.csv": TRUTH, "truth.csv": TRUTH, "C.csv": "case,x,y\nother,1,0\n"})
    said = re.sub(r"\s+", " ", refuse("evaluate", folder, "--out", tmp_path / "out").stderr)
    assert "gold.csv and truth.csv: say which by --gold" in said
    words = "--gold", folder / "truth.csv", "--predictions", f"A={folder / 'A.csv'}", "--quick", "--replicates", 20
    told = succeed("evaluate", folder, *words, "--out", tmp_path / "out").stdout
    assert "C.csv (predictions)" in told.splitlines()[0].partition("not used")[2]
    assert set(pd.read_csv(tmp_path / "out" / "metrics.csv")["classifier"]) == {"A"}


def test_a_folder_with_a_file_for_each_annotator_is_annotations(tmp_path):
    folder = tmp_path / "by"
    folder.mkdir()
    for who in ("ann", "bob"):
        (folder / f"{who}.csv").write_text("case,label\np,x\nq,y\n")
    assert read_study(folder) is None
    assert "annotations, read as by-annotator" in succeed("doctor", folder).stdout


def test_a_path_alone_is_looked_at_by_the_doctor(tmp_path):
    folder = study(tmp_path / "study")
    alone = succeed(folder)
    assert alone.stdout == succeed("doctor", folder).stdout
    assert "Which classifier is better" in alone.stdout
    assert "labels.csv: annotations" in succeed(folder / "labels.csv").stdout
    assert "No such command" in refuse("no-such-command").output

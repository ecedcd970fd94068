"""The table of published numbers: when a number is met, and what is written."""

import csv

import pytest

from validation.published import Row, main


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row("s", "w", "0.70", [0.68, 0.71, 0.66, 0.69]), True),  # sd 0.021
        (Row("s", "w", "0.80", [0.68, 0.71, 0.66, 0.69]), False),
        (Row("s", "w", "0.80", [0.685], least_sd=0.05), True),
        (Row("s", "w", "0.743", [0.7434], chance=False), True),
        (Row("s", "w", "0.743", [0.7436], chance=False), False),
        (Row("s", "w", "59%", [59.4, 59.4]), True),
        (Row("s", "w", "59%", missing="cifar10h"), None),
    ],
)
def test_met_within_half_a_digit_and_three_standard_deviations(row, met):
    assert row.met is met


def test_table_says_what_is_met_and_which_data_are_missing(tmp_path, capsys):
    assert main(["--only", "textbooks", "--out", str(tmp_path)]) == 0
    with (tmp_path / "published.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["met"] for row in rows] == ["yes"] * 5
    assert [float(row["ours"].rstrip("%")) for row in rows] == pytest.approx(
        [float(row["printed"].rstrip("%")) for row in rows], abs=0.5
    )
    assert main(["--only", "cifar", "--data", str(tmp_path), "--out", str(tmp_path)]) == 0
    assert "no data: cifar10h" in capsys.readouterr().out
    assert (tmp_path / "published.md").read_text().startswith("0 of 0 numbers are met.")

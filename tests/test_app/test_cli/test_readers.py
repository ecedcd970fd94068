"""`plausibly readers`: the first screen, the files, each option, and what is required."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from tests.test_agreement.test_readers import by_case, ratings, table
from tests.test_app.test_cli.run import plausibly, refuse, succeed


@pytest.fixture
def files(tmp_path):
    truth, scores, decisions = ratings(n=60, seed=1)
    table(scores[1:]).to_csv(tmp_path / "readers.csv", index=False)
    both = [table(one).assign(session=name) for name, one in {"alone": scores[:2], "aided": scores[2:]}.items()]
    pd.concat(both).to_csv(tmp_path / "sessions.csv", index=False)
    for name, column, values in (("A", "score", scores[0]), ("B", "label", decisions[0]), ("gold", "label", truth)):
        pd.DataFrame({"case": by_case(truth).keys(), column: values}).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_the_first_screen_and_the_files_are_of_the_function(files):
    words = ["readers", files / "readers.csv", "--predictions", f"A={files / 'A.csv'}", "--gold", files / "gold.csv"]
    out = files / "out"
    shown = succeed(*words, "--margin", 0.1, "--out", out).output
    expected = pb.agreement.reader_study(files / "readers.csv", {"A": files / "A.csv"}, files / "gold.csv", margin=0.1)
    assert expected.understood in shown
    assert expected.verdict() in shown
    assert "cannot be known from 3" in shown
    shown = plausibly(*words, "--margin", 0.1, width=80).stdout.splitlines()
    assert len(shown) <= 25
    assert max(map(len, shown)) <= 80
    names = ["by_reader.csv", "comparisons.csv", "means.csv", "plan.csv", "readers.html", "roc.png"]
    assert sorted(path.name for path in out.glob("[!.]*")) == names
    for name, frame in {
        "comparisons": expected.table,
        "by_reader": expected.by_reader,
        "plan": expected.plan(),
    }.items():
        pd.testing.assert_frame_equal(pd.read_csv(out / f"{name}.csv"), frame, check_dtype=False)
    page = (out / "readers.html").read_text()
    for text in (expected.verdict(), "Is it as good as the readers?", "Hillis", "gold.csv", "Size of the next study"):
        assert text in page
    assert page.count('<img alt="') == 1


def test_every_option_is_that_of_the_function(files):
    words = ["readers", files / "sessions.csv", "--gold", files / "gold.csv", "--conditions", "session", "--quiet"]
    more = ["--compare", "aided,alone", "--metric", "specificity", "--threshold", 0.75, "--ci-prob", 0.8]
    expected = pb.agreement.reader_study(
        files / "sessions.csv",
        gold=files / "gold.csv",
        conditions="session",
        compare=("aided", "alone"),
        metric="specificity",
        threshold=0.75,
        ci_prob=0.8,
    )
    assert succeed(*words, *more).output == f"{expected.verdict()}\n"
    assert (
        "--compare" in refuse(*words, "--compare", "aided,odd").output
        or "no condition 'odd'" in refuse(*words, "--compare", "aided,odd").output
    )
    assert "--threshold" in refuse(*words, "--metric", "accuracy").output


def test_non_inferiority_is_required(files):
    words = ["readers", files / "readers.csv", "--predictions", f"B={files / 'B.csv'}", "--gold", files / "gold.csv"]
    assert "is required: met" in succeed(*words, "--margin", 0.9, "--require", "non-inferior").output
    assert plausibly(*words, "--margin", 0, "--require", "non-inferior").exit_code == 3


def test_what_is_required_of_two_conditions_is_of_models_or_of_the_one_that_is_named_first(files):
    words = ["readers", files / "sessions.csv", "--gold", files / "gold.csv", "--conditions", "session"]
    words += ["--require", "non-inferior"]
    assert "say --compare alone,aided or aided,alone" in refuse(*words).output
    assert succeed(*words, "--compare", "aided,alone", "--margin", 0.9).output.count("is required") == 1
    shown = succeed(*words, "--predictions", f"B={files / 'B.csv'}", "--margin", 0.9).output
    assert [line.split(":")[0] for line in shown.splitlines() if "is required" in line] == ["B − alone", "B − aided"]


def test_the_figure_has_readers_as_points_and_models_as_curves():
    truth, scores, decisions = ratings(n=60, seed=1)
    models = {"A": by_case(scores[0]), "B": by_case(decisions[0])}
    result = pb.agreement.reader_study(table(decisions[1:]), models, by_case(truth))
    ax = pb.plots.reader_study(result)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B", "readers"]
    x, y = ax.lines[1].get_data()
    assert np.trapezoid(y, x) == pytest.approx(result.by_reader["auroc"].iloc[-2])
    points = np.array(ax.collections[-1].get_offsets())
    own = result.by_reader.head(3)
    np.testing.assert_allclose(points, np.column_stack([1 - own["specificity"], own["sensitivity"]]))
    whole = pb.plots.reader_study(pb.agreement.reader_study(table(scores[1:]), gold=by_case(truth)))
    assert len(whole.lines) == 4

"""Figures of a judgement: a panel for each question, groups of cases, and what is refused."""

import numpy as np
import pytest

from plausibly.agreement import judge
from plausibly.app.plots import judgement, judgement_by_group
from plausibly.base.errors import ArgumentError
from tests.test_app.test_plots.conftest import drawn_rows


@pytest.fixture(scope="module")
def judged():
    random = np.random.default_rng(0)
    rows = [(str(case), who, int(random.integers(2))) for case in range(50) for who in ("ann", "bob", "cy")]
    models = {name: {str(case): int(random.integers(2)) for case in range(50)} for name in "AB"}
    by = {"half": {str(case): case // 40 for case in range(50)}}
    return judge(rows, models, model=None, by=by, replicates=50, progress=False)


def test_four_questions_and_hollow_groups_or_refusals(judged):
    figure = judgement(judged, "B")
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == [
        f"{n}. {question.name.capitalize()}: {question.answer}" for n, question in enumerate(judged.questions["B"], 1)
    ]
    shown = figure.axes[1].get_yticklabels()
    assert {text.get_text() for text in shown} == {"ann", "bob", "cy"}
    ax = judgement_by_group(judged, "A")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0 (40)", "1 (10)"]
    _, faces, _ = drawn_rows(ax)
    assert (faces[0] != 1).any()
    assert (faces[1] == 1).all()
    with pytest.raises(ArgumentError, match="2 models, but none was chosen"):
        judgement(judged)
    with pytest.raises(ArgumentError, match="no model 'C'"):
        judgement(judged, "C")
    alone = judge([("p", "a", 1), ("p", "b", 0), ("q", "a", 1), ("q", "b", 1)], {"A": [("p", 1), ("q", 1)]}, model=None)
    with pytest.raises(ArgumentError, match="no groups of cases"):
        judgement_by_group(alone)

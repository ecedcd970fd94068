"""The figure of systems: three estimates each, the best at the top."""

import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError
from tests.test_systems.test_systems import table


def test_people_judge_and_correction_of_each_system():
    result = pb.systems(table(), people=["ann"])
    ax = pb.plots.systems(result)
    names = result.ranking["system"].tolist()
    assert [text.get_text() for text in ax.get_yticklabels()] == names
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["people alone", "gpt-4 alone", "PPI++"]
    corrected = ax.collections[-1].get_offsets()[:, 0]
    assert corrected.tolist() == pytest.approx(result.ranking["mean"].tolist())
    assert "1 more left out" in pb.plots.systems(result, most=2).get_xlabel()
    with pytest.raises(ArgumentError, match="there is no judge 'gpt': choose from 'gpt-4'"):
        pb.plots.systems(result, "gpt")


def test_without_a_judge_people_are_alone():
    given = table()
    ax = pb.plots.systems(pb.systems(given[given["rater"] == "ann"], people=["ann"]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["people alone"]

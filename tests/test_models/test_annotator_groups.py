"""Annotators who err together: they are noticed, groups of them count for less, and what is refused."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.base.errors import ArgumentError
from plausibly.data.groups import OTHERS, read_annotator_groups
from tests.test_models.test_true_class import same

PEOPLE, JURORS = [f"p{one}" for one in range(5)], ["gpt", "llama", "qwen"]
GROUPS = {"models": JURORS}
SHORT = {"draws": 50, "chains": 1, "warmup": 80, "progress": False}
SHARDED = {"draws": 4, "chains": 2, "warmup": 4, "progress": False}
aggregate = unjudged(pb.aggregate)  # chains are short on purpose


def jury(n=300, together=0.85, seed=0):
    """Labels of five people and three models, four of five of them right; models share a part of their errors."""
    random = np.random.default_rng(seed)
    truth = (random.random(n) < 0.4).astype(int)
    wrong = random.random((n, 8)) < 0.2
    common = random.random((n, 3)) < together
    wrong[:, 5:] = np.where(common, random.random((n, 1)) < 0.2, wrong[:, 5:])
    labels = [["ab"[one] for one in row] for row in np.where(wrong, 1 - truth[:, None], truth[:, None])]
    return pb.Annotations.from_labels(labels, annotators=PEOPLE + JURORS, classes=["a", "b"]), truth


def overconfidence(posterior, truth):
    """Mean confidence of the most probable class without how often it is the true one."""
    mean = posterior["posterior"]["plausibility"].values.reshape(-1, len(truth), 2).mean(0)
    return mean.max(1).mean() - (mean.argmax(1) == truth).mean()


@pytest.mark.slow
def test_annotators_who_err_together_are_named_and_count_for_less_as_a_group():
    (annotations, truth), name = jury(), "dawid-skene"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        alone = pb.aggregate(annotations, name, difficulty="by-case", **SHORT)
    told = [one for one in told if "err together" in str(one.message)]
    assert [one.filename for one in told] == [__file__]
    assert told[0].category is pb.PlausiblyWarning
    assert "err together: 'gpt', 'llama', 'qwen' agree in" in alone.attrs["err_together"] == str(told[0].message)
    grouped = aggregate(annotations, name, annotator_groups=GROUPS, **SHORT)
    assert "err_together" not in grouped.attrs
    assert overconfidence(alone, truth) > 0.05
    assert abs(overconfidence(grouped, truth)) < 0.05
    looks = grouped["posterior"]["looks"]
    assert looks.dims == ("chain", "draw", "annotator_group", "true_class", "look")
    assert looks["annotator_group"].values.tolist() == [OTHERS, "models"]
    mistaken = looks.sel(true_class="a", look="b").mean(("chain", "draw")).values
    assert mistaken[0] == 0 < 0.08 < mistaken[1]
    table = pb.annotators.annotator_accuracies(grouped).set_index("annotator")
    assert table["group"].to_dict() == dict.fromkeys(PEOPLE, OTHERS) | dict.fromkeys(JURORS, "models")
    columns = ["together_lower", "together", "together_upper"]
    assert (table.loc[PEOPLE, columns] == 0).all(axis=None)
    low, middle, high = table.loc["gpt", columns]
    assert 0.03 < low < middle < high < 0.35, (low, high)  # it is 0.17 in the simulation
    assert (table.loc[JURORS, columns] == [low, middle, high]).all(axis=None)
    (told,) = pb.annotators.group_sentences(table.reset_index())
    assert told.startswith("The annotators of the group models err together in")
    assert pb.annotators.group_sentences(pb.annotators.annotator_accuracies(alone)) == []


@pytest.mark.parametrize("difficulty", ["by-case", "same"])
def test_independent_errors_are_not_held_for_shared_ones(difficulty):
    annotations, _ = jury(n=150, together=0.0)
    posterior = aggregate(annotations, "one-coin", difficulty=difficulty, **SHORT)
    assert "err_together" not in posterior.attrs


def test_groups_are_read_from_mappings_and_files(tmp_path):
    everyone = np.array(["ann", *JURORS])
    expected = {"ann": OTHERS} | dict.fromkeys(JURORS, "models")
    assert read_annotator_groups(GROUPS, everyone) == expected
    assert read_annotator_groups(dict.fromkeys(JURORS, "models"), everyone) == expected
    pd.DataFrame({"annotator": JURORS, "group": "models"}).to_csv(tmp_path / "groups.csv", index=False)
    assert read_annotator_groups(tmp_path / "groups.csv", everyone) == expected
    annotations, _ = jury(n=12)
    found = [
        aggregate(annotations, "one-coin", annotator_groups=given, **SHARDED)
        for given in (GROUPS, str(tmp_path / "groups.csv"))
    ]
    np.testing.assert_array_equal(*(one["posterior"]["plausibility"] for one in found))
    assert found[0].attrs == found[1].attrs


@pytest.mark.parametrize("together", [False, True])
def test_a_group_of_whom_no_two_have_the_same_case_is_warned_of(together):
    table = pd.DataFrame(
        [
            (case, who, "ab"[(case + number) % 2])
            for case in range(12)
            for number, who in enumerate([*PEOPLE, JURORS[case % 3], *JURORS[:together]])
        ],
        columns=["case", "annotator", "class"],
    ).drop_duplicates(["case", "annotator"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        aggregate(pb.Annotations.from_table(table), "one-coin", annotator_groups=GROUPS, **(SHORT | {"draws": 4}))
    told = [str(one.message) for one in told if "no two annotators of 'models' have annotated" in str(one.message)]
    assert len(told) == (not together)


@pytest.mark.slow
def test_shards_leave_the_draws_of_groups(tmp_path):
    annotations, _ = jury(n=9)
    given = SHARDED | {"annotator_groups": GROUPS}
    at_once = aggregate(annotations, "dawid-skene", **given)
    same(aggregate(annotations, "dawid-skene", out=tmp_path / "shards.zarr", shard=4, **given), at_once)
    same(pb.load(tmp_path / "shards.zarr"), at_once)
    with pytest.raises(ArgumentError, match="annotator_groups was"):
        aggregate(annotations, "dawid-skene", out=tmp_path / "shards.zarr", shard=4, **SHARDED)
    assert "models" in json.dumps(at_once.attrs)

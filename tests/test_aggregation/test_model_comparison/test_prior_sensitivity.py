"""Sensitivity to priors and conventions: one choice at a time, each as a sweep of its own would have it."""

import numpy as np
import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError


@pytest.fixture(scope="module")
def data():
    simulated = pb.datasets.simulate_differentials(15, n_classes=6, seed=1)
    return simulated.annotations, pb.datasets.simulate_classifiers(simulated.plausibilities, [0.9, 0.5], 0)


@pytest.fixture(scope="module")
def found(data):
    models = {"prirn": (30,), "irn": None}
    return pb.prior_sensitivity(*data, models, k=1, draws=50, seed=3, progress=False)


@pytest.mark.slow
def test_each_choice_is_a_run_with_all_others_as_usual(data, found):
    choices = {
        ("baseline", ""): {},
        ("concentration", "0.001"): {"concentration": 0.001},
        ("concentration", "0.1"): {"concentration": 0.1},
        ("ties", "full"): {"ties": "full"},
    }
    own = found.table[found.table["model"] == "prirn@30"]
    assert list(dict.fromkeys(zip(own["choice"], own["value"], strict=True))) == list(choices)
    assert found.baselines["prirn@30"] == {"concentration": "0.01", "ties": "split"}
    for (choice, value), arguments in choices.items():
        swept = pb.sweep(*data, {"prirn": (30,)}, k=1, metrics={}, draws=50, seed=3, progress=False, **arguments)
        expected = swept.metrics.set_index(["classifier", "metric"])
        rows = own[(own["choice"] == choice) & (own["value"] == value)].set_index(["classifier", "metric"])
        for column in ("mean", "sd", "lower", "upper", "point"):
            np.testing.assert_array_equal(rows.loc[expected.index, column], expected[column])
        certainty = float(swept.runs[0].results["annotation_certainty_1"].mean())
        assert rows.loc[("", "annotation_certainty_1"), "mean"] == certainty


def test_shifts_are_from_the_baseline_of_the_model_of_known_metrics(found):
    for (model, classifier, metric), rows in found.table.groupby(["model", "classifier", "metric"]):
        base = rows.loc[rows["choice"] == "baseline", "mean"].item()
        np.testing.assert_allclose(rows["shift"], rows["mean"] - base), (model, classifier, metric)
    own = found.table[found.table["metric"] == "top1_accuracy"]
    largest = found.largest("top1_accuracy")
    assert abs(largest["shift"]) == own["shift"].abs().max() > 0
    assert set(found.table.loc[found.table["model"] == "irn", "choice"]) == {"baseline", "ties"}
    assert found.table["converged"].all()
    with pytest.raises(ArgumentError, match="there is no metric 'top9_accuracy' here: choose from top1_accuracy"):
        found.largest("top9_accuracy")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "tried", "medians"),
    [
        ({"class_prior": "predictions"}, None, ["2.72", "0.272", "27.2"]),
        ({"class_prior": "learned", "prior_kappa": 2.0}, (1.0, 2.0), ["2", "1"]),
    ],
)
def test_a_learned_prior_has_a_median_of_its_concentration_to_choose(data, given, tried, medians):
    variant = {"model": "prirn", "reliability": 30, **given}
    found = pb.prior_sensitivity(*data, {"own": variant}, k=1, prior_kappa=tried, draws=10, progress=False)
    assert found.baselines["own"] == {"prior_kappa": medians[0], "ties": "split"}
    rows = found.table[["choice", "value"]].drop_duplicates()
    expected = [["baseline", ""], *(["prior_kappa", value] for value in medians[1:]), ["ties", "full"]]
    assert rows.values.tolist() == expected
    changed = found.table.query("choice == 'prior_kappa' and metric == 'top1_accuracy'")["shift"]
    assert (changed != 0).any()


@pytest.mark.slow
def test_a_learned_prior_has_no_concentration_to_choose_and_no_classifier_leaves_certainties(data):
    variants = {"own": {"model": "prirn", "reliability": 30, "class_prior": "learned"}}
    found = pb.prior_sensitivity(*data, variants, k=1, draws=10, progress=False)
    assert set(found.table["choice"]) == {"baseline", "ties", "prior_kappa"}
    found = pb.prior_sensitivity(data[0], {}, {"irn": None, "prirn": (30,)}, concentration=(0.5,), progress=False)
    assert all(metric.startswith("annotation_certainty") for metric in found.metrics)
    assert set(found.table["value"]) == {"", "full", "0.5"}

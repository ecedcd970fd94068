"""Figures of model comparisons, predictive checks and prior sensitivity hold what they were given."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from plausibly.aggregation.model_comparison import PredictiveCheck, Sensitivity
from plausibly.app import plots
from plausibly.app.plots.style import COLOURS
from plausibly.base.errors import ArgumentError
from tests.test_app.test_plots.conftest import drawn_rows


def check(model, observed, **replicated):
    """Check of statistics, of which a model has some replicates."""
    names = list(observed)
    replicates = np.array([replicated.get(name, [np.nan] * 41) for name in names])
    coords = {"statistic": names}
    return PredictiveCheck(
        model,
        xr.DataArray(replicates, dims=("statistic", "replicate"), coords=coords),
        xr.DataArray(list(observed.values()), dims="statistic", coords=coords),
        xr.Dataset(),
    )


WIDE = np.linspace(0.2, 0.6, 41)
OBSERVED = {"first_agreement": 0.5, "first_classes": 3.0, "order_agreement": 0.1}
ONE = check("one", OBSERVED, first_agreement=WIDE, first_classes=WIDE)
TWO = check("two", OBSERVED, first_agreement=WIDE + 0.3, first_classes=WIDE, order_agreement=WIDE)


@pytest.fixture(scope="module")
def sensitive():
    rows = []
    for model, values in (("prirn@30", ("0.001", "0.1")), ("irn", ())):
        choices = [("baseline", ""), *(("concentration", value) for value in values), ("ties", "full")]
        for metric, classifiers in (("top1_accuracy", ("A $x$", "B")), ("annotation_certainty_1", ("",))):
            for i, (choice, value) in enumerate(choices):
                for j, classifier in enumerate(classifiers):
                    row = {"model": model, "choice": choice, "value": value, "classifier": classifier}
                    ends = {"lower": j + i / 10 - 0.1, "upper": j + i / 10 + 0.1} if classifier else {}
                    rows.append(row | {"metric": metric, "mean": j + i / 10} | ends)
    return Sensitivity(pd.DataFrame(rows), {"prirn@30": {"concentration": "0.01"}, "irn": {}})


def marks(ax):
    return [line for line in ax.lines if line.get_marker() not in ("None", "")]


def test_models_are_rows_at_their_differences(ax):
    table = pd.DataFrame(
        {
            "elpd": [-10.0, -12.5, -40.0, -np.inf],
            "elpd_diff": [0.0, 2.5, 30.0, np.inf],
            "dse": [0.0, 2.0, 4.0, np.nan],
            "weight": [0.7, 0.2, 0.0, 0.1],
            "impossible": [0, 0, 0, 3],
            "verdict": ["best", "no difference", "worse", "worse"],
        },
        index=["a", "b$", "c", "vote"],
    )
    assert plots.model_comparison(SimpleNamespace(table=table), ax=ax) is ax
    points, fills, bars = drawn_rows(ax)
    assert points[:, 0].tolist() == [0, -2.5, -30]
    assert [*map(to_hex, fills)] == [to_hex(COLOURS[0]), "#ffffff", to_hex(COLOURS[1])]
    assert bars.tolist() == [[0, 0], [-6.5, 1.5], [-38, -22]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", r"b\$", "c", "vote"]
    assert [text.get_text() for text in ax.texts] == ["finds 3 annotations impossible"]
    right = ax.child_axes[0]
    assert [label.get_text() for label in right.get_yticklabels()][1::2] == ["−12.5, weight 0.20", "−∞, weight 0.10"]
    ax.figure.canvas.draw()
    ax = Figure().subplots()
    with pytest.raises(ArgumentError, match=r"plausibly\.compare_models is needed, but a DataFrame"):
        plots.model_comparison(pd.DataFrame({"elpd": [1.0]}), ax=ax)


def test_observed_statistics_of_models_stand_among_replicates(ax):
    plots.predictive_checks(ONE, ax=ax)
    table = ONE.table[:2]
    expected = np.clip((table["observed"] - table["mean"]) / table["sd"], -6, 6)
    np.testing.assert_allclose([mark.get_xdata()[0] for mark in marks(ax)], expected)
    assert [mark.get_marker() for mark in marks(ax)] == ["o", ">"]
    assert [to_hex(mark.get_markerfacecolor()) == "#ffffff" for mark in marks(ax)] == [True, False]
    assert [label.get_text() for label in ax.get_yticklabels()] == table["description"].tolist()
    ax.figure.canvas.draw()
    ax = Figure().subplots()
    plots.predictive_checks({"one": ONE, "two": TWO}, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    assert [mark.get_ydata()[0] for mark in marks(ax)[:5]] == [0, 1, 2.5, 3.5, 5]
    ax.figure.canvas.draw()


def test_histograms_count_all_replicates_or_are_refused(ax):
    with pytest.raises(ArgumentError, match="no replicates of 'order_agreement': choose from first_agreement"):
        plots.replicate_histogram(ONE, "order_agreement", ax=ax)
    with pytest.raises(ArgumentError, match="there is no statistic to draw"):
        plots.predictive_checks({}, ax=ax)
    ax = Figure().subplots()
    plots.replicate_histogram(ONE, "first_classes", ax=ax)
    assert sum(patch.get_height() for patch in ax.patches) == 41
    assert ax.lines[0].get_xdata()[0] == 3


def test_choices_are_rows_with_every_classifier(ax, sensitive):
    plots.prior_sensitivity(sensitive, "top1_accuracy", "prirn@30", ax=ax)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["baseline", "concentration 0.001", "concentration 0.1", "ties full"]
    points, _, bars = drawn_rows(ax)
    np.testing.assert_allclose(points[:, 0], [0, 0.1, 0.2, 0.3, 1, 1.1, 1.2, 1.3])
    np.testing.assert_allclose(bars[-1], [1.2, 1.4])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [r"A \$x\$", "B"]
    ax.figure.canvas.draw()
    figure = plots.prior_sensitivities(sensitive)
    assert len(figure.axes) == 2 * 2
    figure.canvas.draw()


@pytest.mark.parametrize(
    ("metric", "model", "sentence"),
    [
        ("top1_accuracy", None, "there are 2 models, but none was chosen: choose from prirn@30, irn"),
        ("top1_accuracy", "vote", "there is no model 'vote'"),
        ("top7_accuracy", "irn", "there is no metric 'top7_accuracy' here"),
    ],
)
def test_unknown_models_and_metrics_are_refused(ax, sensitive, metric, model, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        plots.prior_sensitivity(sensitive, metric, model, ax=ax)

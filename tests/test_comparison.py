"""P(A beats B) against a count by hand."""

import numpy as np
import pytest
import xarray as xr

from plausibly.comparison import probabilities_better, probability_better
from plausibly.errors import ArgumentError


def results(values):
    names = [chr(ord("A") + i) for i in range(len(values))]
    accuracy = xr.DataArray(values, dims=("classifier", "draw"), coords={"classifier": names})
    return xr.Dataset({"top1_accuracy": accuracy, "top1_accuracy_point": accuracy[:, 0]})


def test_ties_count_half():
    draws = results([[0.5, 0.7, 0.6, 0.6], [0.4, 0.8, 0.6, 0.6]])
    assert probability_better(draws, "top1_accuracy", "A", "B") == (1 + 0 + 0.5 + 0.5) / 4
    assert probability_better(draws, "top1_accuracy", "A", "A") == 0.5


def test_rounding_is_a_tie():
    assert probability_better(results([[0.1 + 0.2], [0.3]]), "top1_accuracy", "A", "B") == 0.5


def test_the_matrix_holds_every_pair():
    draws = results(np.random.default_rng(0).integers(0, 4, (3, 50)) / 4)
    matrix = probabilities_better(draws, "top1_accuracy")
    for a in "ABC":
        for b in "ABC":
            expected = probability_better(draws, "top1_accuracy", a, b)
            assert float(matrix.sel(classifier=a, versus=b)) == expected
    np.testing.assert_allclose(matrix.values + matrix.values.T, 1)


def test_unknown_names_are_refused():
    draws = results([[0.5], [0.4]])
    with pytest.raises(ArgumentError, match="no classifier 'Z' in these results: choose from A, B"):
        probability_better(draws, "top1_accuracy", "A", "Z")
    for metric in ("top9_accuracy", "top1_accuracy_point"):
        with pytest.raises(ArgumentError, match=f"no metric '{metric}' by draw in these results: .* top1_accuracy"):
            probabilities_better(draws, metric)

"""Calibrations under several models, and sets that hold under all of them."""

import numpy as np

import plausibly as pb

from .conftest import make


def test_common_sets_hold_what_the_sets_of_every_run_hold(small):
    swept = pb.conformal_sweep(
        small.annotations, small.predictions, {"prirn": (5, 50), "irn": None}, alpha=0.3, score="lac", draws=20,
        progress=False,
    )  # fmt: skip
    assert list(swept.runs) == ["prirn@5", "prirn@50", "irn"]
    posterior = pb.aggregate(small.annotations, "prirn", reliability=5, draws=20, seed=0, progress=False)
    alone = pb.conformal(posterior, small.predictions, alpha=0.3, score="lac")
    np.testing.assert_array_equal(swept.runs["prirn@5"].threshold, alone.threshold)
    np.testing.assert_array_equal(
        swept.common.threshold, np.min([one.threshold.values for one in swept.runs.values()], axis=0)
    )
    sets = swept.common.predict(small.predictions)
    p_values = swept.common.p_values(small.predictions)
    for one in swept.runs.values():
        assert (sets | ~one.predict(small.predictions)).all()
        assert (p_values >= one.p_values(small.predictions) - 1e-12).all()
    np.testing.assert_array_equal(sets, p_values > 0.3)
    assert swept.table["run"].nunique() == 3
    other = make(seed=3)
    swept = pb.conformal_sweep({"x": small.posterior, "y": other.posterior}, small.predictions, alpha=0.3)
    assert list(swept.runs) == ["x", "y"]

"""Coverage over splits against loops; the posterior by draw; the fit of the model; bad input."""

import numpy as np
import pytest

import plausibly as pb
from plausibly.decisions.conformal._coverage import _splits

from .conftest import dense_weights
from .test_conformal import literal_threshold

RISKS = np.array([0, 1, 2, 0, 1])


@pytest.mark.parametrize("loss", [None, "risk"])
def test_every_split_is_what_a_loop_finds(small, loss):
    alpha = 0.3 if loss is None else 0.5
    column = np.where(np.arange(small.n) < 22, "x", "y")
    found = pb.conformal_coverage(
        small.posterior, small.predictions, alpha=alpha, splits=3, score="lac", by=column, loss=loss, risks=RISKS,
        seed=1, progress=False,
    )  # fmt: skip
    cost, bound = (np.ones(5), 1.0) if loss is None else (RISKS, 2.0)
    table = found.splits.set_index(["classifier", "target", "group", "split"])
    weights = {target: dense_weights(small, target) for target in ("plausibility", "annotator", "vote")}
    for split, member in enumerate(_splits(small.n, 3, 0.5, 1)):
        for name, p in small.predictions.items():
            for target, own in weights.items():
                limit = np.zeros(small.n)
                for group in "xy":
                    which = member & (column == group)
                    limit[column == group] = literal_threshold(p[which], own[which] * cost, alpha, bound)
                missed = p < limit[:, None]
                for group in ("all", "x", "y"):
                    tested = ~member & ((column == group) | (group == "all"))
                    row = table.loc[(name, target, group, split)]
                    assert row["n_tested"] == tested.sum()
                    assert row["size"] == pytest.approx((~missed)[tested].sum(1).mean())
                    for measure, by in weights.items():
                        lost = (by * cost * missed)[tested].sum(1).mean()
                        assert row[measure] == pytest.approx(1 - lost if loss is None else lost, abs=1e-6)


def test_means_by_draw_are_the_coverage_and_fit_a_model_that_repeats_annotators(small):
    found = pb.conformal_coverage(
        small.posterior, small.predictions, alpha=(0.2, 0.4), splits=4, score="aps", progress=False
    )
    assert found.by_draw.sizes == {"alpha": 2, "classifier": 2, "target": 3, "draw": 6}
    mean = found.by_draw.mean("draw").to_series()
    table = found.table.set_index(["alpha", "classifier", "target"])["plausibility"]
    np.testing.assert_allclose(mean.reindex(table.index), table, atol=1e-6)
    fit = found.fit.set_index(["alpha", "classifier", "target"])
    assert ((fit["lower"] <= fit["difference"]) & (fit["difference"] <= fit["upper"])).all()
    assert "annotator's first choice" in found.verdict()
    found = pb.conformal_coverage(small.annotations, small.predictions, splits=3, alpha=0.2, progress=False)
    assert found.measures == ("vote", "annotator")
    assert found.by_draw is None
    assert found.fit is None
    assert set(found.table["target"]) == {"annotator", "vote"}
    posterior = pb.aggregate(small.annotations, "irn", progress=False)
    first = pb.Annotations.from_rankings([
        [[[name for name in blocks[0]]] for blocks in small.annotations.rankings(i).values()] for i in range(small.n)
    ], classes=small.annotations.classes)  # fmt: skip
    same = pb.aggregate(first, "irn", ties="split", progress=False)
    fits = pb.conformal_coverage(same, small.predictions, splits=3, alpha=0.3, progress=False).fit
    np.testing.assert_allclose(fits[["difference", "lower", "upper"]], 0, atol=1e-6)
    other = pb.conformal_coverage(posterior, small.predictions, splits=20, alpha=0.3, progress=False).fit
    assert (other["difference"].abs() > 0.002).all()  # classes in later places have plausibility, too

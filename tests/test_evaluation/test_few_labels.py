"""What few labels of a case say of experts' distribution: unbiased, whatever their number, or nothing."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import special

import plausibly as pb
from plausibly.base.errors import PlausiblyWarning
from plausibly.evaluation.few_labels import label_spread

OPTIONS = {"truth": "annotator", "progress": False}


def test_two_labels_agree_as_often_as_two_experts_and_entropies_need_many():
    share = np.array([0.5, 0.3, 0.2])
    for n in (2, 3, 4):  # the mean over all that n experts may say
        said = list(product(range(3), repeat=n))
        labels = pb.Annotations.from_labels([[str(one) for one in of] for of in said], classes=["0", "1", "2"])
        found = label_spread(labels, "annotator")
        np.testing.assert_allclose(found.agree @ [share[list(of)].prod() for of in said], share @ share)
        assert np.isnan(found.entropy).all()
    counts = np.arange(31)
    chance = special.binom(30, counts) * 0.3**counts * 0.7 ** (30 - counts)
    found = label_spread(pb.Annotations.from_counts(np.c_[counts, 30 - counts]), "annotator")
    np.testing.assert_allclose(found.entropy @ chance, special.entr([0.3, 0.7]).sum(), atol=1e-4)


def test_experts_who_name_two_classes_first_agree_by_half():
    ties = [[["a", "b"]]], [[["a", "b"]]], [[["b"]]]
    labels = pb.Annotations.from_rankings([[one[0] for one in ties]], classes=["a", "b"])
    found = label_spread(labels.with_cases([*labels.cases, "none"]), "annotator")  # a case without annotations
    np.testing.assert_array_equal(found.agree, [0.5, np.nan])  # of all pairs


def test_panels_agree_as_often_as_two_without_a_common_expert():
    votes = [0, 0, 0, 1, 1, 0, 1]
    labels = pb.Annotations.from_labels([["ab"[one] for one in votes], ["a", "b", "b", "b", "a"]], classes=["a", "b"])
    alike = []
    for first in combinations(range(7), 3):
        rest = [one for one in range(7) if one not in first]
        alike += [
            (sum(votes[i] for i in first) > 1) == (sum(votes[i] for i in second) > 1)
            for second in combinations(rest, 3)
        ]
    found = [label_spread(labels, "panel", 3, seed).agree for seed in range(60)]
    np.testing.assert_allclose(np.mean([one[0] for one in found]), np.mean(alike), atol=0.05)
    assert np.isnan(found[0][1])


def data(n_labels, seed=0, n=200):
    random = np.random.default_rng(seed)
    share = special.expit(2.2 * random.normal(size=n) - 1)
    yes = random.binomial(n_labels, share)
    return share, pb.Annotations.from_counts(np.c_[n_labels - yes, yes], classes=["no", "yes"])


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_classifier_that_knows_what_experts_say_could_not_be_better(n_labels):
    share, labels = data(n_labels)
    metrics = ["brier_unavoidable", "brier_excess", "dist_ce", "calibration_error", "classwise_calibration_error"]
    sure = special.expit(4 * special.logit(share))
    scores = {"exact": np.c_[1 - share, share], "too sure": np.c_[1 - sure, sure]}
    found = pb.summary(pb.evaluate(labels, scores, metrics=metrics, **OPTIONS)).set_index(["classifier", "metric"])
    unavoidable = found.loc[("exact", "brier_unavoidable"), "mean"]
    assert abs(unavoidable - np.mean(share * (1 - share))) < 0.035
    for metric in metrics[1:]:
        low, high = found.loc[("exact", metric), ["total_lower", "total_upper"]]
        assert low <= 0 < high, metric
    assert (found.loc["too sure"].loc[metrics[3:], "total_lower"] > 0).all()


def test_distances_to_many_labels_are_as_before():
    share, labels = data(200)
    off = np.clip(share + 0.2, 0, 0.98)
    found = pb.evaluate(labels, {"A": np.c_[1 - off, off]}, metrics=["dist_ce", "log_score_excess"], **OPTIONS)
    np.testing.assert_allclose(found["dist_ce"].item(), np.abs(off - share).mean(), rtol=0.02)
    excess = special.rel_entr(np.c_[1 - share, share], np.c_[1 - off, off]).sum(axis=1)
    np.testing.assert_allclose(found["log_score_excess"].item(), excess.mean(), rtol=0.03)


def test_replicates_of_a_distance_are_around_it():
    """Cases that are drawn again have chance twice, which is taken off twice."""
    random = np.random.default_rng(1)
    p = random.random(400)
    yes = random.random(400) < np.clip(p + 0.1, 0, 1)
    labels = pb.Annotations.from_labels([["ny"[int(one)]] for one in yes], classes=["n", "y"])
    found = pb.evaluate(labels, {"A": np.c_[1 - p, p]}, metrics="calibration_error", **OPTIONS)
    assert abs(found["calibration_error_total"].mean() - found["calibration_error"].item()) < 0.004


def test_what_labels_do_not_tell_is_no_number():
    labels = pb.Annotations.from_labels([["a", "b"], ["a"], ["b", "b"]], classes=["a", "b"])
    scores = {"A": np.array([[0.6, 0.4], [0.8, 0.2], [0.3, 0.7]])}
    with pytest.warns(PlausiblyWarning, match=r"brier_excess: of the 2 of 3 cases with 2 labels or more"):
        found = pb.evaluate(labels, scores, metrics=["brier_excess", "brier"], **OPTIONS)
    assert found["brier_excess"].item() == pytest.approx((0.4**2 + 0.6**2) / 2 / 2 + 0.3**2 / 2 - 0.5 / 2)
    for metrics, truth, least in (("log_score_excess", "annotator", 20), ("dist_ce", "panel", 4)):
        with pytest.warns(PlausiblyWarning, match=rf"{metrics} cannot be told .* no case has {least}"):
            found = pb.evaluate(labels, scores, metrics=metrics, **OPTIONS | {"truth": truth, "panel": 2})
        assert np.isnan(found[metrics]).all()


def test_labels_that_follow_from_others_say_nothing_of_how_experts_differ():
    """A third reader where the first two differ makes pairs differ less than they do."""
    random = np.random.default_rng(0)
    share = special.expit(2 * random.normal(size=400))
    first = random.random((400, 3)) < share[:, None]
    said = [one[: 2 + (one[0] != one[1])] for one in first]
    labels = pb.Annotations.from_labels([["ny"[int(one)] for one in of] for of in said], classes=["n", "y"])
    found = label_spread(labels, "annotator").agree
    np.testing.assert_array_equal(found, first[:, 0] == first[:, 1])
    number = np.where(np.abs(share - 0.5) < 0.25, 6, 2)  # hard cases have more, in no known order
    yes = random.binomial(number, share)
    labels = pb.Annotations.from_counts(np.c_[number - yes, yes], classes=["n", "y"])
    with pytest.warns(PlausiblyWarning) as told:
        found = pb.evaluate(labels, {"A": np.c_[1 - share, share]}, metrics="brier_excess", **OPTIONS)
    assert np.isnan(found["brier_excess"]).all()
    assert any("no case has 2 that do not follow from others" in str(one.message) for one in told)

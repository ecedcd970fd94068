"""Annotators among themselves against loops over annotators and pairs of them."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import plausibly as pb
from plausibly.metrics import mean_average_overlap
from tests import worlds
from tests.test_data.test_annotations.test_container import forms

CLASSES = list("abcdefg")
RANKINGS = forms(st.sampled_from(CLASSES), anonymous=True).map(lambda form: list(form["cases"].values()))


@settings(max_examples=40)
@given(cases=RANKINGS, ties=st.sampled_from(["split", "full"]))
def test_agreement_leaves_each_annotator_out(cases, ties):
    expected = []
    for rankings in cases:
        hits = []
        for r, own in enumerate(rankings):
            weight = dict.fromkeys(CLASSES, 0.0)
            for other in rankings[:r] + rankings[r + 1 :]:
                for place, block in enumerate(other, start=1):
                    for name in block:
                        weight[name] += 1 / (place * (len(block) if ties == "split" else 1))
            best = max(CLASSES, key=lambda name, weight=weight: (round(weight[name], 9), -CLASSES.index(name)))
            hits.append(any(best in block for block in own))
        expected.append(np.mean(hits) if len(rankings) > 1 else np.nan)
    annotations = pb.Annotations.from_rankings(cases, classes=CLASSES)
    np.testing.assert_allclose(pb.annotators.annotator_agreement(annotations, ties=ties), expected)


@settings(max_examples=25)
@given(cases=RANKINGS, k=st.integers(1, 7), seed=st.integers(0, 1000))
def test_overlaps_are_means_over_pairs(cases, k, seed):
    annotations = pb.Annotations.from_rankings(cases, classes=CLASSES)
    pairs = [[mean_average_overlap(a, b, k, 7) for a, b in combinations(case, 2)] for case in cases]
    expected = [np.mean(found) if found else np.nan for found in pairs]
    np.testing.assert_allclose(pb.annotators.annotator_overlap(annotations, k), expected)
    scores = np.random.default_rng(seed).integers(0, 4, (len(cases), 7)).astype(float)
    orders = [sorted(range(7), key=lambda c, row=row: (-row[c], c))[:k] for row in scores]
    theirs = [
        np.mean([mean_average_overlap([[CLASSES[c]] for c in order], own, k, 7) for own in case])
        for order, case in zip(orders, cases, strict=True)
    ]
    found = pb.annotators.classifier_overlap(annotations, {"A": scores}, k)
    np.testing.assert_allclose(found.sel(classifier="A"), theirs)
    assert found["case"].values.tolist() == annotations.cases.tolist()


def test_ties_of_the_others_can_be_broken_at_random():
    # Of the first annotator the others weigh a and b equally, and so on: order makes it a.
    cases = [[[["a"]], [["a"]], [["b"]]]] * 600
    annotations = pb.Annotations.from_rankings(cases, classes=CLASSES)
    in_order = pb.annotators.annotator_agreement(annotations)
    assert np.unique(in_order).tolist() == [2 / 3]
    random = pb.annotators.annotator_agreement(annotations, break_ties="random", seed=1)
    np.testing.assert_array_equal(random, pb.annotators.annotator_agreement(annotations, break_ties="random", seed=1))
    # The two a have a tie of a and b before them and hit it half of the time; the b faces two a and misses.
    assert abs(random.mean() - 1 / 3) < 5 * np.sqrt(2 * 0.25 / 9 / 600)


def test_evaluate_reports_agreement_and_its_correlation_with_certainty():
    annotations, results = worlds.rankings().annotations, worlds.rankings().results
    agreement = pb.annotators.annotator_agreement(annotations)
    np.testing.assert_allclose(results["annotator_agreement"], agreement, rtol=1e-6)
    kept = ~np.isnan(agreement)
    expected = np.corrcoef(results["annotation_certainty_1"].values[kept], agreement[kept])[0, 1]
    assert pb.annotators.agreement_correlation(results) == pytest.approx(expected, rel=1e-5)
    ranks = results.assign(annotation_certainty_1=results["annotation_certainty_1"] ** 3)
    spearman = pb.annotators.agreement_correlation(results, method="spearman")
    assert pb.annotators.agreement_correlation(ranks, method="spearman") == pytest.approx(spearman)
    assert 0 < spearman != pytest.approx(expected, abs=1e-6)
    constant = {"annotation_certainty_1": ("case", [1.0, 1.0]), "annotator_agreement": ("case", [0.5, 1.0])}
    assert np.isnan(pb.annotators.agreement_correlation(xr.Dataset(constant)))

"""Agreement against pairs of labels gone through one by one."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.agreement import Labels, agreement, measures_of_distances, weighted_reliability
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning
from plausibly.distances import Ordinal

QUIET = {"progress": False}


def rows_of(rng, n_cases=7, n_annotators=4, top=5, repeat=0.2):
    """Random labels with gaps and repetitions."""
    rows = []
    for case in range(n_cases):
        for annotator in range(n_annotators):
            for _ in range(1 + (rng.random() < repeat)):
                if rng.random() < 0.8:
                    rows.append((f"case {case}", f"annotator {annotator}", int(rng.integers(1, top + 1) + case % 2)))
    return rows


def literal(rows, delta, same_annotator=True):
    observed, expected = [], []
    for (case, who, a), (other_case, other, b) in combinations(rows, 2):
        if case != other_case:
            expected.append(delta(a, b))
        elif same_annotator or who != other:
            observed.append(delta(a, b))
    return observed, expected


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), same=st.booleans(), name=st.sampled_from(["nominal", "interval", "ratio"]))
def test_measures_are_those_of_all_pairs(seed, same, name):
    rows = rows_of(np.random.default_rng(seed))
    delta = {
        "nominal": lambda a, b: float(a != b),
        "interval": lambda a, b: float((a - b) ** 2),
        "ratio": lambda a, b: ((a - b) / (a + b)) ** 2,
    }[name]
    observed, expected = literal(rows, delta, same)
    reference = measures_of_distances(observed, expected)
    for distance in (name, delta):
        found = agreement(readings(rows), distance, same_annotator=same, **QUIET)
        assert found.alpha == pytest.approx(reference.alpha)
        assert found.ks.superiority == pytest.approx(reference.ks.superiority)
        assert found.ks.statistic == pytest.approx(reference.ks.statistic)
        assert found.ks.pvalue == pytest.approx(reference.ks.pvalue)
        tied = np.mean(np.equal(expected, min(observed + expected)))
        assert found.sigma == pytest.approx(np.nan if tied >= 0.05 else reference.sigma, nan_ok=True)
        np.testing.assert_allclose(np.asarray(found.observed), np.sort(observed))
        np.testing.assert_allclose(np.asarray(found.expected), np.sort(expected))
        assert float(found.expected) == pytest.approx(np.mean(expected))
        assert (len(found.observed), found.n_cross, found.sampled) == (len(observed), len(expected), False)


def readings(rows):
    return Labels.of(rows, repeats="readings")


def long(table):
    return [
        (str(unit), str(who), value)
        for who, row in enumerate(table)
        for unit, value in enumerate(row)
        if value is not None
    ]


# Krippendorff (2011): 4 observers, 12 units, missing values.
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


@pytest.mark.parametrize(
    ("distance", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_own_example(distance, published):
    found = agreement(long(PUBLISHED), distance, weighting="units")
    assert found.alpha == pytest.approx(published, abs=5e-4)


def test_units_take_levels_of_text_weigh_cases_alike_and_keep_out_what_is_excluded():
    names = ["none", "mild", "moderate", "severe", "worst"]
    text = [(case, who, names[value - 1]) for case, who, value in long(PUBLISHED)]
    assert agreement(text, Ordinal(names), weighting="units").alpha == pytest.approx(0.815, abs=5e-4)
    rows = [("p", "a", 1), ("p", "a", 1), ("p", "b", 2), ("q", "a", 2), ("q", "b", 2), ("r", "a", 9)]
    found = agreement(readings(rows), "interval", weighting="units", same_annotator=False)
    # Case p has three labels and two pairs that count, q two and one; r has none.
    assert float(found.observed) == pytest.approx((3 * 1 + 2 * 0) / 5)
    assert float(found.expected) == pytest.approx(np.mean([(a - b) ** 2 for a, b in combinations([1, 1, 2, 2, 2], 2)]))
    assert found.to_frame()["labels"].item() == 5


def test_a_person_is_not_compared_with_herself():
    rng = np.random.default_rng(4)
    once = [(f"case {i}", name, str(rng.integers(3))) for i in range(12) for name in ("ann", "bob")]
    alone = agreement(once, weighting="units")
    for name in ("repeat each", "append all"):
        rows = [row for row in once for _ in range(2)] if name == "repeat each" else once + once
        with pytest.warns(PlausiblyWarning, match="24 of 48 rows repeat") as told:
            doubled = agreement(readings(rows), weighting="units")
        assert doubled.alpha == pytest.approx(alone.alpha, abs=1e-12)
        assert len(doubled.observed) == 12
        assert doubled.warnings[0] == str(told[0].message).rstrip(".")
    # Readings that differ: how well a person agrees with herself is another question.
    twice = [*once, *((case, who, str(rng.integers(3))) for case, who, _ in once)]
    with pytest.raises(AnnotationError, match=r"a second answer, .* \(16 such answers beside 24\)"):
        agreement(twice)
    with pytest.warns(PlausiblyWarning, match="24 of 48 labels .* further readings .* same_annotator=True"):
        found = agreement(readings(twice))
    observed, expected = literal(twice, lambda a, b: float(a != b), same_annotator=False)
    assert found.alpha == pytest.approx(measures_of_distances(observed, expected).alpha)
    assert agreement(readings(twice), same_annotator=True).alpha != pytest.approx(found.alpha)


def test_samples_are_seeded_say_how_far_off_they_are_and_replace_many_pairs():
    rng = np.random.default_rng(1)
    rows = [(f"{i}", f"{j}", float(i + rng.normal(0, 12))) for i in range(60) for j in range(5)]
    whole = agreement(rows, "interval", cross="all")
    found = [agreement(rows, "interval", cross="sample", seed=seed) for seed in range(30)]
    assert (len(found[0].expected), found[0].sampled, found[0].n_cross) == (600, True, whole.n_cross)
    assert agreement(rows, "interval", cross="sample", seed=3).alpha == found[3].alpha != found[4].alpha
    assert set(whole.monte_carlo_error.values()) == {0.0}
    for measure in ("alpha", "sigma"):
        spread = np.std([getattr(one, measure) for one in found], ddof=1)
        errors = np.mean([one.monte_carlo_error[measure] for one in found])
        assert 0.5 < errors / spread < 2
    # Not so of sigma: the bandwidth of its density shrinks with the number of pairs.
    alphas = [one.alpha for one in found]
    assert np.mean(alphas) == pytest.approx(whole.alpha, abs=4 * np.std(alphas) / np.sqrt(30))
    assert len(agreement(rows, "interval", cross=77).expected) == 77
    rows = [("p", "a", 1), ("p", "b", 2), ("q", "a", 5), ("q", "b", 9)]
    found = agreement(rows, "interval", weighting="units", cross=6000, seed=1)
    assert found.expected.values.tolist() == [1, 9, 16, 49, 64]
    np.testing.assert_allclose(found.expected.weights / 6000, np.array([1, 1, 2, 1, 1]) / 6, atol=0.03)
    rows = [(f"{i}", f"{j}", i + j / 4) for i in range(3500) for j in range(2)]
    with pytest.raises(ArgumentError, match=r'all pairs of 7,000 distinct labels .* pass cross="sample"'):
        agreement(rows, "interval", cross="all")
    found = agreement(rows, "interval")
    assert found.sampled
    assert len(found.expected) == 3500
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"case": np.repeat(["p", "q"], 30_000), "annotator": "a", "label": rng.integers(0, 3, 60_000)})
    found = agreement(readings(table), same_annotator=True)
    assert len(found.observed) == 2 * (30_000 * 29_999 // 2)
    assert found.alpha == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("weighting", ["pairs", "units"])
@pytest.mark.parametrize("cross", ["all", "sample"])
def test_a_bootstrap_weighs_pairs_as_if_cases_were_repeated(weighting, cross):
    rows = rows_of(np.random.default_rng(5), n_cases=6)
    found = agreement(readings(rows), "interval", weighting=weighting, cross=cross, same_annotator=True)
    parts = found._pairs
    drawn = np.array([2.0, 0, 1, 3, 0, 1])[: len(parts.labels.cases)]
    times = dict(zip(parts.labels.cases, drawn, strict=True))
    observed = {}
    kept = [(parts.labels.cases[c], v) for c, v in zip(parts.labels.case, parts.labels.values, strict=True)]
    expected = {}
    for (case, a), (other, b) in combinations(kept, 2):
        d = float((a - b) ** 2)
        size = sum(c == case for c, _ in kept)
        if case == other:
            weight = 1 / (size - 1) if weighting == "units" else 1
            observed[d] = observed.get(d, 0) + times[case] * weight
        if case != other:
            expected[d] = expected.get(d, 0) + times[case] * times[other]
        elif weighting == "units":
            expected[d] = expected.get(d, 0) + times[case]
    got = dict(zip(parts.levels, parts.observed(drawn), strict=True))
    assert {d: w for d, w in got.items() if w} == pytest.approx({d: w for d, w in observed.items() if w})
    if cross == "all":
        got = dict(zip(parts.levels, parts.expected(parts.across.resampled(drawn)), strict=True))
        assert {d: w for d, w in got.items() if w} == pytest.approx({d: w for d, w in expected.items() if w})
    else:
        assert parts.across.resampled(np.ones(len(drawn))).tolist() == parts.across.count.tolist()


def test_intervals_cover_shrink_and_bear_joined_levels(monkeypatch):
    rng = np.random.default_rng(2)

    def simulated(n):
        return [(f"{i}", f"{j}", float(m + rng.normal())) for i, m in enumerate(rng.normal(size=n)) for j in range(3)]

    # Labels of variance 2, of which 1 is the annotators': alpha is 1/2.
    covered, widths = 0, {}
    for n in (20, 80):
        tables = [agreement(simulated(n), "interval").interval(0.9, replicates=60, **QUIET) for _ in range(6)]
        widths[n] = np.mean([table.loc["alpha", "upper"] - table.loc["alpha", "lower"] for table in tables])
        covered += sum(table.loc["alpha", "lower"] < 0.5 < table.loc["alpha", "upper"] for table in tables)
    assert covered >= 7  # of 12 at 90 %: fewer with a probability of 0.0005
    assert 1.4 < widths[20] / widths[80] < 3
    assert list(tables[0].index) == ["alpha", "ks_superiority", "ks_statistic", "sigma"]
    assert (tables[0]["lower"] <= tables[0]["upper"]).all()
    rows = [(f"{i}", f"{j}", i % 7 + np.sin(13 * i + j)) for i in range(25) for j in range(4)]
    found = agreement(rows, "interval")
    exact = found.interval(replicates=30, **QUIET)
    monkeypatch.setattr("plausibly.agreement.chance._compared_pairs._BINS", 1000)
    assert len(found._pairs.levels) > 4000
    pd.testing.assert_frame_equal(found.interval(replicates=30, **QUIET), exact, atol=3e-3)


def coincidence_alpha(table, delta):
    """Krippendorff's alpha by way of a matrix of coincidences; `delta` takes values and their margins."""
    values = sorted({v for row in table for v in row if v is not None})
    o = np.zeros((len(values), len(values)))
    for unit in zip(*table, strict=True):
        given = [values.index(v) for v in unit if v is not None]
        for i, a in enumerate(given):
            for j, b in enumerate(given):
                if i != j:
                    o[a, b] += 1 / (len(given) - 1)
    n = o.sum(axis=1)
    d = np.array([[delta(values, n, a, b) for b in range(len(values))] for a in range(len(values))])
    expected = (np.outer(n, n) - np.diag(n)) / (n.sum() - 1)
    return 1 - (o * d).sum() / (expected * d).sum()


DELTAS = {
    "nominal": lambda v, n, a, b: float(a != b),
    "ordinal": lambda v, n, a, b: (n[min(a, b) : max(a, b) + 1].sum() - (n[a] + n[b]) / 2) ** 2,
    "interval": lambda v, n, a, b: (v[a] - v[b]) ** 2,
    "ratio": lambda v, n, a, b: ((v[a] - v[b]) / (v[a] + v[b])) ** 2 if v[a] + v[b] else 0.0,
}


@pytest.mark.parametrize("distance", DELTAS)
@pytest.mark.parametrize("seed", range(3))
def test_units_are_krippendorffs_alpha(distance, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (5, 15)) // rng.integers(1, 3, (1, 15))
    table = [
        [int(v) if there else None for v, there in zip(*both, strict=True)]
        for both in zip(values, rng.random((5, 15)) < 0.6, strict=True)
    ]
    found = agreement(long(table), distance, weighting="units")
    assert found.alpha == pytest.approx(coincidence_alpha(table, DELTAS[distance]))


def test_breakdowns_by_case_and_annotator_and_perfect_agreement():
    rows = [("p", "ann", 1), ("p", "bob", 3), ("p", "eve", 1), ("q", "ann", 5), ("q", "bob", 5), ("r", "eve", 9)]
    found = agreement(rows, lambda a, b: abs(a - b), **QUIET)
    by_case = found.by_case().set_index("case")
    assert by_case["distance"].tolist()[:2] == [4 / 3, 0]
    assert by_case["pairs"].tolist() == [3, 1, 0]
    assert np.isnan(by_case.loc["r", "alpha"])
    assert by_case.loc["p", "alpha"] == pytest.approx(1 - 4 / 3 / float(found.expected))
    who = found.annotators().set_index("annotator").loc[["ann", "bob", "eve"]]
    assert who["distance"].tolist() == pytest.approx([2 / 3, 4 / 3, 1])
    assert who["pairs"].tolist() == [3, 3, 2]
    matrix = found.annotator_distances()
    assert matrix.pairs.tolist() == [[0, 2, 1], [2, 0, 1], [1, 1, 0]]
    assert matrix.mean[0, 1] == 1
    assert np.isnan(matrix.mean[0, 0])
    rows = [("p", "ann", 1), ("p", "ann", 4), ("p", "bob", 1), ("q", "ann", 5)]
    matrix = agreement(readings(rows), lambda a, b: abs(a - b), same_annotator=True, **QUIET).annotator_distances()
    assert matrix.mean[0, 0] == 3
    assert matrix.pairs.tolist() == [[1, 2], [2, 0]]
    assert agreement(readings(rows), "interval", same_annotator=False).annotator_distances().pairs[0, 0] == 0
    found = agreement([("p", "a", 1), ("p", "b", 1), ("q", "a", 2), ("q", "b", 2)])
    assert (found.alpha, found.sigma, found.ks.statistic) == (1, 1, 1)
    same = agreement([("p", "a", 1), ("p", "b", 1), ("q", "a", 1), ("q", "b", 1)])
    assert np.isnan(same.alpha)
    assert np.isnan(same.sigma)
    assert same.ks.superiority == 0
    assert "never differ" in same.warnings[0]
    assert np.isnan(same.by_case()["alpha"]).all()
    assert np.isnan(same.interval(replicates=5, **QUIET).loc["alpha", "lower"])
    rows = [("p", "a", [(0, 0, 1, 1)]), ("p", "b", []), ("q", "a", [(0, 0, 3, 4)]), ("q", "b", [(0, 0, 9, 9)])]
    found = agreement(rows, "box_l2")
    greatest = 8 * 1.0  # between the boxes (0, 0, 1, 1) and (0, 0, 9, 9)
    assert found.observed.values.max() == pytest.approx(greatest)
    assert np.count_nonzero(np.isclose(np.asarray(found.expected), greatest)) == 3


def test_equal_labels_are_compared_once_and_types_of_equal_numbers_told_apart():
    asked = []

    def counting(a, b):
        asked.append((tuple(a), tuple(b)))
        return float(a != b)

    rows = [(f"{i}", f"{j}", [i % 2, j % 2]) for i in range(6) for j in range(4)]
    found = agreement(rows, counting, **QUIET)
    # Four distinct labels: ten pairs, and six of them both ways again for the check of symmetry.
    assert len(asked) == 10 + 2 * 6
    assert found.alpha == agreement(rows, "nominal").alpha
    rows = [("p", "a", [1]), ("p", "b", [1.0]), ("q", "a", [True]), ("q", "b", ["1"])]
    found = agreement(rows, lambda a, b: float(type(a[0]) is not type(b[0])), **QUIET)
    assert np.asarray(found.observed).tolist() == [1, 1]


@pytest.mark.slow  # starts processes that import JAX
def test_other_processes_give_the_same():
    rows = [(f"{i}", f"{j}", f"(S (NP {'x ' * (i + 1)}) (VP {'y ' * (j + 1)}))") for i in range(9) for j in range(3)]
    alone = agreement(rows, "tree_edit", **QUIET)
    shared = agreement(rows, "tree_edit", processes=2, **QUIET)
    assert len(alone._pairs.keys) > 256
    np.testing.assert_array_equal(alone._pairs.distances, shared._pairs.distances)
    rows = [(f"{i}", f"{j}", i + 50 * j) for i in range(15) for j in range(3)]  # and a function of no module
    here, there = (agreement(rows, lambda a, b: float(a != b), processes=n, **QUIET).alpha for n in (1, 2))
    assert here == there


def test_perfect_agreement_of_few_cases_is_uncertain():
    """All three annotators agree in 25 cases: mid-P intervals of 25 of 25 begin at 0.89."""
    yes = np.random.default_rng(0).random(25) < 0.4
    labels = {f"p{at}": dict.fromkeys("abc", str(one)) for at, one in enumerate(yes)}
    alpha = agreement(labels, **QUIET).interval(**QUIET).loc["alpha"]
    assert 0.85 < alpha["lower"] < 0.95
    assert alpha["upper"] == 1
    lower, upper = weighted_reliability(labels, **QUIET).interval(**QUIET)
    assert 0.85 < lower < 0.95 < upper

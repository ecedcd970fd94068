"""Evaluation from ranked lists against the metrics on dense arrays."""

import importlib

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly import evaluation, metrics
from plausibly.base.errors import ArgumentError, DataWarning
from plausibly.base.random_streams import Stream, case_keys, stream_words
from plausibly.data.annotations import Annotations, Slots
from plausibly.evaluation import comparison, measure, summary
from plausibly.evaluation._evaluate import check_lengths
from plausibly.metrics import list_metric
from plausibly.metrics.words import metric_name
from plausibly.posterior import annotations_of, build_posterior, dense, load, ranges, save, slots_of, top_classes
from tests import worlds
from tests.test_metrics.test_overlap import OF_LISTS


def evaluate(*given, **options):
    return evaluation.evaluate(*given, **{"k": (1, 3), "replicates": N_DRAWS, "progress": False} | options)


FUNCTIONS = {name: getattr(metrics, metric.count.__name__) for name, metric in metrics.METRICS.items()}
# Few shapes, since each takes a program of its own; a range holds a block of 4. Splits of remainders take many draws.
N_CASES, N_CLASSES, N_DRAWS, MANY = 23, 6, 40, 4000
RISKS = np.arange(N_CLASSES) % 3
IN_RANGES = {"risks": RISKS, "k": 2, "break_ties": "random", "seed": 5}
SOME = ["set_accuracy", "overlap", "coverage", "kendall_tau"]  # of lists, of shares, of masses, of pairs


def make(named, n_draws=N_DRAWS, remainder=True, seed=0):
    """A posterior of Dirichlet draws, with this many classes named in each case."""
    rng = np.random.default_rng(seed)
    classes = [f"class {i}" for i in range(N_CLASSES)]
    rankings = {
        f"case {i}": {"ann": [[classes[c]] for c in rng.permutation(N_CLASSES)[:size]]} for i, size in enumerate(named)
    }
    annotations = Annotations.from_rankings({"classes": classes, "cases": rankings})
    slots = Slots.of(annotations, remainder=remainder)
    gamma = rng.gamma(np.where(slots.is_remainder, 2.0, 1.0), size=(2, n_draws // 2, len(slots)))
    plausibility = gamma / np.add.reduceat(gamma, slots.start[:-1], axis=-1)[..., slots.case]
    point = np.where(slots.is_remainder, 0, plausibility.mean(axis=(0, 1)))
    attrs = {"model": "test", "reliability": 3.0}
    return build_posterior(plausibility, annotations, slots, point=point, concentration=0.5, attrs=attrs)


@pytest.fixture(scope="module")
def full():
    return make([N_CLASSES] * N_CASES)


@pytest.fixture(scope="module")
def few():
    return make(np.arange(N_CASES) % 5 + 1)


@pytest.fixture(scope="module")
def ragged():
    return make(np.arange(N_CASES) % 5 + 1, MANY)


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(7)
    return {"A": rng.random((N_CASES, N_CLASSES)), "B": rng.integers(0, 3, (N_CASES, N_CLASSES)).astype(float)}


@pytest.fixture(scope="module")
def of_full(full, scores):
    return evaluate(full, scores, risks=RISKS)


@pytest.fixture(scope="module")
def of_ragged(ragged, scores):
    return evaluate(ragged, scores, risks=RISKS, metrics=SOME)


def test_without_remainders_results_are_those_of_the_dense_metrics(full, scores, of_full):
    plausibilities, results = dense(full), of_full
    for k in (1, 3):
        for name, metric in FUNCTIONS.items():
            values = np.stack([metric(scores[c], plausibilities, k) for c in "AB"]).astype(float)
            np.testing.assert_allclose(results[f"top{k}_{name}"], values.mean(axis=2), atol=1e-6)
            np.testing.assert_allclose(results[f"top{k}_{name}_by_case"], values.mean(axis=1), atol=1e-6)
    for size in (1, 2, 3):
        expected = metrics.annotation_certainty(plausibilities, size)
        np.testing.assert_allclose(results[f"annotation_certainty_{size}"], expected, rtol=1e-6)


@pytest.mark.slow
def test_ranges_leave_no_trace(few, scores, monkeypatch):
    whole = evaluate(few, scores, **IN_RANGES)
    monkeypatch.setattr(ranges, "PAIRS", N_DRAWS * 4)
    in_ranges = evaluate(few, scores, **IN_RANGES)
    # Coverage adds up plausibilities, metrics of labels divide sums of means, replicates have weights; all else counts.
    added = "coverage", "total", "sampling"
    covered = [name for name in whole if not str(name).startswith("top") or any(one in name for one in added)]
    covered = [name for name in covered if whole[name].dtype.kind == "f"]
    assert whole.drop_vars(covered).identical(in_ranges.drop_vars(covered))
    for name in covered:
        np.testing.assert_allclose(whole[name], in_ranges[name], rtol=1e-5, atol=1e-6)


def test_with_remainders_results_agree_with_dense_draws(ragged, scores, of_ragged):
    plausibilities, results = dense(ragged, seed=99), of_ragged
    for name in SOME:
        values = np.stack([FUNCTIONS[name](scores[c], plausibilities, 3) for c in "AB"])
        # Two independent means over 4,000 draws of numbers in [0, 1]: sd at most 0.011. Of 230 comparisons none
        # is further out than 5 sd, but in one of 7,000 seeds.
        assert np.abs(results[f"top3_{name}_by_case"] - values.mean(axis=1)).max() < 0.056
        np.testing.assert_allclose(results[f"top3_{name}"].std("draw"), values.mean(axis=2).std(axis=1), rtol=0.1)
    for size in (1, 2):
        expected = metrics.annotation_certainty(plausibilities, size)
        assert np.abs(results[f"annotation_certainty_{size}"] - expected).max() < 0.056


@pytest.mark.slow
def test_the_point_estimate_gives_the_standard_metric_and_draws_of_it_alone_no_spread(few, scores):
    options = {"k": 2, "risks": RISKS}
    results = evaluate(few, scores, **options)
    point = dense(make_point(few))[:1]
    for name, metric in FUNCTIONS.items():
        expected = [np.mean(metric(scores[c], point, 2)) for c in "AB"]
        np.testing.assert_allclose(results[f"top2_{name}_point"], expected, rtol=1e-6)
    results = evaluate(make_point(few), scores, **options, metrics=["overlap", "coverage"])
    for size in (1, 2, 3):
        assert (results[f"annotation_certainty_{size}"] == 1).all()
    table = summary(results)
    assert len(table) == 2 * 2
    np.testing.assert_allclose(table["sd"], 0, atol=1e-12)
    np.testing.assert_allclose(table["point"], table["mean"])


def make_point(posterior):
    """The same posterior as draws that all are its point estimate."""
    point = posterior["constant_data"]["point_plausibility"].values
    draws = np.tile(point, (2, N_DRAWS // 2, 1))
    return build_posterior(draws, annotations_of(posterior), slots_of(posterior), point=point, concentration=0.5)


@pytest.mark.parametrize("name", ["full", "ragged"])
def test_risks_agree_with_dense_draws(name, request):
    plausibilities = dense(request.getfixturevalue(name), seed=99)
    results = request.getfixturevalue(f"of_{name}")
    levels = np.stack([plausibilities[..., level == RISKS].sum(axis=2) for level in range(3)], axis=2)
    of_best = RISKS[plausibilities.argmax(axis=2)]
    certainty = np.stack([(of_best == level).mean(axis=0) for level in range(3)]).max(axis=0)
    expected = levels @ np.arange(3)
    # Exact without a remainder; else within 5 sd of two means over 4,000 draws.
    tolerance = 1e-6 if name == "full" else 0.056
    assert np.abs(results["risk_plausibility"] - levels.mean(axis=0)).max() < tolerance
    assert np.abs(results["risk_certainty"] - certainty).max() < tolerance
    likeliest = levels.argmax(axis=2)
    certainty = np.stack([(likeliest == level).mean(axis=0) for level in range(3)]).max(axis=0)
    assert np.abs(results["risk_level_certainty"] - certainty).max() < tolerance
    assert np.abs(results["expected_risk_mean"] - expected.mean(axis=0)).max() < 2 * tolerance
    np.testing.assert_allclose(results["risk_plausibility"].sum("risk_level"), 1, rtol=1e-5)
    assert (results["expected_risk_min"] <= results["expected_risk_mean"]).all()
    assert (results["expected_risk_mean"] <= results["expected_risk_max"]).all()
    if name == "full":
        np.testing.assert_allclose(results["expected_risk_min"], expected.min(axis=0), atol=1e-6)
        np.testing.assert_allclose(results["expected_risk_max"], expected.max(axis=0), atol=1e-6)


def test_names_dimensions_and_forms_of_predictions(full, scores, tmp_path):
    np.save(tmp_path / "a.npy", scores["A"])
    frame = pd.DataFrame(scores["A"], columns=[f"class {i}" for i in range(N_CLASSES)])[::-1]
    frame.insert(0, "case", [f"case {i}" for i in range(N_CASES)][::-1])
    results = evaluate(full, {"array": scores["A"], "file": tmp_path / "a.npy"}, risks=RISKS)
    assert results["classifier"].values.tolist() == ["array", "file"]
    assert results["case"].values[:2].tolist() == ["case 0", "case 1"]
    assert results["top3_overlap"].dims == ("classifier", "draw")
    assert results["top3_overlap_by_case"].dims == ("classifier", "case")
    assert results["top3_overlap_point"].dims == ("classifier",)
    assert (results["top3_overlap"] == results["top3_overlap"][0]).all()
    framed = evaluate(full, {"frame": frame, "B": scores["B"]}, risks=RISKS)
    assert (results["top3_overlap"] == framed["top3_overlap"][0]).all()
    assert results.attrs["model"] == "test"


def test_equal_classifiers_stay_equal_under_random_ties_and_in_half_precision(full):
    tied = np.ones((N_CASES, N_CLASSES))
    options = {"k": 1, "metrics": ["top1_accuracy"]}
    random, in_order = (
        evaluate(full, {"A": tied, "B": tied.copy()}, **options, break_ties=of) for of in ("random", "order")
    )
    assert (random["top1_accuracy"][0] == random["top1_accuracy"][1]).all()
    assert (random["top1_accuracy"] != in_order["top1_accuracy"]).any()
    halves = np.random.default_rng(5).random((N_CASES, N_CLASSES)).astype(np.float16)
    one, two = (evaluate(full, {"A": of, "B": of}, risks=RISKS) for of in (halves, halves.astype(np.float32)))
    xr.testing.assert_identical(one, two)


@pytest.mark.parametrize(("n_classes", "found"), [(1, [1]), (2, [1]), (3, [1, 2]), (4, [1, 2, 3]), (9, [1, 2, 3])])
def test_a_list_of_all_classes_is_evaluated_only_if_asked_for(n_classes, found):
    assert [check_lengths(name, None, n_classes) for name in ("k", "sizes")] == [found, found]
    assert check_lengths("k", n_classes, n_classes) == [n_classes]


def test_summary_describes_the_draws_and_metrics_know_which_way_is_better(of_ragged, of_full):
    assert len(summary(of_full)) == 2 * (2 * len(metrics.METRICS) + 1 + 2 * N_CLASSES)
    results, table = of_ragged, summary(of_ragged)
    row = table[(table["classifier"] == "B") & (table["metric"] == "top3_overlap")].iloc[0]
    values = results["top3_overlap"].sel(classifier="B").values
    assert row["mean"] == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std(ddof=1))
    assert (row["best"], row["worst"]) == (values.max(), values.min())
    assert (values < row["lower"]).mean() <= 0.03
    assert (values > row["upper"]).mean() <= 0.03
    assert ((values >= row["lower"]) & (values <= row["upper"])).mean() >= 0.94
    assert row["point"] == float(results["top3_overlap_point"].sel(classifier="B"))
    results = of_full
    assert results["chain"].values.tolist() == [0] * (N_DRAWS // 2) + [1] * (N_DRAWS // 2)
    assert results["top3_kendall_tau"].attrs["better"] == "smaller"
    assert results["top3_coverage"].attrs["better"] == "greater"
    row = summary(results).set_index(["classifier", "metric"]).loc[("A", "top3_spearman_footrule")]
    assert row["best"] == float(results["top3_spearman_footrule"][0].min()) < row["worst"]


def brier(predicted, plausibility):
    return jnp.sum((predicted - plausibility) ** 2)


def first(predicted, plausibility):
    return plausibility[jnp.argmax(predicted)]


OWN = {"brier": metrics.Metric(brier, better="smaller"), "first": first}


def test_a_metric_of_the_users_own_is_summed_up_like_the_others_and_a_coverage_is_ours(full, scores, ragged):
    results = evaluate(full, scores, k=1, metrics=[OWN])
    draws = dense(full)
    for name, function in (("brier", brier), ("first", first)):
        values = np.stack([metrics.per_draw(function, scores[c], draws) for c in "AB"])
        np.testing.assert_allclose(results[name], values.mean(axis=2), rtol=1e-5)
        np.testing.assert_allclose(results[f"{name}_by_case"], values.mean(axis=1), rtol=1e-5)
        at_point = [metrics.per_draw(function, scores[c], dense(make_point(full))[:1]).mean() for c in "AB"]
        np.testing.assert_allclose(results[f"{name}_point"], at_point, rtol=1e-5)
    table = summary(results).set_index(["classifier", "metric"])
    assert table.loc[("A", "brier"), "best"] == float(results["brier"][0].min())
    assert table.loc[("A", "first"), "best"] == float(results["first"][0].max())
    results = evaluate(ragged, scores, k=1, metrics=["coverage", OWN])
    # Two splits of the remainder: the same law.
    assert np.abs(results["first"].mean("draw") - results["top1_coverage"].mean("draw")).max() < 0.01
    np.testing.assert_allclose(results["first"].std("draw"), results["top1_coverage"].std("draw"), rtol=0.1)


def test_weights_make_weighted_means(full, scores, monkeypatch):
    monkeypatch.setattr(ranges, "PAIRS", N_DRAWS * 4)
    weights = np.random.default_rng(3).random((N_DRAWS, N_CASES)) * (np.arange(N_CASES) != 4)
    weights[7] = 0
    results = evaluate(full, scores, weights=weights)
    draws = dense(full)
    assert np.isnan(results["top3_overlap"].values[:, 7]).all()
    kept = np.arange(N_DRAWS) != 7
    for k in (1, 3):
        for name, metric in FUNCTIONS.items():
            values = np.stack([metric(scores[c], draws, k) for c in "AB"]).astype(float)
            expected = (values * weights).sum(axis=2)[:, kept] / weights.sum(axis=1)[kept]
            np.testing.assert_allclose(results[f"top{k}_{name}"].values[:, kept], expected, rtol=1e-5, atol=1e-6)
            by_case = (values * weights).sum(axis=1)[:, 5:] / weights.sum(axis=0)[5:]
            np.testing.assert_allclose(results[f"top{k}_{name}_by_case"][:, 5:], by_case, rtol=1e-5, atol=1e-6)
    assert np.isnan(results["top1_accuracy_by_case"][:, 4]).all()
    np.testing.assert_allclose(results["case_weight"], weights.mean(axis=0), rtol=1e-5)
    table = summary(results).set_index(["classifier", "metric"])
    assert table.loc[("A", "top3_overlap"), "mean"] == pytest.approx(np.nanmean(results["top3_overlap"][0]))
    point = dense(make_point(full))[:1]
    expected = np.average(metrics.overlap(scores["A"], point, 3)[0], weights=weights.mean(axis=0))
    assert float(results["top3_overlap_point"][0]) == pytest.approx(expected, rel=1e-5)


def test_weights_of_cases_select_a_subgroup_and_equal_ones_change_nothing(full, scores, of_full):
    some = np.arange(N_CASES) < 9
    results = evaluate(full, scores, weights=some, risks=RISKS)
    assert results.attrs["clusters"] == 9
    expected = np.asarray(metrics.set_accuracy(scores["B"], dense(full), 3))[:, some].mean(axis=1)
    np.testing.assert_allclose(results["top3_set_accuracy"].sel(classifier="B"), expected, atol=1e-6)
    weighted = evaluate(full, scores, risks=RISKS, weights=np.full(N_CASES, 0.3))
    for name in of_full:
        np.testing.assert_allclose(of_full[name], weighted[name], rtol=1e-4, atol=1e-6)


def test_weights_with_names_go_by_name(full, scores):
    weights = np.random.default_rng(3).random(N_CASES)
    expected = evaluate(full, scores, weights=weights, risks=RISKS)["top1_accuracy"]
    cases = [f"case {i}" for i in range(N_CASES)]
    series = pd.Series(weights, index=cases)
    array = xr.DataArray(np.tile(weights, (N_DRAWS, 1)), dims=("draw", "case"), coords={"case": cases})
    given = (series[::-1], pd.Series(weights), array[:, ::-1], xr.DataArray(weights, dims="case"))
    for one in given:
        found = evaluate(full, scores, weights=one, risks=RISKS)["top1_accuracy"]
        np.testing.assert_array_equal(found, expected)


def test_draws_may_stay_in_their_file_and_every_range_is_read_once(few, scores, tmp_path, monkeypatch):
    monkeypatch.setattr(ranges, "PAIRS", N_DRAWS * 4)
    path, options = tmp_path / "posterior.nc", {**IN_RANGES, "metrics": SOME}
    save(few, path)
    in_memory = evaluate(few, scores, **options)
    assert evaluate(path, scores, **options).identical(in_memory)
    lazy = load(path, lazy=True)
    assert not lazy["posterior"]["plausibility"].variable._in_memory
    assert evaluate(lazy, scores, **options).identical(in_memory)
    assert not lazy["posterior"]["plausibility"].variable._in_memory
    found = list(ranges.Ranges(few, 0))
    assert [len(cases) for cases in found] == [4, 4, 4, 4, 4, 3]
    draws = few["posterior"]["plausibility"].values.reshape(N_DRAWS, -1)
    np.testing.assert_array_equal(np.concatenate([cases.draws for cases in found]), draws.T)


def test_certainty_of_any_size(full):
    results = evaluate(full, {}, sizes=(5, N_CLASSES), metrics=["overlap"])
    assert [name for name in results if "certainty" in name] == ["annotation_certainty_5", "annotation_certainty_6"]
    np.testing.assert_allclose(
        results["annotation_certainty_5"], metrics.annotation_certainty(dense(full), 5), rtol=1e-6
    )
    assert (results["annotation_certainty_6"] == 1).all()
    assert len(summary(results)) == 0


def test_a_metric_is_one_file_and_one_line(full, scores, monkeypatch, tmp_path):
    (tmp_path / "_missed.py").write_text("""
from plausibly.metrics.list_metric import list_metric, shared

@list_metric(scale=lambda k: k, better="smaller", words="missed share")
def missed(predicted, plausible):
    return len(predicted) - shared(predicted, plausible)
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(metrics.METRICS, "missed", None)  # taken away after the test
    missed = importlib.import_module("_missed").missed  # the line
    results = evaluate(full, scores, k=2, metrics=["missed", "overlap"])
    np.testing.assert_allclose(missed(scores["A"], dense(full), 2).mean(axis=1), results["top2_missed"][0], atol=1e-6)
    np.testing.assert_allclose(results["top2_missed"], 1 - results["top2_overlap"], atol=1e-9)
    row = summary(results).set_index(["classifier", "metric"]).loc[("A", "top2_missed")]
    assert row["best"] == float(results["top2_missed"][0].min()) < row["worst"]
    by_overlap, by_missed = (comparison.rankings(results, f"top2_{name}") for name in ("overlap", "missed"))
    pd.testing.assert_frame_equal(by_missed, by_overlap)
    assert metric_name("top2_missed") == "top-2 missed share"


@pytest.fixture
def declare(monkeypatch):
    """Declare further metrics for a test."""

    def declared(count, **attributes):
        monkeypatch.setitem(metrics.METRICS, count.__name__, None)  # taken away after the test
        return list_metric.list_metric(**attributes)(count)

    return declared


def test_counts_may_be_as_large_as_32_bits_hold(full, scores, declare):
    times = 2**30 - 1

    def many(predicted, plausible):
        return times * list_metric.shared(predicted, plausible)

    many = declare(many, scale=lambda k: times * k)
    given = {"k": 2, "by": {"site": np.arange(N_CASES) % 2}, "replicates": 0, "metrics": ["many", "overlap"]}
    results = evaluate(full, scores, **given)
    np.testing.assert_allclose(many(scores["A"], dense(full), 2).mean(axis=1), results["top2_many"][0], atol=1e-6)
    for kind in ("", "_point", "_by_case", "_by_group"):
        np.testing.assert_allclose(results[f"top2_many{kind}"], results[f"top2_overlap{kind}"], atol=1e-6)


def test_counts_that_32_bits_cannot_hold_are_refused_unless_they_are_floats(full, scores, declare):
    times = 2**31

    def huge(predicted, plausible):
        return list_metric.shared(predicted, plausible)

    huge = declare(huge, scale=lambda k: times * k)
    for use in (lambda: evaluate(full, scores, k=2, progress=False), lambda: huge(scores["A"], dense(full), 2)):
        with pytest.raises(ArgumentError, match=r"'huge' counts up to 4,294,967,296 .* k = 2.* float"):
            use()

    def huge(predicted, plausible):
        return float(times) * list_metric.shared(predicted, plausible)

    declare(huge, scale=lambda k: times * k)
    results = evaluate(full, scores, k=2, replicates=0, metrics=["huge", "overlap"])
    np.testing.assert_allclose(results["top2_huge"], results["top2_overlap"], atol=1e-6)


def test_another_metric_of_masses_is_summed_up_like_coverage(full, scores, declare):
    def even_mass(predicted, masses):
        return sum(jnp.where(one % 2 == 0, mass, 0) for one, mass in zip(predicted, masses, strict=True))

    even_mass = declare(even_mass, of_masses=True)
    results = evaluate(full, scores, k=(1, 3), replicates=80, metrics=["even_mass", "coverage"])
    for k in (1, 3):
        expected = even_mass(scores["A"], dense(full), k)
        np.testing.assert_allclose(results[f"top{k}_even_mass"][0], expected.mean(axis=1), rtol=1e-5)
        np.testing.assert_allclose(results[f"top{k}_even_mass_by_case"][0], expected.mean(axis=0), rtol=1e-5)
        assert (results[f"top{k}_even_mass"] < results[f"top{k}_coverage"]).all()


def test_classifiers_have_names_and_each_its_own(full, scores):
    found = evaluate(full, {1: scores["A"], "b": scores["B"]}, metrics="top1_accuracy")
    assert found["classifier"].values.tolist() == ["1", "b"]


@pytest.mark.parametrize("ties", ["order", "random"])
def test_random_cases_are_those_of_literal_loops(ties):
    rng = np.random.default_rng(11)
    n_cases, n_classes, n_draws = 60, 7, 6
    classes = [f"class {i}" for i in range(n_classes)]
    rankings = [
        [[[classes[c]] for c in rng.permutation(n_classes)[: rng.integers(1, n_classes + 1)]]] for _ in range(n_cases)
    ]
    annotations = Annotations.from_rankings(rankings, classes=classes)
    slots = Slots.of(annotations, remainder=False)
    # Few different values, so that many are equal, and some are 0.
    draws = (rng.integers(0, 4, (1, n_draws, len(slots))) / 32).astype(np.float32)
    posterior = build_posterior(draws, annotations, slots, point=draws[0, 0], concentration=1.0)
    scores = rng.integers(0, 4, (n_cases, n_classes)) / 4
    results = evaluate(posterior, {"A": scores}, k=(1, 3), break_ties=ties, seed=3)
    plausible = top_classes(posterior, 3, 3, break_ties=ties).tolist()
    words = stream_words(case_keys(3, annotations.cases))[Stream.PREDICTIONS] if ties == "random" else None
    predicted = measure.predicted_lists(scores, 3, words).tolist()
    dense_draws = dense(posterior)
    if ties == "order":
        assert plausible == np.argsort(-dense_draws, axis=2, kind="stable")[..., :3].tolist()
        assert predicted == np.argsort(-scores, axis=1, kind="stable")[:, :3].tolist()
    else:
        for lists, values in ((plausible, dense_draws), (predicted, scores)):
            ranked = np.take_along_axis(values, np.array(lists), axis=-1)
            np.testing.assert_array_equal(ranked, -np.sort(-values, axis=-1)[..., :3])
    for k in (1, 3):
        for name in FUNCTIONS:
            if name == "coverage":
                expected = [[sum(draw[i, c] for c in predicted[i][:k]) for i in range(n_cases)] for draw in dense_draws]
            else:
                of_lists = OF_LISTS[metrics.METRICS[name].count.__name__]
                expected = [
                    [of_lists(a[:k], b[:k]) for a, b in zip(predicted, draw, strict=True)] for draw in plausible
                ]
            np.testing.assert_allclose(results[f"top{k}_{name}"][0], np.mean(expected, axis=1), atol=1e-6)
            np.testing.assert_allclose(results[f"top{k}_{name}_by_case"][0], np.mean(expected, axis=0), atol=1e-6)


def test_an_array_whose_columns_are_in_another_order_is_told_and_one_that_tells_nothing_is_not():
    random = np.random.default_rng(0)
    truth = random.choice(3, 120, p=[0.6, 0.25, 0.15])
    annotations = pb.Annotations.from_labels(
        np.array(list("abc"))[worlds.noisy(random, truth, 0.8, size=(3,))].tolist()
    )
    scores = np.eye(3)[truth] + random.random((120, 3))
    given = {"A": scores, "noise": random.random((120, 3)), "turned": scores[:, [1, 2, 0]]}
    given["constant"] = np.eye(3)[np.full(120, 1)]  # of whom another class would be right more often
    options = {"truth": "annotator", "replicates": 0}
    with pytest.warns(DataWarning, match="columns of turned agree .* 'a', 'b', 'c'") as told:
        pb.evaluate(annotations, given, **options)
    assert len(told) == 1

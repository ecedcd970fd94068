"""Priors learned from labels and predictions: density, fit, shapes of slots, and what reaches draws and metrics."""

import json
import tracemalloc
from types import SimpleNamespace

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import gammaln, softmax

import plausibly as pb
from plausibly.base.errors import PredictionError
from plausibly.data.annotations import Slots
from plausibly.data.regression import prior_shapes
from plausibly.families.priors import Evidence, PredictionsPrior, case_prior
from plausibly.families.priors import _predictions as learning
from plausibly.families.priors import evidence as reading
from plausibly.families.priors import fit as fitting
from plausibly.families.priors._program import Labels, _log_rising, label_log_prob
from plausibly.families.priors.evidence import labels_of, log_scores, prevalence
from plausibly.inference.exact._forms import draw_in_place, slot_shapes
from plausibly.posterior._container import model_of

FEW = {"draws": 50, "chains": 2}


def world(n=300, k=4, labels=3, noise=0.7, seed=0, classifiers=2, concentration=0.5):
    """Cases with plausibilities that classifiers see through noise of their own, and a few labels drawn from them."""
    random = np.random.default_rng(seed)
    plausibility = random.dirichlet(np.full(k, concentration), n)
    counts = np.array([random.multinomial(labels, own) for own in plausibility])
    logs = np.log(plausibility + 1e-3)
    scores = {f"C{j}": softmax(logs + noise * random.normal(size=logs.shape), axis=1) for j in range(classifiers)}
    return plausibility, pb.Annotations.from_counts(counts), scores


def accuracies(posterior, scores):
    return pb.evaluate(posterior, scores, metrics="top1_accuracy", progress=False)["top1_accuracy"].values


def test_labels_are_dirichlet_multinomial_with_shapes_by_their_formula():
    random = np.random.default_rng(0)
    shape, counts = random.gamma(1.0, size=(7, 3)), random.integers(0, 4, (7, 3))
    case, named = np.nonzero(counts)
    total = counts.sum(1)
    given = Labels(case, named, counts[case, named].astype(float), total.astype(float))
    found = jax.jit(lambda shape: label_log_prob(shape, given))(shape)
    orders = gammaln(total + 1) - gammaln(counts + 1).sum(1)  # the distribution counts them, a sequence of labels not
    expected = stats.dirichlet_multinomial(shape, total).logpmf(counts) - orders
    assert float(found) == pytest.approx(float(expected.sum()), abs=1e-3)
    random = np.random.default_rng(1)
    scores, logs = random.normal(size=(2, 5, 3)), np.log([0.5, 0.3, 0.2])
    given = {"prevalence": 0.3, "logit_background": -1.5, "log_concentration": 0.7, "log_concentration_by_entropy": 1.2}
    given |= {"score": np.array([0.4, -0.1]), "first_choice": np.array([0.5, 0.2]), "offset": np.array([0.1, -0.2])}
    z = 0.4 * scores[0] - 0.1 * scores[1] + 0.3 * logs + [0, 0.1, -0.2]
    for weight, own in zip((0.5, 0.2), scores, strict=True):
        z[np.arange(5), own.argmax(1)] += weight
    background = 1 / (1 + np.exp(1.5))
    mean = (1 - background) * softmax(z, axis=1) + background * np.exp(logs)
    entropy = -(mean * np.log(mean)).sum(1, keepdims=True) / np.log(3)
    expected = np.exp(0.7 + 1.2 * (entropy - 0.5)) * mean
    np.testing.assert_allclose(jax.jit(prior_shapes)(given, scores, logs), expected, rtol=1e-4)


def test_a_mode_is_reached_where_the_first_differences_are_over_too_much(monkeypatch):
    """As of many cases, whose posterior is narrow; the first step then leads away."""
    monkeypatch.setattr(fitting, "minimize", lambda *given, **more: SimpleNamespace(x=np.array([1.02])))
    mode, hessian = fitting.laplace(
        lambda x: (-200 * np.log(np.cosh(50 * (x[0] - 1.0))), -1e4 * np.tanh(50 * (x - 1))), np.zeros(1)
    )
    assert mode == pytest.approx(1, abs=1e-4)
    assert hessian[0, 0] == pytest.approx(5e5, rel=0.02)


@pytest.mark.parametrize("shape", [1e-3, 0.3, 5.0, 49.9, 50.1, 1e3, 1e6])
def test_the_density_of_labels_is_not_lost_in_rounding(shape):
    """Single precision; ten million labels would differ by less than the rounding of their gamma functions."""
    for count in (1 / 3, 1.0, 7.0, 100.0):
        found = _log_rising(np.float32([shape]), np.float32([count]))
        exact = gammaln(np.float64(np.float32(shape)) + count) - gammaln(np.float64(np.float32(shape)))
        assert float(found[0]) == pytest.approx(exact, rel=1e-5, abs=2e-5)


def test_scores_of_any_scale_and_of_some_cases_by_name():
    p = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(log_scores(p), log_scores(40 * p), atol=1e-5)
    np.testing.assert_allclose(log_scores(p[:1]), log_scores(np.log(p[:1])), atol=1e-5)
    np.testing.assert_allclose(log_scores(np.zeros((1, 3))), 0, atol=1e-6)
    annotations = pb.Annotations.from_counts(np.ones((5, 2), int), cases=["e", "a", "bb", "d", "c"])
    scores = np.arange(1.0, 11).reshape(5, 2)
    evidence = Evidence.of({"A": scores}, annotations)
    np.testing.assert_array_equal(evidence.of_cases(np.array(["c", "bb", "e"])), evidence.log_scores[:, [4, 2, 0]])
    for other in ("b", "zzz", "0"):
        with pytest.raises(PredictionError, match=f"none for '{other}'"):
            evidence.of_cases(np.array(["d", other]))


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_evidence_is_read_in_blocks_and_takes_little_more_memory_than_its_scores(tmp_path, monkeypatch, shift):
    """Logits in any block make all scores logits."""
    n, k = 20_000, 10
    scores = np.random.default_rng(0).random((n, k), dtype=np.float32)
    scores[-1, 0] -= shift
    np.save(tmp_path / "a.npy", scores)
    annotations = pb.Annotations.from_counts(np.ones((n, k), int))
    whole = log_scores(scores.astype(float))
    monkeypatch.setattr(reading, "_BLOCK", 2_000)
    tracemalloc.start()
    evidence = Evidence.of({"A": tmp_path / "a.npy", "B": scores}, annotations)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * evidence.log_scores.nbytes
    np.testing.assert_array_equal(evidence.log_scores, [whole, whole])
    assert evidence.digests["A"] == evidence.digests["B"]


def test_slots_have_the_shapes_of_their_classes_and_a_remainder_those_of_all_others():
    random = np.random.default_rng(4)
    scores, logs = random.normal(size=(2, 3, 4)).astype(np.float32), np.log(np.full(4, 0.25, np.float32))
    one = {"prevalence": 0.3, "logit_background": -1.5, "log_concentration": 0.7, "log_concentration_by_entropy": 1.2}
    one |= {"score": np.array([0.4, -0.1]), "first_choice": np.array([0.5, 0.2]), "offset": np.array([0.1, -0.2, 0])}
    two = {name: np.stack([value, np.multiply(value, 0.5)]).astype(np.float32) for name, value in one.items()}
    case, class_index, n = [0, 0, 0, 1, 1, 2, 2], [1, 3, -1, 0, -1, 2, -1], [1, 1, 2, 1, 3, 1, 3]
    slots = Slots(*map(np.array, (case, class_index, n, [0, 3, 5, 7])))
    found = slot_shapes(two, scores, logs, slots)
    for at in range(2):
        dense = np.asarray(prior_shapes({name: value[at] for name, value in two.items()}, scores, logs))
        a, b, c = dense
        expected = [a[1], a[3], a[0] + a[2], b[0], b[1:].sum(), c[2], c.sum() - c[2]]
        np.testing.assert_allclose(found[:, at], expected, rtol=1e-4)


def test_every_draw_has_the_shapes_of_its_own():
    """Two priors in turn, over two cases: means, variances, and a case that draws the same without the other."""
    shape, n = np.array([[0.02, 0.3, 1.0, 2.0, 0.5], [5.0, 0.1, 3.0, 0.4, 40.0]]), 20_000
    slots = Slots(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]), np.ones(5, int), np.array([0, 3, 5]))
    words = np.array([[1, 2], [3, 4]], np.uint32)
    draws = np.tile(shape, (n, 1)).astype(np.float32)
    draw_in_place(draws.T, slots, words)
    for own in (slice(0, 3), slice(3, 5)):
        for at, alpha in enumerate(shape[:, own]):
            expected, total = alpha / alpha.sum(), alpha.sum()
            sd = np.sqrt(expected * (1 - expected) / (total + 1))
            np.testing.assert_array_less(abs(draws[at::2, own].mean(0) - expected), 4.5 * sd / np.sqrt(n))
            np.testing.assert_allclose(draws[at::2, own].std(0), sd, rtol=0.06)
    for some in (n, 30):  # also where so few are drawn that another program draws them
        alone = np.tile(shape[:, 3:], (some, 1)).astype(np.float32)
        draw_in_place(alone.T, slots.select(np.array([False, True])), words[1:])
        np.testing.assert_array_equal(alone, draws[: 2 * some, 3:])


def test_a_step_of_newton_that_goes_too_far_is_shortened(monkeypatch):
    monkeypatch.setattr(fitting, "minimize", lambda negative, start, **options: SimpleNamespace(x=start))
    density = lambda x: (-50 * np.sqrt(1 + x @ x), -50 * x / np.sqrt(1 + x @ x))  # noqa: E731
    mode, hessian = fitting.laplace(density, np.array([2.0]))  # from where a whole step leads to -8
    assert abs(mode[0]) < 0.01
    assert hessian.item() == pytest.approx(50, rel=0.02)


def test_no_more_steps_of_newton_are_tried_where_single_precision_knows_no_better_point(monkeypatch):
    monkeypatch.setattr(fitting, "minimize", lambda negative, start, **options: SimpleNamespace(x=start))
    calls = []
    density = lambda x: (calls.append(x) or -float((x != 0).any()), 50 * (0.1 - x))  # noqa: E731
    assert fitting.laplace(density, np.zeros(1))[1].item() == pytest.approx(50, rel=1e-3)
    assert len(calls) == 2 * (2 + 1 + 3)  # gradients of a Hessian, here, and steps, twice


@pytest.mark.slow
def test_weighted_proposals_and_nuts_agree(monkeypatch):
    _, annotations, scores = world(n=100)
    evidence, labels = Evidence.of(scores, annotations), labels_of(annotations)
    given = evidence.log_scores, np.log(prevalence(labels, 4)).astype(np.float32), labels
    weighted = fitting.fit(case_prior, *given, draws=800, seed=0)
    monkeypatch.setattr(fitting, "ENOUGH", np.inf)
    fitting._proposed.cache_clear()
    sampled = fitting.fit(case_prior, *given, draws=800, seed=0)
    assert (weighted.method, sampled.method) == ("importance", "nuts")
    for name, values in weighted.parameters.items():
        other = sampled.parameters[name]
        np.testing.assert_allclose(values.mean(0), other.mean(0), atol=0.25 * other.std(0).max())
        np.testing.assert_allclose(values.std(0), other.std(0), rtol=0.25)


def test_a_poor_approximation_is_improved_from_its_own_proposals(monkeypatch):
    """Few cases, a copy and hard labels: one proposal of the first approximation outweighs all others."""

    def too_slow(*given):
        raise AssertionError("sampled by NUTS")

    _, annotations, scores = world(n=40, seed=5)
    scores |= {"copy": scores["C0"], "expert": np.eye(4)[scores["C1"].argmax(1)]}
    evidence = Evidence.of(scores, annotations)
    monkeypatch.setattr(fitting, "_by_nuts", too_slow)
    found = PredictionsPrior.learn(annotations, evidence, draws=50, seed=5).fit
    assert (found.method, found.effective_size >= fitting.ENOUGH) == ("importance", True)
    monkeypatch.setattr(fitting, "ROUNDS", 1)
    fitting._proposed.cache_clear()
    with pytest.raises(AssertionError, match="NUTS"):
        PredictionsPrior.learn(annotations, evidence, draws=50, seed=5)


def test_a_fit_is_made_once_for_the_same_numbers(monkeypatch):
    """The posterior and its checks need the same; of other numbers, or another seed, it is another one."""
    _, annotations, scores = world(n=40)
    evidence = Evidence.of(scores, annotations)
    first = PredictionsPrior.learn(annotations, evidence, draws=50, seed=0).fit
    runs, laplace = [], fitting.laplace
    monkeypatch.setattr(fitting, "laplace", lambda *given: runs.append(1) or laplace(*given))
    again = PredictionsPrior.learn(annotations, Evidence.of(scores, annotations), draws=50, seed=0).fit
    assert not runs
    for name, values in first.parameters.items():
        np.testing.assert_array_equal(values, again.parameters[name])
    assert (
        len(PredictionsPrior.learn(annotations, evidence, draws=20, seed=0).fit.parameters["log_concentration"]) == 20
    )
    assert not runs
    other = scores | {"C0": scores["C0"] ** 1.001}
    PredictionsPrior.learn(annotations, Evidence.of(other, annotations), draws=50, seed=0)
    PredictionsPrior.learn(annotations, evidence, draws=50, seed=1)
    assert len(runs) == 2


def test_exact_draws_have_the_moments_of_their_shapes():
    """Each draw has a prior of its own; on average over them, moments are those of the mixture."""
    _, annotations, scores = world(n=40)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", predictions=scores, progress=False)
    assert model_of(posterior) == "dirichlet-categorical@1:class_prior=predictions"
    assert json.loads(posterior.attrs["evidence"])["classifiers"] == ["C0", "C1"]
    prior = PredictionsPrior.learn(annotations, Evidence.of(scores, annotations), draws=1000, seed=0)
    slots = prior.lay_out(annotations).slots
    counts = np.zeros((40, 4))
    np.add.at(counts, (annotations.entry_case, annotations.entry_class), 1)
    shape = prior.shapes(annotations, slots, range(1000)).reshape(1000, 40, 4) + counts
    total = shape.sum(-1, keepdims=True)
    mean = shape / total
    draws = pb.dense(posterior)
    np.testing.assert_allclose(draws.mean(0), mean.mean(0), atol=0.04)
    variance = (mean * (1 - mean) / (total + 1)).mean(0) + mean.var(0)
    np.testing.assert_allclose(draws.var(0), variance, atol=0.02)


@pytest.mark.slow
def test_likely_classes_that_nobody_named_have_their_shares_in_sampled_draws_as_in_exact_ones():
    _, annotations, scores = world(12, 40, labels=2, classifiers=1, concentration=0.1)
    prior = PredictionsPrior.learn(annotations, Evidence.of(scores, annotations), draws=4, seed=0)
    given = {"class_prior": prior, "reliability": 1, "draws": 500, "progress": False}
    exact, sampled = (pb.aggregate(annotations, model, **given) for model in ("dirichlet-categorical", "plackett-luce"))
    draws = [of["posterior"]["plausibility"].values.reshape(2000, -1) for of in (exact, sampled)]
    slots, named = prior.lay_out(annotations).slots, np.zeros((12, 40), bool)
    named[annotations.entry_case, annotations.entry_class] = True
    likely = ~slots.is_remainder & ~named[slots.case, slots.class_index]
    assert likely.sum() > 5
    for moment in (np.mean, np.std):
        one, other = (moment(of[:, likely], axis=0) for of in draws)
        np.testing.assert_allclose(other, one, rtol=0.25, atol=0.01)


@pytest.mark.slow
def test_many_classes_have_slots_where_mass_is_likely():
    """The remainder has the shapes of all classes without a slot."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 40, (60, 2))
    scores = np.full((60, 40), 0.001)
    scores[np.arange(60), labels[:, 0]] = 0.9
    annotations = pb.Annotations.from_labels(labels.tolist(), classes=[f"c{k:02}" for k in range(40)])
    prior = PredictionsPrior.learn(annotations, Evidence.of({"A": scores}, annotations), draws=20, seed=0)
    priors = prior.lay_out(annotations)
    shape = prior.shapes(annotations, priors.slots, [3])[0]
    every = prior.shapes(annotations, pb.annotations.Slots.of_every_class(60, 40), [3])[0].reshape(60, 40)
    np.testing.assert_allclose(np.add.reduceat(shape, priors.slots.start[:-1]), every.sum(1), rtol=1e-4)
    rest = priors.slots.is_remainder
    assert rest.sum() == 60
    assert (np.diff(priors.slots.start) < 15).all()
    posterior = pb.aggregate(annotations, "dirichlet-categorical", predictions={"A": scores}, **FEW, progress=False)
    assert accuracies(posterior, {"A": scores}).mean() > 0.5


@pytest.mark.slow
def test_without_predictions_one_prior_for_all_cases():
    """Concentration and mean of a symmetric world are found again."""
    _, annotations, _ = world(n=600, labels=5, concentration=0.3)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", class_prior="learned", **FEW, progress=False)
    assert "evidence" not in posterior.attrs
    parameters = json.loads(posterior.attrs["learned_prior"])["parameters"]
    assert np.exp(parameters["log_concentration"]["mean"]) == pytest.approx(4 * 0.3, rel=0.2)


@pytest.mark.slow
def test_predictions_inform_annotators_who_choose_by_a_power():
    _, annotations, scores = world(n=12, noise=0.2)
    given = {"reliability": 2.0, "draws": 10, "chains": 2, "seed": 0, "progress": False}
    alone = pb.aggregate(annotations, "dirichlet-categorical", **given)
    informed = pb.aggregate(annotations, "plackett-luce", predictions=scores, mode="temper", warmup=20, **given)
    assert informed.attrs["engine"] == "nuts"
    assert "evidence" in informed.attrs
    near = [np.corrcoef(pb.dense(of).mean(0).ravel(), scores["C0"].ravel())[0, 1] for of in (informed, alone)]
    assert near[0] > near[1] + 0.1


@pytest.mark.slow
def test_scores_with_predictions_are_labels_unless_a_model_is_named():
    random = np.random.default_rng(0)
    level = random.normal(3, 1.5, 60)
    rows = [(f"c{i}", f"r{j}", round(level[i] + random.normal(), 1)) for i in range(60) for j in range(3)]
    scores = pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"]))
    predictions = {"A": 1 / (1 + np.exp(3 - level))}
    given = {"threshold": 3, "seed": 0, "progress": False, **FEW}
    informed = pb.aggregate(scores, predictions=predictions, **given)
    by_hand = pb.aggregate(scores.split(3), predictions=predictions, **{**given, "threshold": None})
    np.testing.assert_array_equal(pb.dense(informed), pb.dense(by_hand))


def test_the_program_draws_its_parameters():
    from numpyro.infer import Predictive

    found = Predictive(pb.priors.case_prior, num_samples=400)(jax.random.key(0), np.zeros((2, 1, 3)), np.zeros(3))
    assert found["score"].mean() == pytest.approx(0.25, abs=0.06)
    assert found["score"].std() == pytest.approx(0.5, abs=0.06)
    assert found["offset"].shape == (400, 2)


def test_of_very_many_cases_a_sample_is_enough(monkeypatch):
    _, annotations, scores = world(n=400)
    monkeypatch.setattr(learning, "ENOUGH_CASES", 200)
    monkeypatch.setattr(learning, "ENOUGH_NUMBERS", 0)
    seen = []
    monkeypatch.setattr(
        learning, "fit", lambda *given, **options: seen.append(given[1]) or fitting.fit(*given, **options)
    )
    prior = PredictionsPrior.learn(annotations, Evidence.of(scores, annotations), draws=50, seed=0)
    assert seen[0].shape == (2, 200, 4)
    assert len(prior.lay_out(annotations).slots) == 400 * 4

"""What the report says of annotators and labels holds under the model that it speaks of."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import plausibly as pb
from plausibly.app.report._cases import FirstChoices, stay_open
from plausibly.app.report._summary import _judged_by, attainable, certainty_in_words, next_steps, prior_notes
from plausibly.app.report._summary import freed_shape as freed_of
from plausibly.app.report.panels import agreement_sentence, constant_in_words, of_panels
from plausibly.app.report.tables import lead
from plausibly.app.results import posterior as of_posterior
from plausibly.app.results.evaluation import of_sweep
from plausibly.app.results.posterior import worst_values
from plausibly.posterior.diagnostics.verdicts import failures
from plausibly.posterior.says import are_shares, learns
from tests import worlds
from tests.test_app.test_report.page import without_figures

QUIET = {"progress": False}
FAST = {"draws": 50, "k": 1} | QUIET


def test_a_posterior_says_which_quantities_of_all_cases_did_not_converge(monkeypatch):
    cases = xr.Dataset({"converged": ("case", [True]), "r_hat": ("case", [1.0])}, {"case": ["p"]})
    values = {"converged": ("quantity", [True, False]), "r_hat": ("quantity", [1.0, 1.3])}
    shared = xr.Dataset(values, {"quantity": ["accuracy of ann", "accuracy of bob"]})
    monkeypatch.setattr(of_posterior, "shared_convergence", lambda posterior: shared)
    posterior = pb.aggregate(pb.Annotations.from_labels([["x"]], ["x", "y"]), "dirichlet-categorical", progress=False)
    told = of_posterior.screen(posterior, cases, "m").headline
    assert told.startswith("Chains converged in all 1 cases (m). Chains did not converge in 1 of 2 quantities")
    assert "(what all cases share: 1): 'accuracy of bob'" in told


def short(swept):
    """What is said first, and what limits it."""
    screen = of_sweep(swept)
    return " ".join([screen.headline, *screen.notes])


def whole(swept):
    """All sentences about a sweep."""
    said = short(swept), certainty_in_words(swept, lead(swept)), *next_steps(swept), attainable(swept, lead(swept))
    return " ".join(said)


def agreement(panels, name):
    """The sentence on a classifier beside experts."""
    return agreement_sentence(panels, of_panels(panels, [name]), name)


def test_a_model_that_does_not_learn_asks_for_no_labels_and_is_bounded_by_counting():
    said = whole(worlds.marked())
    assert "keep disagreeing" not in said
    assert "more labels would help" not in said.replace("where more labels would help", "")
    assert "ask for more labels" not in said
    assert "would not make a case more certain" in said
    unanimous = pb.Annotations.from_rankings([[[["a"], ["b"]]] * 5] * 20, classes=["a", "b", "c"])
    assert FirstChoices.of(unanimous).most_frequent == 1
    rng = np.random.default_rng(0)
    given = [[[list(rng.permutation(4)[:n])] for n in rng.integers(1, 3, rng.integers(1, 6))] for _ in range(30)]
    annotations = pb.Annotations.from_rankings(given, classes=range(4))
    chosen = rng.integers(4, size=(200, 30))
    agrees = [[[c in one[0] for one in case] for c, case in zip(row, given, strict=True)] for row in chosen]
    best = [max(sum(c in one[0] for one in case) for c in range(4)) for case in given]
    bound = FirstChoices.of(annotations).most_frequent
    assert bound == pytest.approx(sum(best) / annotations.n_annotations)
    assert max(sum(map(sum, row)) for row in agrees) / annotations.n_annotations <= bound


@pytest.mark.slow
def test_disagreement_is_foretold_by_its_probability_where_annotations_say_so():
    counts = [[70, 30], [5, 0], [28, 4]]
    posterior = pb.aggregate(pb.Annotations.from_counts(counts), "dirichlet-categorical", seed=0, draws=4000)
    found = pb.evaluate(posterior, {}, progress=False)["disagreement_probability"].values
    shapes = np.array(counts) + 1.0
    expected = [stats.beta(a, b).cdf(0.8) - stats.beta(a, b).cdf(0.2) for a, b in shapes]
    np.testing.assert_allclose(found, expected, atol=0.01)
    annotations = pb.Annotations.from_counts([[70, 30, 0], [0, 8, 0], [70, 25, 5]], cases=["split", "one", "three"])
    swept = pb.sweep(annotations, {}, {"dirichlet-categorical": [1]}, **FAST)
    assert set(stay_open(swept, lead(swept))["case"]) == {"split", "three"}
    assert "if they answer like these" in whole(swept)
    results = lead(swept).results
    prior = SimpleNamespace(results=results.assign(prior_share=("case", [0.6] * 3)))
    assert not len(stay_open(swept, prior))
    sure = SimpleNamespace(results=results.assign(disagreement_probability=("case", [1.0] * 3)))
    assert set(stay_open(swept, sure)["case"]) == {"split", "three"}  # annotators of the third case agree


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prirn", "dawid-skene", "irn"])
def test_a_posterior_from_a_file_tells_what_its_plausibilities_are(name, tmp_path):
    labels = [["a", "ab"[i % 2], "b"] for i in range(6)]
    annotations = pb.Annotations.from_labels(labels, annotators=["ann", "bob", "cy"])
    options = {"draws": 50, "warmup": 50, "chains": 2} if name == "dawid-skene" else {}
    pb.save(pb.aggregate(annotations, name, seed=0, progress=False, **options), tmp_path / "x.nc")
    loaded = pb.load(tmp_path / "x.nc")
    assert not are_shares(loaded.attrs)
    assert learns(loaded.attrs) == (name == "dawid-skene")
    results = pb.evaluate(loaded, {}, progress=False)
    assert "disagreement_probability" not in results
    assert learns(results.attrs) == learns(loaded.attrs)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "shares"), [("power", True), ("temper", False)])
def test_annotators_who_choose_by_a_power_of_plausibilities_have_no_shares(mode, shares):
    annotations = pb.Annotations.from_labels([["a", "b"], ["a", "a"]])
    given = {"mode": mode, "reliability": 2, "draws": 20, "warmup": 50, "chains": 2}
    assert are_shares(pb.aggregate(annotations, "plackett-luce", seed=0, progress=False, **given).attrs) == shares


@pytest.fixture(scope="module")
def settings():
    """A sweep over models and reliabilities, with one tied vote; of the sizes of `worlds.labels`."""
    annotations = pb.Annotations.from_labels([["a", "a", "b"]] * 59 + [["a", "b"]], classes=["a", "b"])
    predictions = {"A": [[0.9, 0.1]] * 60, "B": [[0.1, 0.9]] * 60}
    return pb.sweep(annotations, predictions, {"dirichlet-categorical": [1, 10], "prirn": [10]}, **FAST)


def test_the_headline_says_how_experts_agree_and_certainty_is_of_every_reliability(settings):
    other = int((settings.runs[1].results["annotation_certainty_1"] >= 0.95).sum())
    assert f"({other} at 10)" in certainty_in_words(settings, lead(settings))
    # Both annotations of A's choice: two of three in 59 cases, one of two in the other.
    said = agreement(settings.panels, "A")
    assert said in of_sweep(settings).headline
    assert f"with one expert in {100 * (59 * 2 / 3 + 1 / 2) / 60:.1f} %" in said
    assert f"experts agree with each other in {100 * (59 * 1 / 3 + 0) / 60:.1f} %" in said


@pytest.mark.parametrize(("labels", "noted"), [(["a", "b", "c"], True), (["a", "b", "c", "c"], False)])
def test_a_prior_that_counts_as_much_as_the_labels_is_noted(labels, noted):
    """Three labels of three classes, and a uniform prior of three."""
    swept = pb.sweep(pb.Annotations.from_labels([labels]), {}, {"dirichlet-categorical": [1]}, **FAST)
    said = [sentence for sentence in of_sweep(swept).notes if "in 1 of 1 case, the prior counts as much" in sentence]
    assert bool(said) == noted


def test_the_table_of_diagnostics_has_the_limit_that_applied():
    """R-hat above 1.01 is no failure where the limit of many cases is higher."""
    columns = {"r_hat": 1.02, "r_hat_limit": 1.025, "ess_bulk": 500.0, "ess_tail": 500.0, "n_diverging": 0}
    variables = {name: ("case", np.full(30, value)) for name, value in columns.items()}
    convergence = xr.Dataset(variables | {"converged": ("case", np.ones(30, bool))})
    run = replace(worlds.marked().runs[0], convergence=convergence)
    row = worst_values({run.label: run.convergence}).rows[0]
    assert row[1:] == ("1.020 (0)", "at most 1.01 (by chance up to 1.025)", "0")
    assert not any("R-hat" in failed for failed in failures(convergence))


@pytest.mark.slow
def test_few_cases_and_point_estimates_are_marked():
    annotations = pb.Annotations.from_labels([["a"] * 3] * 40 + [["b"] * 3] * 5, classes=["a", "b"])
    predictions = {"A": [[0.9, 0.1]] * 45, "B": [[0.9, 0.1]] * 34 + [[0.1, 0.9]] * 11}
    models = {"dirichlet-categorical": [1]}
    swept = pb.sweep(annotations, predictions, models, k=1, draws=50, progress=False)
    text = without_figures(swept)
    assert re.search(r"<td>\d+ \(few\)</td>", text)
    annotations = pb.Annotations.from_labels([["a", "a"], ["b", "a"]], classes=["a", "b"])
    swept = pb.sweep(annotations, {"A": [[0.9, 0.1]] * 2, "B": [[0.1, 0.9]] * 2}, {"majority-vote": None}, **QUIET)
    assert "always chose" not in attainable(swept, lead(swept))


def test_priors_are_named_and_not_to_be_trusted_more():
    assert "alone" in _judged_by(SimpleNamespace(attrs={}))
    assert "predictions" in _judged_by(SimpleNamespace(attrs={"evidence": "{}"}))
    annotations = pb.Annotations.from_labels([["a"], ["b"]], classes=list("abcdef"))
    runs = pb.sweep(annotations, {}, {"dirichlet-categorical": [1]}, **FAST).runs
    notes = list(prior_notes(runs))
    assert len(notes) == 1
    assert "class_prior=learned" in notes[0]
    assert "do not raise the reliability" in notes[0]
    # Of a model without a reliability and a choice of priors, advice names neither.
    attrs = {name: value for name, value in runs[0].attrs.items() if name not in ("class_prior", "reliability")}
    without = SimpleNamespace(results=runs[0].results, attrs=attrs, label="mine", reliability=np.nan)
    (note,) = prior_notes([without])
    assert not re.search("class_prior|reliability", note)


@pytest.mark.slow
def test_a_posterior_that_knows_the_predictions_underrates_none_of_them():
    annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "a"]] * 10, classes=["a", "b"])
    predictions = {"A": [[0.9, 0.1], [0.2, 0.8]] * 7 + [[0.4, 0.6], [0.2, 0.8]] * 3}
    models = {"known": {"model": "dirichlet-categorical", "class_prior": "predictions"}, "dirichlet-categorical": [1]}
    swept = pb.sweep(annotations, predictions, models, **FAST)
    said = short(swept)
    assert lead(swept).label == "known"
    assert "how experts disagree within a case" in said
    one_truth = pb.sweep(annotations, predictions, {"known": models["known"] | {"model": "common-confusion"}}, **FAST)
    assert "err independently of each other" in short(one_truth)
    assert "scored too low" not in said


def test_agreement_with_panels_says_over_which_cases_it_is():
    """The panel's share was over 2 of 3 of the cases that the number beside it was about, and had no interval."""
    labels = [["a", "a", "b"], ["b", "b", "b"], ["a", "a", None]] * 5
    annotations = pb.Annotations.from_labels(labels + [["a", "a", "b"], ["b", "b", "b"], ["b", "b", None]] * 5)
    scores = {"A": [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]] * 10}
    said = agreement(pb.evaluation.panels(annotations, scores, most=3, seed=0), "A")
    assert re.search(r"in 100.0 % of the 20 cases with 3 labels or more \(\d+ to 100\)", said)
    two = pb.evaluation.panels(annotations.select(range(2)), scores | {"A": scores["A"][:2]}, most=3)
    assert "labels or more" not in agreement(two, "A")


def test_agreement_that_a_constant_reaches_is_said_to_tell_nothing():
    """A classifier that never found the 4 % was only said to agree more often than experts do."""
    random = np.random.default_rng(0)
    rare = random.random(200) < 0.04
    labels = np.where(random.random((200, 3)) < 0.92, rare[:, None], ~rare[:, None]).astype(int)
    scores = {"never": np.tile([0.9, 0.1], (200, 1))}
    for said, told in ((labels, True), (np.arange(200)[:, None] % 2 * np.ones((1, 3), int), False)):
        annotations = pb.Annotations.from_labels(np.array(["benign", "malignant"])[said].tolist())
        panels = pb.evaluation.panels(annotations, scores, replicates=0)
        assert ("Always naming 'benign' agrees with an expert in" in constant_in_words(panels)) == told
        share = max((said == 0).mean(), (said == 1).mean())
        assert panels["human_level"].attrs["constant_agreement"] == pytest.approx(share)


def test_a_note_says_how_far_it_depends_on_the_shape_of_disagreement():
    swept, alone = worlds.swept_labels(), worlds.marked()
    rows = freed_of(swept, lead(swept))
    assert set(rows) == {"A", "B"}
    assert "if experts may disagree in other ways" not in short(swept)  # which is about what most experts would name
    without = replace(swept, runs=tuple(replace(run, of_panels=None) for run in swept.runs))
    assert "if experts may disagree in other ways" in short(without)
    assert (alone.freed, freed_of(alone, lead(alone))) == (None, {})

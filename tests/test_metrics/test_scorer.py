"""The scorer in scikit-learn's cross-validation: ranks models as `evaluate` does, and matches classes by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, matthews_corrcoef
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

import plausibly as pb
from plausibly.base.errors import ArgumentError
from plausibly.evaluation import scorer

N, CLASSES = 24, ("corn", "nevus", "wart")


@pytest.fixture(scope="module")
def data():
    """Simulated features, of which some tell the class; votes of three annotators; a posterior."""
    random = np.random.default_rng(0)
    truth = random.integers(3, size=N)
    labels = np.where(random.random((N, 3)) < 0.8, truth[:, None], random.integers(3, size=(N, 3)))
    cases = [f"p{i}" for i in range(N)]
    annotations = pb.Annotations.from_labels(labels, classes=CLASSES, cases=cases)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=20, chains=2, seed=0, progress=False)
    X = pd.DataFrame(np.eye(3)[truth] + random.normal(size=(N, 3)), index=cases, columns=list("uvw"))
    vote = pd.Series([CLASSES[np.bincount(own, minlength=3).argmax()] for own in labels], index=cases)
    return posterior, X, vote


@pytest.mark.slow
def test_cross_validation_ranks_models_as_evaluate_does_and_greater_is_better(data):
    posterior, X, vote = data
    folds = KFold(2, shuffle=True, random_state=0)
    score = scorer(posterior, "top1_accuracy")
    models = {"good": LogisticRegression(), "poor": DummyClassifier(strategy="prior")}
    found = {name: cross_val_score(model, X, vote, scoring=score, cv=folds) for name, model in models.items()}
    predicted = {
        name: pd.DataFrame(cross_val_predict(model, X, vote, cv=folds, method="predict_proba"), columns=CLASSES)
        for name, model in models.items()
    }
    options = {"metrics": ["top1_accuracy"], "replicates": 0, "progress": False}
    whole = pb.evaluate(posterior, predicted, **options)["top1_accuracy"].mean("draw")
    for name in models:
        # Folds are equally large, so the mean over folds is that over cases.
        assert found[name].mean() == pytest.approx(float(whole.sel(classifier=name)), abs=1e-6)
    assert found["good"].mean() > found["poor"].mean()
    good = models["good"].fit(X, vote)
    loss = scorer(posterior, pb.metrics.Metric(lambda s, plausibility: ((s - plausibility) ** 2).sum(), "smaller"))
    half = X[::2], vote[::2]  # as many cases as in a fold
    far = ((good.predict_proba(half[0]) - pb.dense(posterior)[:, ::2]) ** 2).sum(axis=2)
    assert loss(good, half[0]) == pytest.approx(-far.mean(), rel=1e-5)
    # Cases by the index of y, and classes by index.
    number = pd.Series([CLASSES.index(name) for name in vote], index=vote.index)
    by_number = score(LogisticRegression().fit(X.to_numpy(), number), half[0].to_numpy(), number[::2])
    assert by_number == pytest.approx(score(good, *half))
    assert score(good, half[0]) == score(good, *half)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        pytest.param("brier", {}, marks=pytest.mark.slow),
        ("ppv", {"positive": "wart", "threshold": 0.3}),
        ("auroc_macro", {"truth": "annotator"}),
    ],
)
def test_metrics_of_labels_score_the_cases_that_are_held_out(data, metric, options):
    posterior, X, vote = data
    model = LogisticRegression().fit(X, vote)
    held_out = X.index[::2]
    predicted = pd.DataFrame(model.predict_proba(X), X.index, CLASSES)
    found = scorer(posterior, metric, **options)(model, X.loc[held_out])
    weights = X.index.isin(held_out).astype(float)
    options = {"metrics": [metric], "weights": weights, "replicates": 0, "progress": False} | options
    expected = pb.evaluate(posterior, {"A": predicted}, **options)[metric].mean().item()
    assert found == pytest.approx(-expected if metric == "brier" else expected, abs=1e-6)


@pytest.mark.parametrize(("truth", "metric"), [("annotator", "f1_macro"), ("panel", "auroc_macro")])
def test_annotations_are_enough_for_a_truth_of_labels(data, truth, metric):
    posterior, X, vote = data
    annotations, model = pb.posterior.annotations_of(posterior), LogisticRegression().fit(X, vote)
    of_labels, of_posterior = (
        scorer(source, metric, truth=truth, panel=3)(model, X) for source in (annotations, posterior)
    )
    assert of_labels == of_posterior


@pytest.mark.parametrize("truth", ["annotator", "panel"])
def test_rows_of_labels_give_scikit_learn_the_truth_of_evaluate(data, truth):
    posterior, X, _ = data
    annotations = pb.posterior.annotations_of(posterior)
    rows = pb.evaluation.label_rows(annotations, truth, 2)
    soft = LogisticRegression().fit(X.loc[rows["case"]], rows["class"], sample_weight=rows["sample_weight"])
    predicted = pd.DataFrame(soft.predict_proba(X), X.index, CLASSES)
    found = pb.evaluate(annotations, {"A": predicted}, metrics=["log_score", "mcc"], truth=truth, panel=2, replicates=0)
    p = predicted.loc[rows["case"]].to_numpy()
    expected = log_loss(rows["class"], p, sample_weight=rows["sample_weight"], labels=list(CLASSES))
    assert found["log_score"].item() == pytest.approx(expected, abs=1e-5)
    chosen = np.array(CLASSES)[p.argmax(axis=1)]
    expected = matthews_corrcoef(rows["class"], chosen, sample_weight=rows["sample_weight"])
    assert found["mcc"].item() == pytest.approx(expected, abs=1e-5)


def test_a_class_that_a_fold_lacks_scores_nothing(data):
    posterior, X, vote = data
    some = vote != "nevus"
    found = scorer(posterior)(LogisticRegression().fit(X[some], vote[some]), X)
    assert 0 < found < 1


def test_one_label_a_case_cannot_tell_accuracy():
    cases = [f"p{i}" for i in range(20)]
    annotations = pb.Annotations.from_labels([["a"] if i % 3 else ["b"] for i in range(20)], cases=cases)
    posterior = pb.aggregate(annotations, class_prior="learned", draws=20, chains=1, seed=0, progress=False)
    X = pd.DataFrame({"x": np.arange(20.0)}, index=cases)
    model = LogisticRegression().fit(X, ["a"] * 10 + ["b"] * 10)
    for metric in ("top1_accuracy", "auroc"):
        with pytest.raises(ArgumentError, match="one label"), pytest.warns(pb.PlausiblyWarning):
            scorer(posterior, metric)(model, X)
    assert np.isfinite(scorer(posterior, "auroc", truth="annotator")(model, X))

"""Sets that hold every class: not by default, with a warning where they do, and with the prior named as the cause."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from tests.test_app.test_cli.run import plausibly, succeed


def flat(n_classes, n_labels, n=300, seed=0):
    """Labels of one of a few plausible classes, and a classifier that knows much of these."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(n_classes, 0.3), n)
    counts = np.array([rng.multinomial(n_labels, p) for p in truth])
    p = truth + 0.05 * rng.random((n, n_classes))
    names = [f"c{k}" for k in range(n_classes)]
    return pb.Annotations.from_counts(counts, classes=names), {"A": p / p.sum(1, keepdims=True)}


def posterior_of(annotations):
    return pb.aggregate(annotations, "dirichlet-categorical", reliability=1, draws=50, progress=False)


@pytest.mark.parametrize(("n_classes", "n_labels", "alpha"), [(3, 2, 0.15), (3, 5, 0.05), (10, 2, 0.05), (10, 5, 0.05)])
def test_sets_of_flat_posteriors_miss_what_they_may(n_classes, n_labels, alpha):
    annotations, predictions = flat(n_classes, n_labels)
    posterior = posterior_of(annotations)
    found = pb.conformal(posterior, predictions, alpha=alpha)
    mean = pb.dense(posterior).mean(0, dtype=float)
    covered = (mean * found.predict(predictions).values[0]).sum(1).mean()
    assert 1 - alpha <= covered < 1 - alpha + 0.02
    assert found.mean_size.item() < n_classes - 0.1
    assert (found.summary()["note"] == "").all()
    # The same holds for cases that were not calibrated on.
    measured = pb.conformal_coverage(posterior, predictions, alpha=alpha, splits=30, progress=False).table
    own = measured.set_index("target").loc["plausibility"]
    assert own["plausibility"] == pytest.approx(1 - alpha, abs=0.02)
    assert own["size"] < n_classes - 0.1


@pytest.mark.slow
def test_sets_of_every_class_and_priors_are_told():
    annotations, predictions = flat(3, 2)
    posterior = posterior_of(annotations)
    with pytest.warns(pb.PlausiblyWarning, match="every class is in every set.*0.85.*'A'.*lac"):
        found = pb.conformal(posterior, predictions, alpha=0.15, score="aps")
    assert np.isfinite(found.threshold.item())
    assert found.summary()["note"].item() == "every class is in every set"
    assert "every class is in every set" in found.verdict()
    assert "too few cases" not in found.verdict()
    random = pb.conformal(posterior, predictions, alpha=0.15, score="aps", randomise_scores=True)
    assert random.mean_size.item() < 2.9
    assert "every class" not in random.verdict()
    annotations, predictions = flat(10, 51)
    posterior = posterior_of(annotations)
    found = pb.conformal(posterior, predictions, alpha=0.05)
    # Ten of 61 labels are the prior's, one for each class: so many classes keep all but 0.05 of the plausibility.
    least = 10 * (1 - 0.05 / (10 / 61))
    assert found.prior.least == pytest.approx(least, abs=0.01)
    assert least < found.mean_size.item() < 8
    assert f"at least {least:.1f} of 10 classes" in found.verdict()
    assert 'target="annotator"' in found.verdict()
    by_annotators = pb.conformal(posterior, predictions, alpha=0.05, target="annotator")
    assert by_annotators.prior is None
    assert by_annotators.mean_size.item() < 5
    assert "prior" not in by_annotators.verdict()
    measured = pb.conformal_coverage(posterior, predictions, alpha=0.05, splits=2, progress=False)
    assert f"at least {least:.1f} of 10 classes" in measured.verdict()
    annotations, predictions = flat(3, 51)
    found = pb.conformal(posterior_of(annotations), predictions, alpha=0.15)
    assert found.prior.least <= 1
    assert "prior" not in found.verdict()
    annotations, predictions = flat(3, 5)
    swept = pb.conformal_sweep(annotations, predictions, {"dirichlet-categorical": (10, 1)}, progress=False)
    weak, strong = (run.prior.least for run in swept.runs.values())
    assert weak < strong == swept.common.prior.least
    # Named classes weigh more than unnamed ones, which share one weight: the fewest that keep enough are the named.
    annotations = pb.Annotations.from_labels([["a", "b"]] * 30, classes=list("abcdef"))
    posterior = pb.aggregate(annotations, "plackett-luce", reliability=1, draws=20, chains=1, progress=False)
    share = posterior["constant_data"]["prior_share"].values.reshape(30, 3)[0].astype(float)
    of_class = np.sort([*share[:2], *[share[2] / 4] * 4])
    lost = int((np.cumsum(np.repeat(of_class, 30)) <= 0.1 * 30 + 1e-6).sum())
    with pytest.warns(pb.PlausiblyWarning):  # scores are all equal
        found = pb.conformal(posterior, {"A": np.full((30, 6), 1 / 6)}, alpha=0.1)
    assert found.prior.least == pytest.approx(6 - lost / 30, abs=0.05)


def test_the_command_says_so(tmp_path):
    annotations, predictions = flat(3, 2, n=60)
    pb.write_annotations(annotations, tmp_path / "labels.csv")
    table = pd.DataFrame(predictions["A"], columns=annotations.classes)
    table.insert(0, "case", annotations.cases)
    table.to_csv(tmp_path / "a.csv", index=False)
    words = ["conformal", tmp_path / "labels.csv", "--predictions", f"A={tmp_path / 'a.csv'}", "--alpha", 0.15]
    words += ["--model", "dirichlet-categorical@1", "--draws", 50, "--splits", 0]
    result = succeed(*words, "--out", tmp_path / "out")
    assert pd.read_csv(tmp_path / "out" / "thresholds.csv")["mean_size"].item() < 2.9
    assert "of 3 classes" in " ".join(result.stdout.split())
    result = plausibly(*words, "--score", "aps")
    assert "coverage is 1 where 0.85 was asked" in result.output
    assert "every class is in every set" in " ".join(result.stdout.split())

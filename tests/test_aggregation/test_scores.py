"""Scores from end to end: posteriors, results, sweeps, reports and commands; and what is refused."""

import json

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from jax.scipy.special import ndtr
from scipy import stats
from typer.testing import CliRunner

import plausibly as pb
from plausibly.app.cli import app
from plausibly.base.errors import ArgumentError
from plausibly.data.case import NormalInverseGamma
from plausibly.posterior import annotations_of, scores_of

pytestmark = pytest.mark.filterwarnings("ignore:.* of the scores equal the threshold")

PRIOR = (0.2, 1.0, 3.0, 2.0)
BY_CASE = {"<p>": [-1, -1, 0], "q, r": [2], "s": [1, -2, 2, 1], "t": [0.5, 0.5]}
TABLE = pd.DataFrame(
    [(c, f"a{i}", y) for c, ys in BY_CASE.items() for i, y in enumerate(ys)], columns=["case", "annotator", "score"]
)
SCORES = pb.Annotations.from_scores(TABLE)
PREDICTIONS = {"A": np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.8], [0.9, 0.1]]), "B": np.tile([0.4, 0.6], (4, 1))}


def aggregate(scores=SCORES, **options):
    return pb.aggregate(scores, "normal-scores", **({"threshold": 0, "prior": PRIOR, "progress": False} | options))


@pytest.fixture(scope="module")
def posterior():
    return aggregate(seed=1)


def expected(threshold=0.0, reliability=1.0):
    """The probability of the next score to be at most the threshold, case by case."""
    rows = []
    for ys in BY_CASE.values():
        ys = np.array(ys, float)
        found = NormalInverseGamma(*PRIOR).posterior(len(ys), ys.mean(), ((ys - ys.mean()) ** 2).sum(), reliability)
        rows.append(found.probability_below(threshold))
    return np.array(rows)


@pytest.mark.parametrize("reliability", [1, 2.5])
def test_certainty_is_exact_and_draws_agree_with_it(reliability):
    found = aggregate(reliability=reliability, draws=2000)
    below = expected(reliability=reliability)
    certainty = found["constant_data"]["score_certainty"].values
    np.testing.assert_allclose(certainty, np.maximum(below, 1 - below), rtol=1e-6)
    mean = found["posterior"]["plausibility"].mean(("chain", "draw")).values.reshape(-1, 2)
    np.testing.assert_allclose(mean[:, 0], below, atol=0.02)


def test_the_posterior_holds_scores_and_labels_that_come_out_again(posterior, tmp_path):
    inside = posterior["posterior"]
    assert inside["class_name"].values.tolist() == ["≤ 0", "> 0"] * 4
    assert inside["mean"].dims == ("chain", "draw", "scored_case")
    assert inside["scored_case"].values.tolist() == list(BY_CASE)
    likelihood = posterior["log_likelihood"]["score"].values[0, :, 4]  # the first score of "s"
    mean, variance = (inside[name].sel(scored_case="s").values[0].astype(float) for name in ("mean", "variance"))
    np.testing.assert_allclose(likelihood, stats.norm.logpdf(1, mean, np.sqrt(variance)), rtol=1e-4, atol=1e-5)
    assert posterior.attrs["threshold"] == 0
    assert posterior.attrs["prior_from"] == "given"
    assert pb.diagnose(posterior)["converged"].values.all()
    pb.save(posterior, tmp_path / "p.nc")
    for found in (posterior, pb.load(tmp_path / "p.nc")):
        assert annotations_of(found) == SCORES.split(0)
        recovered = scores_of(found)
        assert recovered.split(0) == SCORES.split(0)
        np.testing.assert_array_equal(recovered.score, SCORES.score)


def test_the_prior_is_estimated_unless_it_is_given_and_mirrored_scores_change_sides():
    mirrored = pb.Annotations.from_scores(TABLE.assign(score=-TABLE["score"]))
    a = aggregate(threshold=0.25)["constant_data"]["score_certainty"].values
    b = aggregate(mirrored, threshold=-0.25, prior=(-PRIOR[0], *PRIOR[1:]))["constant_data"]["score_certainty"].values
    np.testing.assert_allclose(a, b, rtol=1e-6)
    found = aggregate(prior=None)
    assert found.attrs["prior_from"] == "scores"
    again = aggregate(prior=json.loads(found.attrs["prior"]))
    np.testing.assert_allclose(
        found["constant_data"]["score_certainty"], again["constant_data"]["score_certainty"], rtol=1e-5
    )
    # Every score counts once for the prior, however often it counts afterwards.
    assert aggregate(prior=None, reliability=5).attrs["prior"] == found.attrs["prior"]


# Cases of as many different scores share a program: one to compile.
ALIKE = SCORES.select(["<p>"])


@pytest.mark.slow
def test_nuts_agrees():
    found = aggregate(ALIKE, engine="nuts", seed=3)
    assert pb.diagnose(found)["converged"].values.all()
    a, b = (p["constant_data"]["score_certainty"].values for p in (aggregate(ALIKE), found))
    np.testing.assert_allclose(a, b, atol=0.03)
    with pytest.raises(ArgumentError, match="this posterior of normal-scores by nuts has none"):
        pb.plots.score_density(found, "<p>")


def student(case, *, reliability=1.0):
    """Scores with heavy tails."""
    mean = numpyro.sample("mean", dist.Normal(case.prior.mean, 2))
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    z = (case.threshold - mean) / spread
    numpyro.deterministic("plausibility", jnp.stack([ndtr(z), ndtr(-z)]))
    with numpyro.plate("annotation", len(case.scores)), numpyro.handlers.scale(scale=reliability * case.counts):
        numpyro.sample("score", dist.StudentT(4, mean, spread), obs=case.scores)


@pytest.mark.filterwarnings("ignore::plausibly.errors.ConvergenceWarning")
@pytest.mark.slow
def test_programs_of_ones_own_run_on_scores():
    low = pb.aggregate(ALIKE, student, threshold=-2, reliability=2, warmup=200, draws=100, progress=False)
    found = pb.aggregate(ALIKE, student, threshold=1, reliability=2, warmup=200, draws=100, progress=False)
    values = found["posterior"]["plausibility"].values
    np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)
    assert values[..., 0].mean() > 0.5 > low["posterior"]["plausibility"].values[..., 0].mean()
    assert pb.evaluate(found, {})["score_certainty"].values.min() >= 0.5


def test_results_and_their_histogram(posterior):
    results = pb.evaluate(posterior, PREDICTIONS, metrics="top1_accuracy", replicates=0)
    below = expected()
    np.testing.assert_allclose(results["score_certainty"], np.maximum(below, 1 - below), rtol=1e-6)
    leads = posterior["posterior"]["plausibility"].values.reshape(-1, 4, 2).argmax(-1)
    accuracy = (leads == PREDICTIONS["A"].argmax(1)).mean(1)
    np.testing.assert_allclose(results["top1_accuracy"].sel(classifier="A"), accuracy)
    named = pb.Annotations.from_scores(TABLE, classes=["fine", "toxic"])
    frame = pd.DataFrame(PREDICTIONS["A"][:, ::-1], columns=["toxic", "fine"])
    by_name = pb.evaluate(aggregate(named, seed=1), {"A": frame}, metrics="top1_accuracy", replicates=0)
    np.testing.assert_allclose(by_name["top1_accuracy"].values[0], accuracy)
    results = pb.evaluate(posterior, {})
    ax = pb.plots.certainty_histogram(results, "score_certainty", bins=5)
    assert sum(bar.get_height() for bar in ax.patches) == 4
    assert ax.get_xlim() == (0.5, 1)
    assert ax.texts[0].get_text() == f"mean {float(results['score_certainty'].mean()):.2f}"
    with pytest.raises(ArgumentError, match="there is no 'risk_certainty' by case"):
        pb.plots.certainty_histogram(results, "risk_certainty")


@pytest.mark.slow
def test_sweep_and_report(tmp_path):
    options = {"threshold": 0, "prior": PRIOR, "k": 1, "metrics": {}, "draws": 50, "progress": False}
    swept = pb.sweep(SCORES, PREDICTIONS, {"normal-scores": (1,)}, **options)
    assert [run.label for run in swept.runs] == ["normal-scores@1"]
    assert swept.annotations == SCORES.split(0)
    assert "score_certainty" in swept.certainty
    pb.report(swept, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "score certainty</th>" in text
    assert "the likelier side" in text


def run(*words):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(word) for word in words])


@pytest.mark.slow
def test_commands(tmp_path, no_report):
    TABLE.to_csv(tmp_path / "scores.csv", index=False)
    out = tmp_path / "p.nc"
    done = run(
        *("aggregate", tmp_path / "scores.csv", "--model", "normal-scores", "--threshold", "-0.5"),
        *("--prior", "0.2,1,3,2", "--out", out),
    )
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(
        pb.load(out)["posterior"]["mean"].values, aggregate(threshold=-0.5)["posterior"]["mean"].values
    )
    np.save(tmp_path / "A.npy", PREDICTIONS["A"])
    words = ["--threshold", 0, "--predictions", f"A={tmp_path / 'A.npy'}", "--draws", 50, "--out", tmp_path / "results"]
    done = run("evaluate", tmp_path / "scores.csv", "--model", "normal-scores@1", *words)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "results" / "certainty.csv")
    assert table["case"].tolist() == list(BY_CASE)
    assert (table["score_certainty"] >= 0.5).all()
    # Without --model, scores have a usual one of their own.
    done = run("sweep", tmp_path / "scores.csv", *words[:-1], tmp_path / "swept", "--draws", 20)
    assert done.exit_code == 0, done.output
    assert set(pd.read_csv(tmp_path / "swept" / "sweep.csv")["model"]) == {"ordinal-scores"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threshold", "0", "--prior", "1,2,x"], "--prior must be numbers separated by commas"),
        (["--threshold", "0", "--prior", "1,2,-3,4"], "prior must be four numbers"),
        (["--threshold", "0", "--model", "irn"], "irn takes partial rankings, but scores were given"),
    ],
)
def test_commands_refuse(tmp_path, words, message):
    TABLE.to_csv(tmp_path / "scores.csv", index=False)
    done = run("aggregate", tmp_path / "scores.csv", *words, "--out", tmp_path / "p.nc")
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output
    if "irn" in words:
        done = run("evaluate", tmp_path / "scores.csv", *words, "--out", tmp_path / "results")
        assert (done.exit_code, message in done.output) == (2, True)


def test_the_density_is_parted_by_the_threshold(posterior):
    ax = pb.plots.score_density(posterior, "q, r")
    shares = [float(text.get_text().rsplit(" ", 1)[1]) for text in ax.texts]
    assert shares[0] == pytest.approx(expected()[1], abs=0.0051)
    assert sum(shares) == pytest.approx(1, abs=0.011)
    x, y = ax.lines[-3].get_data()
    assert np.trapezoid(y, x) == pytest.approx(1, abs=0.02)
    assert ax.get_title() == "q, r"

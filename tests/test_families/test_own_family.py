"""A family that the package does not know: shared shares of classes, and Dirichlet posteriors given a draw of them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from typer.testing import CliRunner

import plausibly as pb
from plausibly.app.cli import app
from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.base.progress import Progress
from plausibly.base.random_streams import Stream, case_keys, generator, stream_words
from plausibly.data.annotations import Slots
from plausibly.data.case import Entries
from plausibly.evaluation.truth import truths_in_words
from plausibly.families import Facts, SharedDraws
from plausibly.families.priors import Evidence, PredictionsPrior
from plausibly.posterior import build_posterior, case_names
from plausibly.posterior.diagnostics import convergence

LABELS = pb.Annotations.from_counts([[3, 0, 0], [2, 1, 0], [0, 0, 4], [1, 1, 0], [0, 3, 1], [2, 0, 0]])
SETTINGS = {"draws": 150, "chains": 2, "progress": False}


@dataclass(frozen=True)
class SharedShares:
    """The shares of all labels are the mean of every case's Dirichlet prior, of a strength of one label."""

    strength: float = 1.0

    def says(self, model):
        return Facts(("exact",), shares=True, every_class=True, takes_prior=False)

    def check(self, observed, settled):
        if observed.n_cases < 2:
            raise AnnotationError("shares need two cases")

    def layout(self, observed, settled):
        return Slots.of_every_class(observed.n_cases, observed.n_classes)

    def learn(self, observed, settled, *, progress, scheduler=None, keeper=None):
        random = np.random.default_rng(settled.seed)
        sizes = settled.numbers("chains", "draws").values()
        drawn = random.dirichlet(1 + self._counts(observed).sum(0), tuple(sizes)).astype(np.float32)
        dims, names = {"share": ("true_class",)}, {"true_class": observed.classes}
        if keeper is not None:  # a posterior on disk has the draws of all cases
            store = keeper(self.layout(observed, settled))
            for number, chain in enumerate(drawn):
                store.keep_chain(number, {"share": chain}, len(drawn), dims)
        with Progress(progress) as bars:
            shared = SharedDraws.of({"share": drawn}, dims, names, progress=bars)
        return replace(settled, shared=shared, quantities=observed.n_cases * observed.n_classes)

    def draw(self, observed, settled, *, progress, point="now"):
        slots, share = self.layout(observed, settled), settled.shared.values["share"]
        shape = self.strength * share[:, :, None] + self._counts(observed)
        words = stream_words(case_keys(settled.seed, observed.cases))[Stream.PRIOR]
        gammas = [generator(word).standard_gamma(shape[:, :, case]) for case, word in enumerate(words)]
        values = np.stack([gamma / gamma.sum(-1, keepdims=True) for gamma in gammas], axis=2)
        values = values.reshape(*share.shape[:2], -1).astype(np.float32)
        with Progress(progress) as bars:
            judged = convergence(values, slots, None, quantities=settled.quantities, progress=bars)
        attrs = settled.describe() | {"converged": f"{int(judged['converged'].sum())} of {observed.n_cases} cases"}
        how = {"point": values.mean((0, 1)), "concentration": 0.0, "convergence": judged, "attrs": attrs}
        return build_posterior(values, observed, slots, **how)

    def log_likelihood(self, posterior, observed, settled, *, progress, now):
        return posterior

    def leave_out(self, annotations, settled, fold, *, progress):
        counts, share = self._counts(annotations), self._counts(annotations).sum(0)
        at = annotations.annotation_case, annotations.entry_class
        shape = self.strength * share / share.sum() + counts
        seen = shape[at] / shape.sum(1)[at[0]]
        unseen = (shape[at] - 1) / (shape.sum(1)[at[0]] - 1)
        n = np.zeros(len(fold))
        return {"elpd": np.log(unseen), "in_sample": np.log(seen), "error": n, "converged": n == 0}

    def _counts(self, observed):
        slots = self.layout(observed, None)
        return Entries.of(observed, slots).totals(np.ones(len(observed.entry_class))).reshape(observed.n_cases, -1)


def program(case):
    """Never called: the family draws by itself."""


MODEL = pb.Model("shared-shares", program, takes="labels", family=SharedShares())


def test_its_posterior_is_aggregated_and_evaluated():
    posterior = pb.aggregate(LABELS, MODEL, seed=1, **SETTINGS)
    means = posterior["posterior"]["plausibility"].mean(("chain", "draw")).values.reshape(6, 3)
    share = np.array([9, 6, 6]) / 21
    counts = np.array([[3, 0, 0], [2, 1, 0], [0, 0, 4], [1, 1, 0], [0, 3, 1], [2, 0, 0]])
    np.testing.assert_allclose(means, (share + counts) / (1 + counts.sum(1, keepdims=True)), atol=0.05)
    assert posterior["posterior"]["share"].sizes == {"chain": 2, "draw": 150, "true_class": 3}
    assert posterior.attrs["prior_from"] == "cases"
    results = pb.evaluate(posterior, {"A": np.eye(3)[counts.argmax(1)]}, metrics="top1_accuracy", progress=False)
    assert results["top1_accuracy"].mean() > 0.8


def test_it_comes_in_shards_and_is_compared_by_its_own_predictions(tmp_path):
    at_once = pb.aggregate(LABELS, MODEL, seed=1, **SETTINGS)
    in_shards = pb.aggregate(LABELS, MODEL, seed=1, out=tmp_path / "p.zarr", shard=2, **SETTINGS)
    for name in ("plausibility", "share"):
        np.testing.assert_allclose(in_shards["posterior"][name], at_once["posterior"][name], rtol=1e-6)
    assert case_names(in_shards).tolist() == case_names(at_once).tolist()
    compared = pb.compare_models(LABELS, {"mine": {"model": MODEL}, "dirichlet-categorical": (1,)}, progress=False)
    assert compared.pointwise["elpd"].notnull().all()
    assert "mine" in compared.verdict()


@dataclass(frozen=True)
class Described(SharedShares):
    """Says in its own words what it assumes, and how annotators answer."""

    def says(self, model):
        return replace(super().says(model), assumes="that shares are the mean of all cases")

    def replicate(self, posterior, annotations, settled):
        draws = posterior["posterior"]["plausibility"]
        shares = draws.values.reshape(draws.sizes["chain"], draws.sizes["draw"], -1, 3)[
            :, :, annotations.annotation_case
        ]
        random = np.random.default_rng(0).random((*shares.shape[:-1], 1))
        return (random > shares.cumsum(-1)[..., :-1]).sum(-1)


def test_what_it_assumes_is_no_true_class_and_its_answers_are_its_own(tmp_path):
    mine = pb.Model("described", program, takes="labels", family=Described())
    posterior = pb.aggregate(LABELS, mine, seed=1, out=tmp_path / "mine.nc", **SETTINGS)
    assert posterior.attrs["assumes"] == "that shares are the mean of all cases"
    scores = {"A": np.eye(3)[[0, 0, 2, 0, 1, 0]]}
    results = pb.evaluate(posterior, scores, metrics="top1_accuracy", progress=False)
    assert truths_in_words(results.attrs) == ("what most experts would name", "the experts' distribution")
    checked = pb.predictive_check(posterior, progress=False)
    assert (checked.table["status"][:3] == "reproduced").all()
    with pytest.raises(ArgumentError, match=r"shared-shares has labels .*function replicate"):
        pb.predictive_check(pb.aggregate(LABELS, MODEL, seed=1, **SETTINGS), progress=False)
    run = CliRunner(env={"COLUMNS": "160"}).invoke
    shown = run(app, ["check", str(tmp_path / "mine.nc")])
    assert shown.exit_code == 0, shown.output
    shown = run(app, ["diagnose", str(tmp_path / "mine.nc")])
    assert shown.exit_code == 0, shown.output


def test_a_family_that_does_not_say_how_annotators_answer_is_not_compared():
    class Silent(SharedShares):
        def leave_out(self, annotations, settled, fold, *, progress):
            return None

    silent = {"model": pb.Model("silent", program, takes="labels", family=Silent())}
    with pytest.raises(ArgumentError, match="silent cannot be compared, because its family does not say"):
        pb.compare_models(LABELS, {"silent": silent, "dirichlet-categorical": (1,)}, progress=False)


def test_what_it_does_not_accept_is_refused():
    with pytest.raises(AnnotationError, match="shares need two cases"):
        pb.aggregate(LABELS.select([0]), MODEL, **SETTINGS)
    with pytest.raises(ArgumentError, match="has the engines auto, exact"):
        pb.aggregate(LABELS, MODEL, engine="nuts", **SETTINGS)
    prior = PredictionsPrior.learn(LABELS, Evidence.of(None, LABELS), draws=10, seed=0)
    with pytest.raises(ArgumentError, match="no prior of plausibilities"):
        pb.aggregate(LABELS, MODEL, class_prior=prior, **SETTINGS)

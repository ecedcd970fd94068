"""Whether what cases share lets a case count as converged, and chains in processes of their own."""

import time

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base import pools as _pools
from plausibly.base.arviz import to_groups
from plausibly.base.pools import in_processes
from plausibly.base.progress import Progress
from plausibly.families import SharedDraws
from plausibly.inference import chains

NAMES = {"annotator": np.array(["ann", "bob"])}


def shared(of_bob, of_all):
    """Draws of a quantity of each of two annotators, of whom ann's are independent, and of a common one."""
    random = np.random.default_rng(0)
    own = np.stack([random.standard_normal(of_bob.shape), of_bob], axis=-1)
    with Progress(False) as bars:
        return SharedDraws.of({"own": own, "all": of_all}, {"own": ("annotator",), "all": ()}, NAMES, progress=bars)


def sticky(stay, apart=0.0):
    """Four chains of an autoregression, of which one is so far from the others."""
    random = np.random.default_rng(1)
    draws = np.zeros((4, 250))
    at = random.standard_normal(4)
    for number in range(250):
        at = stay * at + np.sqrt(1 - stay**2) * random.standard_normal(4)
        draws[:, number] = at
    return draws + apart * np.array([1, 0, 0, 0])[:, None]


def converged(draws):
    """Of one case by each annotator."""
    return draws.converged(np.array([0, 1]), np.array([0, 1]), 2).tolist()


def test_a_case_rests_on_an_annotator_whose_chains_agree_though_they_move_slowly():
    still = sticky(0.0)
    slow = shared(sticky(0.6), still)
    assert 100 < float(slow.judged["ess_bulk"].sel(quantity="own of bob")) < 400
    assert not slow.judged["converged"].sel(quantity="own of bob")
    assert converged(slow) == [True, True]
    assert converged(shared(sticky(0.97), still)) == [True, False]
    assert converged(shared(sticky(0.0, apart=1.0), still)) == [True, False]
    assert converged(shared(still, sticky(0.97))) == [False, False]


class Slow:
    """Something of which it takes a while to send what it is."""

    value = "before"

    def __getstate__(self):
        time.sleep(0.2)
        return {"value": self.value}


def value_of(thing):
    print("to the screen")
    return thing.value


@pytest.mark.slow
def test_other_processes_return_what_functions_do_of_what_they_were_sent_or_nothing():
    thing = Slow()
    with in_processes(value_of, [(thing,), (None,)]) as found:
        thing.value = "meanwhile"
        assert [one.result() for one in found] == ["before", None]


LABELS = [["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]] * 9
SCORES = pd.DataFrame(
    [
        (case, rater, (label == "a") + number % 2)
        for case, labels in enumerate(LABELS)
        for number, (rater, label) in enumerate(zip(["ann", "bob", "cy"], labels, strict=True))
    ],
    columns=["case", "annotator", "score"],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "options", "site", "fails"),
    [
        (pb.Annotations.from_labels(LABELS, annotators=["ann", "bob", "cy"]), {"model": "one-coin"}, "accuracy", True),
        (
            pb.Annotations.from_scores(SCORES),
            {"model": "normal-scores", "raters": "differ", "threshold": 0.5},
            "severity",
            False,
        ),
    ],
    ids=["labels", "ratings"],
)
def test_chains_in_other_processes_are_those_of_this_one(monkeypatch, data, options, site, fails):
    settings = {"draws": 5, "chains": 3, "warmup": 5, "seed": 0, "progress": False} | options
    with pytest.warns(pb.ConvergenceWarning):
        here = pb.aggregate(data, **settings)
    monkeypatch.setattr(chains, "_MANY", 0)
    monkeypatch.setattr(chains, "n_processes", lambda most: 2)
    if fails:
        monkeypatch.setattr(_pools, "_PROGRAM", "raise SystemExit(1)")
    with pytest.warns(pb.ConvergenceWarning):
        there = pb.aggregate(data, **settings)
    for name in ("plausibility", site):
        np.testing.assert_array_equal(here["posterior"][name].values, there["posterior"][name].values)
    assert to_groups(here)["shared_convergence"].equals(to_groups(there)["shared_convergence"])

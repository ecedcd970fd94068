"""Draws and tables equal to recorded ones: for every model, engine and prior, and for the tables of results.

The other tests say whether numbers are right. This one says whether a change that should not touch them did. Recorded
numbers are compared with a tolerance, because another processor adds up in another order. A change that means to change
numbers records them again, ``python -m tests.unchanged``, and its message says which and why.

It takes five minutes, and another processor can send a chain elsewhere, so it's no part of the suite: run
``pytest tests/unchanged.py`` before and after a change of structure. Its tests are marked as slow, and compile
with all optimisations, under which the numbers were recorded.
"""

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # NUTS depends on how programs are compiled, which is to be as in the tests
    import tests.conftest  # noqa: F401

    os.environ["XLA_FLAGS"] = os.environ["OPTIMISED_XLA_FLAGS"]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.families.model import Model
from plausibly.posterior import LIKELIHOODS

RECORDED = Path(__file__).with_suffix(".json")
CLASSES = ["eczema", "naevus", "psoriasis", "melanoma", "wart"]
FIRST = [[0, 0, 1, 0], [1, 1, 1, 3], [2, 0, 2, 2], [3, 3, 1, 3], [4, 4, 4, 4], [0, 2, 0, 2], [1, 3, 3, 3], [2, 2, 4, 2]]
PEOPLE = ["e0", "e1", "e2", "e3"]
CASES = [f"case {at}" for at in range(len(FIRST))]
SIZES: dict[str, Any] = {"draws": 6, "chains": 2, "warmup": 12, "seed": 0, "progress": False}
TOLERANCE = 2e-3


@cache
def labels() -> pb.Annotations:
    """Single labels of four named annotators."""
    rows = [
        (case, PEOPLE[of], CLASSES[at]) for case, row in zip(CASES, FIRST, strict=True) for of, at in enumerate(row)
    ]
    return pb.Annotations.from_table(pd.DataFrame(rows, columns=["case", "annotator", "class"]), classes=CLASSES)


@cache
def rankings() -> pb.Annotations:
    """Partial rankings of one to three classes, some of them tied."""
    lists = {}
    for at, (case, row) in enumerate(zip(CASES, FIRST, strict=True)):
        tied = [[[CLASSES[first]], [CLASSES[(first + 1 + at % 2) % 5], CLASSES[(first + 3) % 5]]] for first in row[1:]]
        lists[case] = dict(zip(PEOPLE, [[[CLASSES[row[0]]]], *tied], strict=True))
    return pb.Annotations.from_rankings({"classes": CLASSES, "cases": lists})


@cache
def scores() -> pb.Scores:
    """Ratings from 1 to 5 of four annotators."""
    rows = [(case, PEOPLE[of], 1 + at) for case, row in zip(CASES, FIRST, strict=True) for of, at in enumerate(row)]
    return pb.Annotations.from_scores(
        pd.DataFrame(rows, columns=["case", "annotator", "score"]), classes=["low", "high"]
    )


@cache
def predictions(n_classes: int = 5) -> dict[str, np.ndarray]:
    """Probabilities of two classifiers, one of them better."""
    random = np.random.default_rng(1)
    shares = np.array([np.bincount(row, minlength=5) for row in FIRST]) + 0.5
    if n_classes == 2:
        shares = np.stack([shares[:, :3].sum(1), shares[:, 3:].sum(1)], axis=1)
    good, bad = shares * random.gamma(8, size=shares.shape), shares + random.gamma(0.5, 8, size=shares.shape)
    return {name: given / given.sum(1, keepdims=True) for name, given in {"good": good, "bad": bad}.items()}


ANNOTATIONS = {"labels": labels, "rankings": rankings, "scores": scores}


def runs() -> Iterator[tuple[str, Model, dict[str, Any]]]:
    """Every model with each of its engines, and with each of its options under the engine that is chosen for it."""
    for name, model in pb.models.MODELS.items():
        for engine in model.engines:
            slow = model.family is not None and engine == "nuts"
            yield f"{name}, {engine}", model, {"engine": engine} | ({"draws": 4, "warmup": 4} if slow else {})
        for option, values in model.options.items():
            for value in values[1:]:
                yield f"{name}, {option}={value}", model, {option: value}
        if model.gibbs:
            yield f"{name}, exact where possible", model, {"reliability": 2}
            yield f"{name}, nuts, learned", model, {"engine": "nuts", "class_prior": "learned"}


def posterior(model: str | Model, **given: Any) -> Any:
    """Posterior of a model; of short chains, so that they need not have converged."""
    declared = pb.models.MODELS[model] if isinstance(model, str) else model
    if given.get("class_prior") == "predictions":
        given["predictions"] = predictions()
    if declared.of_scores:
        given["threshold"] = 3
    of_chains = set(SIZES)
    if declared.deterministic:
        of_chains -= {"draws", "chains", "warmup"}
    elif declared.exact and given.get("engine") != "nuts":
        of_chains -= {"warmup"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {name: SIZES[name] for name in of_chains}
        return pb.aggregate(ANNOTATIONS[declared.takes](), declared, **(sizes | given))


def digest(result: Any) -> dict[str, list[float]]:
    """Size, mean, spread, first and last number of everything numeric in a result, by name."""
    if isinstance(result, xr.Dataset):
        parts = {str(name): variable.values for name, variable in result.data_vars.items()}
    elif isinstance(result, pd.DataFrame):
        parts = {str(name): column.to_numpy() for name, column in result.reset_index().items()}
    elif isinstance(result, dict):
        parts = result
    else:
        parts = vars(result) if hasattr(result, "__dict__") else {"": result}
    found = {}
    for name, values in sorted(parts.items()):
        if isinstance(values, xr.Dataset | pd.DataFrame):
            found |= {f"{name}/{of}": numbers for of, numbers in digest(values).items()}
        elif np.asarray(values).dtype.kind in "fiub":
            numbers = np.asarray(values, float).ravel()
            real = numbers[np.isfinite(numbers)]
            of = [real.mean(), real.std(), real[0], real[-1]] if len(real) else []
            found[name] = [len(numbers), *(float(f"{one:.6g}") for one in of)]
    return found


def digest_of_posterior(posterior: Any) -> dict[str, list[float]]:
    """The same of the groups that hold draws and what they were drawn from."""
    groups = "posterior", *LIKELIHOODS, "constant_data"
    there = [group for group in groups if group in (getattr(posterior, "children", None) or posterior.groups())]
    made = {group: getattr(posterior[group], "to_dataset", lambda group=group: posterior[group])() for group in there}
    return digest({group.removeprefix("pseudo_"): of for group, of in made.items()})


RUNS = {name: (model, given) for name, model, given in runs()}


def tables() -> dict[str, Any]:
    """Results that are computed from annotations and posteriors, as tables."""
    label, ranking, given = labels(), rankings(), predictions()
    seeded = {"seed": 0, "progress": False}
    of_labels = posterior("dirichlet-categorical", draws=200)
    of_rankings = posterior("prirn", draws=200)
    one_truth = posterior("one-coin", draws=100)
    informed = posterior("dirichlet-categorical", class_prior="predictions", draws=200)
    named = list(zip(CASES, [CLASSES[row[0]] for row in FIRST], strict=True))
    by = {"site": ["north", "south"] * 4}
    every = {"metrics": ["lists", "classes", "probability", "curves"], "clusters": np.repeat(range(4), 2), "by": by}
    made = {
        "evaluate": pb.evaluate(of_labels, given, **every, **seeded),
        "evaluate rankings": pb.evaluate(of_rankings, given, risks=[0, 0, 0, 1, 0], **seeded),
        "evaluate one truth": pb.evaluate(one_truth, given, **seeded),
        "evaluate informed": pb.evaluate(informed, given, **seeded),
        "evaluate experts": pb.evaluate(of_labels, given, truth="annotator", **seeded),
        "evaluate panels": pb.evaluate(of_labels, given, truth="panel", panel=3, **seeded),
        "panels": pb.evaluation.panels(label, given, seed=0),
        "plan": pb.plan(of_labels, given, budget=4, **seeded).table,
        "compare": pb.compare_models(label, {"dirichlet-categorical": (1,), "prirn": (10,)}, draws=100, **seeded),
        "compare rankings": pb.compare_models(ranking, {"prirn": (10, 30)}, draws=100, **seeded),
        "predictive check": pb.predictive_check(of_labels, replicates=20, **seeded).table,
        "prior sensitivity": pb.prior_sensitivity(label, given, {"prirn": (10,)}, draws=50, **seeded),
        "diagnose": pb.diagnose(one_truth, progress=False),
        "agreement": pb.agreement.agreement(label, progress=False),
        "discrepancy": pb.agreement.discrepancy_ratio(label, {"model": named}, progress=False),
        "judge": pb.agreement.judge(
            label, {"model": named}, distance="nominal", draws=20, warmup=20, replicates=50, **seeded
        ),
        "coverage": pb.conformal_coverage(of_labels, given, alpha=0.2, splits=20, **seeded),
        "annotators": pb.annotators.annotator_agreement(label),
    }
    return made


def recorded(what: str) -> dict[str, dict[str, list[float]]]:
    """What was recorded of posteriors or of tables."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))[what]


def check(name: str, now: Mapping[str, list[float]], before: Mapping[str, list[float]]) -> None:
    """Compare a digest with what was recorded, and name what differs."""
    assert now.keys() == before.keys(), f"{name}: other variables"
    for variable, numbers in before.items():
        np.testing.assert_allclose(
            now[variable], numbers, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"{name}: {variable} has changed"
        )


@pytest.fixture(autouse=True)
def optimised(monkeypatch):
    """Compile programs of the engines with their own options."""
    monkeypatch.setenv("XLA_FLAGS", os.environ["OPTIMISED_XLA_FLAGS"])


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_posteriors_are_unchanged(name):
    model, given = RUNS[name]
    check(name, digest_of_posterior(posterior(model, **given)), recorded("posteriors")[name])


@pytest.mark.slow
def test_tables_are_unchanged():
    before = recorded("tables")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        now = {name: digest(table) for name, table in tables().items()}
    assert now.keys() == before.keys()
    for name, of in now.items():
        check(name, of, before[name])


def test_every_model_is_recorded():
    assert set(recorded("posteriors")) == set(RUNS)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    made = {name: digest_of_posterior(posterior(model, **given)) for name, (model, given) in RUNS.items()}
    written = {"posteriors": made, "tables": {name: digest(table) for name, table in tables().items()}}
    RECORDED.write_text(json.dumps(written) + "\n", encoding="utf-8")

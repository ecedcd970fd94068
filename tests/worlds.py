"""Canonical posteriors, sweeps and results that tests read instead of sampling their own.

Each is made once per version of the source and found by every worker and every later run: it is pickled into a folder
of the user's cache under a digest of the source of the package and of this file. Whoever reads one must not change it.

    from tests import worlds
    posterior = worlds.labels().posterior

* `rankings`: 24 cases, 6 classes of three risks, differential diagnoses; `prirn`, exact draws.
* `labels`, `labels_of_three`: 60 cases, 3 named annotators, 2 or 3 classes; `dirichlet-categorical`.
* `informed`: the labels of three classes, whose posterior knows the predictions.
* `counts`: 24 cases of two classes with a closed form; `dirichlet-categorical` with 4,000 draws, no results.
* `swept_labels`, `swept_labels_of_three`: sweeps of labels by site, that of two classes with clusters.
* `marked`: a sweep of eight cases whose names hold markup; the last is undecided and probably of high risk.
* `page_of_marked`, `page_of_labels`: reports on these sweeps, drawn whole.
* `curves_of_two`, `curves_of_three`: results with curves and confusion matrices.
* `plan`: what `pb.plan` returns of `counts`; `crowd`: what `judge` returns of five annotators and three models.
* `study`: files of a simulated study by their names, `write_study(folder)` to write them.
"""

import fcntl
import hashlib
import os
import pickle
import shutil
import sys
import time
from collections.abc import Callable
from functools import cache, wraps
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
#: Where tests keep compiled programs and worlds; PLAUSIBLY_TEST_CACHE names another folder.
CACHE = Path(
    os.environ.get("PLAUSIBLY_TEST_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plausibly-tests"
)


@cache
def source_digest() -> str:
    """Digest of the package's source, of this file, and of the libraries whose objects are pickled."""
    libraries = [f"{name} {version(name)}" for name in ("arviz", "jax", "numpy", "pandas", "xarray")]
    digest = hashlib.sha256(Path(__file__).read_bytes() + repr((sys.version_info[:2], libraries)).encode())
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "models").glob("*.py")]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def forget_old(folder: Path) -> None:
    """Remove worlds of other versions of the source that were not used for two days."""
    for old in folder.glob("*"):
        if time.time() - old.stat().st_mtime > 2 * 86400:
            shutil.rmtree(old, ignore_errors=True)


def world(make: Callable[[], T]) -> Callable[[], T]:
    """A function without arguments whose result is made once, by whichever process is first."""

    @cache
    @wraps(make)
    def found() -> Any:
        folder = CACHE / "worlds" / source_digest()
        if not folder.exists():
            forget_old(folder.parent)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{make.__name__}.pickle"
        os.utime(folder)
        with (folder / f"{make.__name__}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                made = make()
                apart = path.with_suffix(f".{os.getpid()}")
                apart.write_bytes(pickle.dumps(made))
                apart.replace(path)
        return pickle.loads(path.read_bytes())

    return found


class World(NamedTuple):
    """Annotations and all that was made of them."""

    annotations: Any
    predictions: dict[str, np.ndarray]
    posterior: Any
    results: xr.Dataset | None = None


EXACT = {"draws": 50, "chains": 4, "seed": 0, "progress": False}
EVALUATE = {"replicates": 200, "progress": False}
RISKS = [0, 0, 1, 1, 2, 2]  #: of the six classes of `rankings`
SITE = np.array(["north", "south"])[np.arange(60) % 2]  #: of the sixty cases of labels
PATIENT = np.arange(60) // 2
COUNTS = np.array([(1, 0), (1, 1), (2, 0), (2, 1), (3, 1), (5, 0), (4, 4), (0, 3)] * 3)  #: labels of a and of b


@world
def rankings() -> World:
    simulated = pb.datasets.simulate_differentials(24, n_classes=6, seed=0)
    annotations = simulated.annotations
    predictions = pb.datasets.simulate_classifiers(simulated.plausibilities, {"A": 0.9, "B": 0.5}, seed=0)
    posterior = pb.aggregate(annotations, "prirn", reliability=10, **EXACT)
    results = pb.evaluate(posterior, predictions, risks=RISKS, k=(1, 3), **EVALUATE)
    return World(annotations, predictions, posterior, results)


@cache
def labelled(n_classes: int) -> tuple[Any, dict[str, np.ndarray]]:
    """Labels of 60 cases by three annotators, and probabilities of two classifiers, of which A sees more."""
    random = np.random.default_rng(0)
    logits = 1.5 * random.normal(size=(60, n_classes)) + np.linspace(1, 0, n_classes)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = list("abc")[:n_classes]
    labels = [random.choice(classes, 3, p=of).tolist() for of in shares]
    seen = [np.exp(logits + noise * random.normal(size=logits.shape)) for noise in (0.5, 1.5)]
    predictions = {name: of / of.sum(axis=1, keepdims=True) for name, of in zip("AB", seen, strict=True)}
    cases = [f"p{i:02}" for i in range(60)]
    annotators = ["ann", "bob", "cy"]
    return pb.Annotations.from_labels(labels, classes, cases, annotators=annotators), predictions


def of_labels(n_classes: int, **given: Any) -> World:
    annotations, predictions = labelled(n_classes)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", **given)
    return World(annotations, predictions, posterior, pb.evaluate(posterior, predictions, **EVALUATE))


@world
def labels() -> World:
    return of_labels(2, reliability=1, **EXACT)


@world
def labels_of_three() -> World:
    return of_labels(3, reliability=1, **EXACT)


@world
def informed() -> World:
    return of_labels(3, reliability=1, class_prior="predictions", predictions=labelled(3)[1], **EXACT)


@world
def counts() -> World:
    labels = [["a"] * a + ["b"] * b for a, b in COUNTS]
    annotations = pb.Annotations.from_labels(labels, classes=["a", "b"])
    posterior = pb.aggregate(annotations, "dirichlet-categorical", **EXACT | {"draws": 1000})
    random = np.random.default_rng(0)
    predictions = {name: random.dirichlet((1, 1), len(COUNTS)) for name in "AB"}
    return World(annotations, predictions, posterior)


@world
def swept_labels() -> Any:
    model = {"model": "dirichlet-categorical", "reliability": 1}
    models = {"rec": model | {"class_prior": "predictions"}, "alone": model}
    options = {"clusters": PATIENT, "by": {"site": SITE}, "draws": 50} | EVALUATE
    return pb.sweep(*labelled(2), models, **options)


@world
def swept_labels_of_three() -> Any:
    model = {"model": "dirichlet-categorical", "reliability": 1, "class_prior": "predictions"}
    with pytest.MonkeyPatch.context() as patch:
        # The sweep of two classes has it, and it takes a third of the time.
        patch.setattr("plausibly.aggregation.sweeps._plan.Plan._freed", lambda *_: None)
        return pb.sweep(*labelled(3), {"rec": model}, by={"site": SITE}, draws=50, **EVALUATE)


EVIL = "<script>alert('x')</script>"
MARKED = [EVIL, "b", "c & d"]  #: classes of `marked`


@world
def marked() -> Any:
    a, b, c = MARKED
    labels = [[a, a]] * 2 + [[b, b, b]] * 5 + [[a, c, c]]
    annotations = pb.Annotations.from_labels(labels, MARKED, [f"{EVIL} {i}" for i in range(8)])
    random = np.random.default_rng(1)
    given = {name: random.random((8, 3)) for name in ("A", "B & <b>")}
    options = {"risks": [0, 0, 2], "k": (1, 3), "draws": 20, "seed": 2, "progress": False}
    return pb.sweep(annotations, given, {"prirn": (10, 30), "irn": None}, **options)


@world
def page_of_marked() -> str:
    from plausibly.app.report import render

    return render(marked(), {"annotations": EVIL})


@world
def page_of_labels() -> str:
    from plausibly.app.report import render

    return render(swept_labels())


@world
def curves_of_two() -> xr.Dataset:
    return pb.evaluate(labels().posterior, labels().predictions, metrics=["curves", "auroc"], **EVALUATE)


@world
def curves_of_three() -> xr.Dataset:
    of = labels_of_three()
    return pb.evaluate(of.posterior, of.predictions, metrics=["curves", "auroc"], **EVALUATE)


@world
def plan() -> Any:
    return pb.plan(counts().posterior, counts().predictions, budget=12, progress=False)


@world
def study() -> dict[str, bytes]:
    from plausibly.app.cli._simulate import write_simulation

    with TemporaryDirectory() as folder:
        write_simulation(Path(folder), cases=12, classes=6, reliability=1.0, qualities=[0.9, 0.5], seed=0)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def write_study(folder: Path) -> Path:
    """Write the files of `study` into a folder."""
    for name, content in study().items():
        (folder / name).write_bytes(content)
    return folder


def table(said, classes="abc"):
    """Long table of an array (case, annotator); −1 is missing."""
    rows = [
        (f"c{case:03}", f"a{who}", classes[label])
        for case, own in enumerate(said)
        for who, label in enumerate(own)
        if label >= 0
    ]
    return pd.DataFrame(rows, columns=["case", "annotator", "label"])


def answers(said, classes="abc"):
    return {f"c{case:03}": classes[label] for case, label in enumerate(said)}


def noisy(random, truth, accuracy, n_classes=3, size=()):
    """Labels that are right with a probability, and else another class."""
    wrong = (truth[(..., *[None] * len(size))] + random.integers(1, n_classes, (len(truth), *size))) % n_classes
    return np.where(random.random(wrong.shape) < accuracy, truth[(..., *[None] * len(size))], wrong)


@world
def crowd() -> tuple:
    """Labels by five annotators who are right in 80 %, answers of models, and the judgement of these.

    The models are about as good, bad, or copy one of the annotators.
    """
    random = np.random.default_rng(3)
    truth = random.integers(3, size=240)
    said = noisy(random, truth, 0.8, size=(5,))
    copy = np.where(random.random(240) < 0.96, said[:, 2], 0)
    models = {"expert": noisy(random, truth, 0.88), "bad": noisy(random, truth, 0.45), "copy": copy}
    frame = table(said)
    frame["site"] = frame["case"].str[1:].astype(int).map(lambda i: "north" if i < 180 else "south")
    frame["ward"] = frame["case"].str[1:].astype(int).map(lambda i: i % 2)
    frame["role"] = frame["annotator"].map(lambda name: "nurse" if name in ("a0", "a1") else "doctor")
    named = {name: answers(own) for name, own in models.items()}
    options = {"model": "one-coin", "draws": 250, "warmup": 100, "chains": 2, "replicates": 200, "progress": False}
    by = ["site", "ward", "role"]
    return frame, named, pb.agreement.judge(frame, named, by=by, intersections=True, **options)


def outcomes(kind: str, *, seed: int = 0, cases: int = 40, own: float = 0.8) -> pd.DataFrame:
    """Three systems, two people and two judges, one of which favours a system."""
    random = np.random.default_rng(seed)
    systems, rows = ["A", "B", "C"], []
    quality = dict(zip(systems, random.normal([[1.3], [0.5], [-0.1]], 1.2, (3, cases)), strict=True))
    noise = {"ann": 1.0, "bob": 1.0, "gpt": 0.6, "llama": 0.6}
    for case in range(cases):
        for rater, sd in noise.items():
            if rater in ("ann", "bob") and case >= cases // 2:
                continue
            seen = {name: quality[name][case] + random.logistic(0, sd) for name in systems}
            seen["C"] += own * (rater == "gpt")
            if kind == "pairs":
                for a, b in (("A", "B"), ("C", "A")):
                    apart = seen[a] - seen[b]
                    said = "tie" if abs(apart) < 0.7 else "a" if apart > 0 else "b"
                    rows.append({"system_a": a, "system_b": b, "case": case, "rater": rater, "outcome": said})
                continue
            for name, value in seen.items():
                said = value > 0 if kind == "pass" else int(np.clip(round(3 + value), 1, 5))
                rows.append({"system": name, "case": case, "rater": rater, "outcome": said})
    return pd.DataFrame(rows)

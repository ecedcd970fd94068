"""A small posterior made by hand, and classifiers."""

from types import SimpleNamespace

import numpy as np
import pytest

import plausibly as pb
from plausibly.data.annotations import Slots
from plausibly.posterior import build_posterior


def make(n=40, n_classes=5, n_draws=6, seed=0, share=None, **attrs):
    """Cases with one to four annotators who name some of the classes, and draws that need not fit them."""
    random = np.random.default_rng(seed)
    rankings = []
    for _ in range(n):
        case = []
        for _ in range(random.integers(1, 5)):
            named = random.permutation(n_classes)[: random.integers(1, 4)]
            cut = random.integers(1, len(named) + 1)
            case.append([named[:cut].tolist(), *[[k] for k in named[cut:].tolist()]])
        rankings.append(case)
    classes = [f"c{k}" for k in range(n_classes)]
    annotations = pb.Annotations.from_rankings(rankings, classes=classes)
    slots = Slots.of(annotations)
    draws = random.gamma(0.7, size=(1, n_draws, len(slots)))
    draws /= np.add.reduceat(draws, slots.start[:-1], axis=2)[..., slots.case]
    if share is not None:
        attrs["class_prior_shape"] = share
    posterior = build_posterior(draws, annotations, slots, point=draws[0].mean(axis=0), concentration=1.0, attrs=attrs)
    predictions = {name: random.dirichlet(np.full(n_classes, 0.6), n) for name in "AB"}
    return SimpleNamespace(
        share=np.ones(n_classes) if share is None else np.array(share),
        annotations=annotations,
        posterior=posterior,
        predictions=predictions,
        slots=slots,
        draws=draws[0],
        n=n,
    )


@pytest.fixture(scope="session")
def small():
    return make()


def dense_weights(data, target):
    """(case, class), by loops: posterior mean with the remainder shared; first choices; votes."""
    n_classes = data.annotations.n_classes
    out = np.zeros((data.n, n_classes))
    if target == "plausibility":
        means = np.float32(data.draws).astype(float).mean(axis=0)
        for i in range(data.n):
            own = range(data.slots.start[i], data.slots.start[i + 1])
            named = [data.slots.class_index[j] for j in own if data.slots.class_index[j] >= 0]
            for j in own:
                if data.slots.class_index[j] >= 0:
                    out[i, data.slots.class_index[j]] = means[j]
                else:
                    unnamed = [k for k in range(n_classes) if k not in named]
                    out[i, unnamed] = means[j] * data.share[unnamed] / data.share[unnamed].sum()
        return out / out.sum(axis=1, keepdims=True)
    names = data.annotations.classes.tolist()
    for i in range(data.n):
        rankings = data.annotations.rankings(i).values()
        for blocks in rankings:
            for name in blocks[0]:
                out[i, names.index(name)] += 1 / len(blocks[0]) / len(rankings)
    if target == "vote":
        won = out >= out.max(axis=1, keepdims=True) - 1e-9
        return won / won.sum(axis=1, keepdims=True)
    return out

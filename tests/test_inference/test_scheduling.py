"""What seats do with cases: each is computed once, and nobody waits for those that have none yet."""

import threading
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausibly.base.progress import Progress
from plausibly.base.random_streams import case_keys
from plausibly.inference._scheduling import Seated, run_seats

N = 200


class Shape(tuple):
    def cost(self):
        return 1


def chunks(name, seen=lambda at: None):
    """Cases that count themselves down from their number; ``seen`` hears which cases have a seat at every call."""

    def build(example):
        def advance(state, data, keys, fresh, wanted):
            left = jnp.where(fresh, data % 7 + 1, state)
            left = jax.lax.while_loop(lambda x: (x <= 0).sum() < wanted, lambda x: x - 1, left)
            return left, left <= 0, data**2

        return Seated(lambda n: jnp.zeros(n, jnp.int32), advance)

    def inputs(bucket, at):
        seen(at)
        return jnp.asarray(at, jnp.int32)

    bucket = SimpleNamespace(shape=Shape((1,)), cases=np.arange(N))
    keys = case_keys(0, [str(i) for i in range(N)])
    return run_seats(build, inputs, [bucket], keys, name=(name, object()), progress=Progress(False), doing="Counting")


def test_every_case_comes_back_once_or_what_its_thread_raises():
    found = {}
    for chunk in chunks("whole"):
        assert not found.keys() & set(chunk.at.tolist())
        found |= dict(zip(chunk.at.tolist(), chunk.result.tolist(), strict=True))
    assert found == {i: i**2 for i in range(N)}

    def fail(at):
        if at.max() > 100:
            raise RuntimeError("no such case")

    with pytest.raises(RuntimeError, match="no such case"):
        list(chunks("fails", fail))


def test_who_leaves_early_does_not_wait_for_the_rest(monkeypatch):
    monkeypatch.setattr("plausibly.base.compute.os.cpu_count", lambda: 1)
    ran: set[int] = set()
    go = threading.Event()

    def seen(at):
        # The first call is for compiling, the second computes the chunk that the test asks for.
        if len(calls) > 1:
            go.wait()
        calls.append(at)
        ran.update(at.tolist())

    calls: list[np.ndarray] = []
    running = chunks("early", seen)
    next(running)
    threading.Timer(1, go.set).start()
    running.close()
    assert len(ran) < N / 2

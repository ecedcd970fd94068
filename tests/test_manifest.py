"""What a function is known by: its code and all that it is made of, not its name."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausibly.errors import PlausiblyWarning
from plausibly.fingerprint import _manifest
from plausibly.fingerprint._manifest import code_digest, data_digest

FACTOR = 2.0


def helper(x):
    return x + 1


def make(power, table=None):
    def metric(scores, plausibility, scale=1.0):
        return scale * jnp.sum(jnp.abs(helper(scores) - FACTOR * plausibility) ** power) + (0 if table is None else 1)

    return metric


class Callable:
    def __init__(self, power):
        self.power = power

    def __call__(self, scores, plausibility):
        return jnp.sum(scores - plausibility) ** self.power


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, lambda f: functools.partial(f, scale=2.0)])
def test_the_same_code_is_the_same(wrap):
    assert code_digest(wrap(make(2)), "f") == code_digest(wrap(make(2)), "f")
    assert code_digest(wrap(make(2)), "f") != code_digest(wrap(make(3)), "f")


def test_what_is_captured_used_and_default_counts(monkeypatch):
    digests = [
        code_digest(make(2), "f"),
        code_digest(make(2, np.arange(3)), "f"),
        code_digest(make(2, np.ones(3)), "f"),
    ]
    digests += [code_digest(functools.partial(make(2), scale=2.0), "f"), code_digest(Callable(2), "f")]
    digests += [code_digest(Callable(3), "f")]
    for name, value in {"FACTOR": 3.0, "helper": lambda x: x + 2}.items():
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, value)
            digests.append(code_digest(make(2), "f"))
    assert len(set(digests)) == len(digests)


def test_names_and_places_do_not_count():
    programs = []
    for text in (
        "def f(x):\n    return x * 2",
        "\n\n# moved\ndef f(x):\n    return x * 2",
        "def f(x):\n    return x * 3",
    ):
        scope = {"__name__": "notebook"}
        exec(compile(text, "cell", "exec"), scope)
        programs.append(code_digest(scope["f"], "f"))
    assert programs[0] == programs[1] != programs[2]


def test_a_function_that_calls_itself_ends():
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    assert code_digest(factorial, "f") == code_digest(factorial, "f")


def test_what_cannot_be_known_is_said():
    lines = (line for line in "abc")
    with pytest.warns(
        PlausiblyWarning, match=r"of metric 'm' is not known .*: table, which make.<locals>.metric captures"
    ):
        text = code_digest(make(2, lines), "metric 'm'")
    assert "not known: table, which make.<locals>.metric captures (a generator)" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code_digest(make(2), "f")


def test_data_count_by_content_shape_and_type():
    values = [
        np.zeros(4),
        np.zeros((2, 2)),
        np.zeros(4, np.float32),
        np.ones(4),
        ["0"],
        [0],
        None,
        np.array(["a", None]),
    ]
    digests = [data_digest(value) for value in values]
    assert len(set(digests)) == len(values)
    assert digests == [data_digest(value) for value in values]
    assert data_digest({"a": 1}) != data_digest({"a": 2})


@pytest.mark.parametrize(
    "array", [np.arange(24.0).reshape(4, 6), np.arange(5), np.float32(1), np.empty((0, 3)), np.empty((3, 0))]
)
def test_pieces_of_an_array_leave_no_trace(monkeypatch, array):
    array = np.asarray(array)
    whole = data_digest(array)
    for piece in (1, 40):
        monkeypatch.setattr(_manifest, "_PIECE", piece)
        assert data_digest(array) == data_digest(np.asfortranarray(array).reshape(array.shape)) == whole
    if array.size:
        assert data_digest(array + 1) != whole

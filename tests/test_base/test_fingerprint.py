"""What data, a program and an environment are known by."""

import functools
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import plausibly as pb
from plausibly import models
from plausibly.base import fingerprint
from plausibly.base.errors import ArgumentError
from plausibly.base.fingerprint import Captured, code_digest, data_digest, processor, software, versions, versions_text
from plausibly.inference._batching import bucket_cases
from plausibly.inference.joint._density import make_group


def make(power, table=None):
    def metric(scores, plausibility, scale=1.0):
        return scale * jnp.sum(jnp.abs(scores - plausibility) ** power) + (0 if table is None else 1)

    return metric


class Callable:
    def __init__(self, power):
        self.power = power

    def __call__(self, scores, plausibility):
        return jnp.sum(scores - plausibility) ** self.power


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: functools.partial(f, scale=2.0)])
def test_the_same_code_is_the_same(wrap):
    assert code_digest(wrap(make(2)), "f") == code_digest(wrap(make(2)), "f")
    assert code_digest(wrap(make(2)), "f") != code_digest(wrap(make(3)), "f")


def test_captured_values_and_defaults_count():
    functions = [make(2), make(2, np.arange(3)), make(2, np.ones(3)), functools.partial(make(2), scale=2.0)]
    functions += [Callable(2), Callable(3)]
    assert len({code_digest(function, "f") for function in functions}) == len(functions)


def test_the_code_of_the_user_s_module_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for body in ("x * FACTOR", "x * FACTOR", "x + FACTOR"):
        (tmp_path / "mine.py").write_text(
            f"FACTOR = 2\ndef helper(x):\n    return {body}\ndef f(x):\n    return helper(x)\n"
        )
        importlib.invalidate_caches()
        sys.modules.pop("mine", None)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        found.append(code_digest(importlib.import_module("mine").f, "f"))
    sys.modules.pop("mine")
    assert found[0] == found[1] != found[2]


def test_a_notebook_s_file_and_annotations_do_not_count():
    programs = []
    for text, file in (("x * 2", "/tmp/ipykernel_1/2.py"), ("x * 2", "/tmp/ipykernel_30/2.py"), ("x * 3", "cell")):
        scope = {"__name__": "notebook"}
        exec(compile(f"def f(x):\n    return {text}", file, "exec"), scope)
        programs.append(code_digest(scope["f"], "f"))
    assert programs[0] == programs[1] != programs[2]
    programs = []
    for kind, by in (("int", 2), ("str", 2), ("int", 3)):
        scope = {"__name__": "notebook"}
        exec(f"class Scale:\n    by: {kind} = {by}\ndef f(x: {kind}):\n    return Scale.by * x", scope)
        programs.append(code_digest(scope["f"], "f"))
    assert programs[0] == programs[1] != programs[2]


PROGRAMS = """
import sys
from dataclasses import dataclass
import numpy as np
import scipy
from jaxtyping import Float
from plausibly.aggregation._variants import load_model
from plausibly.base.fingerprint import code_digest

@dataclass
class Scale:
    by: Float[np.ndarray, " slot"]
    def __call__(self, x):
        self.seen, self.last = x in {"a", "b", "c"}, x
        return x * self.by

def closure(scale):
    def program(case, reliability: Float[np.ndarray, ""] = 30.0):
        return scale(reliability) + scipy.io.wavfile.KNOWN_WAVE_FORMATS
    return program

if len(sys.argv) > 3:
    import scipy.io.wavfile  # as when the program has been called before
print(*(code_digest(load_model(path), path) for path in sys.argv[1:3]), code_digest(closure(Scale(np.ones(3))), "f"))
"""


@pytest.mark.slow
def test_other_processes_find_the_same_code(tmp_path):
    files = [tmp_path / f"my_{name}.py" for name in ("prirn", "plackett_luce")]
    for file in files:
        text = (Path(models.__file__).parent / file.name.removeprefix("my_")).read_text()
        file.write_text(text.replace('name="', 'name="my-'))
    found = []
    for seed, further in (("1", []), ("2", ["more"])):
        command = [sys.executable, "-c", PROGRAMS, *map(str, files), *further]
        made = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True)
        found.append(made.stdout.split() or made.stderr)
    assert found[0] == found[1]
    assert len(set(found[0])) == 3


def test_what_has_no_content_needs_a_version_and_is_unlike_itself():
    with pytest.raises(ArgumentError, match=r"the program f has no fingerprint.*version="):
        code_digest(make(2, (line for line in "abc")), "the program f")
    lines = (line for line in "abc")
    metric = make(2, lines)
    assert Captured(metric) != Captured(metric)
    assert Captured(scaled) == Captured(scaled)


def test_data_count_by_content_shape_and_type():
    values = [np.zeros(4), np.zeros((2, 2)), np.zeros(4, np.float32), np.ones(4), ["0"], [0], None]
    values += [np.array(["a", None]), {"a": 1}, {"a": 2}]
    digests = [data_digest(value) for value in values]
    assert len(set(digests)) == len(values)
    assert digests == [data_digest(value) for value in values]


@pytest.mark.parametrize("array", [np.arange(24.0).reshape(4, 6), np.float32(1), np.empty((0, 3)), np.empty((3, 0))])
def test_pieces_of_an_array_leave_no_trace(monkeypatch, array):
    array = np.asarray(array)
    whole = data_digest(array)
    monkeypatch.setattr(fingerprint, "_PIECE", 40)
    assert data_digest(np.asfortranarray(array).reshape(array.shape)) == whole
    if array.size:
        assert data_digest(array + 1) != whole


def test_the_processor_has_a_name_settings_are_those_in_force_and_versions_those_installed(float64, monkeypatch):
    assert processor().strip() == processor() != ""
    with float64(), jax.default_matmul_precision("float32"):
        inside = software()
    outside = software()
    changed = {name: (inside[name], outside[name]) for name in outside if inside[name] != outside[name]}
    assert changed == {"jax_enable_x64": ("True", "False"), "jax_default_matmul_precision": ("float32", "None")}
    found = versions()
    assert found["plausibly"] == pb.__version__
    assert found["jax"] == jax.__version__
    assert json.loads(versions_text()) == found
    monkeypatch.setattr(fingerprint, "PACKAGES", ("plausibly", "no-such-package"))
    assert versions() == {"plausibly": pb.__version__, "no-such-package": "none"}


HELPERS = {
    "from": ("from helper import scaled\ndef f(x):\n    return scaled(x)", True),
    "kept": ("import functools\nfrom helper import scaled\n@functools.cache\ndef f(x):\n    return scaled(x)", True),
    "of a class": (
        "from helper import scaled\nclass F:\n    def __call__(self, x):\n        return scaled(x)\nf = F()",
        True,
    ),
    "by name": ("import helper\ndef f(x):\n    return helper.scaled(x)", False),
    "inside": ("def f(x):\n    from helper import scaled\n    return scaled(x)", False),
}


@pytest.mark.parametrize(("text", "seen"), HELPERS.values(), ids=HELPERS)
def test_a_helper_counts_where_it_is_captured_and_not_where_its_module_is(tmp_path, monkeypatch, text, seen):
    """Whether the function's own module can be imported or not."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for factor in (2, 2, 3):
        (tmp_path / "helper.py").write_text(f"FACTOR = {factor}\ndef scaled(x):\n    return x * FACTOR\n")
        (tmp_path / "mine.py").write_text(text)
        for name in ("helper", "mine"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        scope = {"__name__": "cell"}
        exec(text, scope)
        found.append((code_digest(importlib.import_module("mine").f, "f"), code_digest(scope["f"], "f")))
    for name in ("helper", "mine"):
        sys.modules.pop(name, None)
    assert found[0] == found[1]
    assert (found[1] != found[2]) == seen
    assert all(before != now for before, now in zip(found[0], found[2], strict=True)) == seen


def test_functions_on_one_line_differ():
    first, second = lambda x: x + 1, lambda x: x + 2
    assert code_digest(first, "f") != code_digest(second, "f")


def test_the_source_of_the_package_counts(tmp_path, monkeypatch):
    (tmp_path / "planning").mkdir()
    (tmp_path / "planning" / "_program.py").write_text("1")
    before = fingerprint.source_digest.__wrapped__()
    assert before == software()["source"]
    monkeypatch.setattr(fingerprint, "_own_folders", lambda: (tmp_path,))
    first = fingerprint.source_digest.__wrapped__()
    (tmp_path / "planning" / "_program.py").write_text("2")
    assert len({before, first, fingerprint.source_digest.__wrapped__()}) == 3


def test_every_module_of_the_package_is_in_the_digest(monkeypatch):
    read = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or b"")
    fingerprint.source_digest.__wrapped__()
    loaded = [module for name, module in sys.modules.items() if name.partition(".")[0] == "plausibly"]
    assert {Path(str(module.__file__)).resolve() for module in loaded} <= {path.resolve() for path in read}


SCALE = {"by": 1.0}


def scaled(scores, plausibility):
    return SCALE["by"] * (scores @ plausibility)


def in_a_loop(scores, plausibility):
    """JAX keeps the body of a loop by its function alone."""
    return jax.lax.fori_loop(0, 1, step, scores @ plausibility)


def step(_, value):
    return SCALE["by"] * value


class Scaled:
    by = 1.0

    def __call__(self, scores, plausibility):
        return self.by * (scores @ plausibility)


@pytest.mark.slow
@pytest.mark.parametrize("function", [in_a_loop, Scaled()])
def test_a_changed_metric_is_computed_as_it_is_now(monkeypatch, function):
    labels = pb.Annotations.from_labels([["a"], ["b"]])
    posterior = pb.aggregate(labels, "prirn", draws=10, seed=0, progress=False)
    predictions = {"A": [[1.0, 0.0], [1.0, 0.0]]}
    found, by_draw = [], []
    for by in (1.0, 2.0, 1.0):
        monkeypatch.setitem(SCALE, "by", by)
        monkeypatch.setattr(Scaled, "by", by)
        results = pb.evaluate(posterior, predictions, metrics=[{"m": function}], replicates=0, progress=False)
        found.append(float(results["m"].mean()))
        by_draw.append(float(pb.metrics.per_draw(function, predictions["A"], [[[0.5, 0.5]] * 2]).mean()))
    assert found == pytest.approx([found[0], 2 * found[0], found[0]])
    assert by_draw == pytest.approx([0.5, 1.0, 0.5])


def program(case):
    numpyro.sample("plausibility", dist.Dirichlet(SCALE["by"] * case.concentration))


def update(plausibility, case):
    weights = (1.0 + jnp.arange(len(plausibility))) ** SCALE["by"]
    return weights / weights.sum()


@pytest.mark.slow
@pytest.mark.parametrize("model", [program, pb.Model("mine", program, deterministic=True, update=update)])
def test_a_changed_model_is_sampled_as_it_is_now(monkeypatch, model):
    labels = pb.Annotations.from_labels([["a", "a", "b"]], classes=list("abc"))
    found = []
    settings = {} if model is not program else {"draws": 400, "chains": 2, "warmup": 200}
    for by in (0.5, 50.0):
        monkeypatch.setitem(SCALE, "by", by)
        posterior = pb.aggregate(labels, model, seed=0, progress=False, **settings)
        found.append(np.sort(posterior["posterior"]["plausibility"].values, axis=None))
    assert np.abs(found[0] - found[1]).max() > 0.1


def test_a_changed_program_of_all_cases_is_another_one(monkeypatch):
    labels = pb.Annotations.from_labels([["a", "a", "b"]], classes=list("abc"))
    slots = pb.annotations.Slots.of(labels)
    (bucket,) = bucket_cases(labels, slots, np.ones(len(slots)))
    found = []
    for by in (1.0, 1.0, 2.0):
        monkeypatch.setitem(SCALE, "by", by)
        found.append(jax.tree.structure(make_group(program, bucket, None, 1)))
    assert found[0] == found[1] != found[2]

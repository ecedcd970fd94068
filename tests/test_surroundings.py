"""What results depend on beside data and arguments."""

import json
import platform

import jax
import pytest

import plausibly as pb
from plausibly.fingerprint import _environment as _surroundings
from plausibly.fingerprint._environment import describe, processor, software, surroundings, versions, versions_text


def test_versions_are_those_at_work():
    found = versions()
    assert found["plausibly"] == pb.__version__
    assert found["jax"] == jax.__version__
    assert json.loads(versions_text()) == found


def test_a_package_that_is_absent_is_none(monkeypatch):
    monkeypatch.setattr(_surroundings, "PACKAGES", ("plausibly", "no-such-package"))
    assert versions() == {"plausibly": pb.__version__, "no-such-package": "none"}


def test_settings_of_jax_are_those_in_force(float64):
    with float64(), jax.default_matmul_precision("float32"):
        inside = software()
    outside = software()
    changed = {name: (inside[name], outside[name]) for name in outside if inside[name] != outside[name]}
    assert changed == {"jax_enable_x64": ("True", "False"), "jax_default_matmul_precision": ("float32", "None")}


def test_surroundings_are_software_and_processor():
    assert surroundings() == software() | {"processor": processor()}
    assert processor().strip() == processor() != ""


def test_a_processor_without_a_description_is_its_kind(monkeypatch):
    monkeypatch.setattr(_surroundings, "describe", lambda text: "")
    _surroundings._machine.cache_clear()
    try:
        assert processor() == (platform.processor() or platform.machine())
    finally:
        _surroundings._machine.cache_clear()


def test_an_accelerator_stands_beside_the_processor(monkeypatch):
    class Device:
        def __init__(self, kind):
            self.device_kind, self.platform = kind, "gpu"

    both = [Device("H200"), Device("A100"), Device("H200")]
    zeros = type("Zeros", (), {"devices": lambda self: {both[0]}})
    monkeypatch.setattr(_surroundings.jnp, "zeros", lambda shape: zeros())
    monkeypatch.setattr(_surroundings.jax, "local_devices", lambda backend: both)
    monkeypatch.setattr(_surroundings, "_machine", lambda: "EPYC")
    assert processor() == "A100, H200 beside EPYC"
    with jax.default_device(jax.devices()[0]):
        assert processor() == "H200 beside EPYC"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("nothing of the kind", ""),
        ("model name\t: AMD EPYC\ncpu family : 25\nmodel : 1\nflags : fpu avx avx2 avx5\n", "AMD EPYC 25 1 (avx avx2)"),
        ("CPU implementer\t: 0x41\nCPU part : 0xd40\nFeatures : fp asimd sve\n", "0x41 0xd40 (sve)"),
    ],
)
def test_processors_are_described(text, words):
    assert describe(text) == words

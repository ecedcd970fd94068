"""Every harness of fuzz/ for a moment: on its seeds, and on seeds cut, changed and joined, always the same ones."""

from random import Random

import pytest

pytest.importorskip("fuzz", reason="fuzz/ is in the checkout and not in the wheel")

from fuzz.commands import COMMANDS
from fuzz.harness import HARNESSES, Finding, of_file, refused
from plausibly.base.errors import PlausiblyError

# Arrow and HDF5 are not asked what they make of damage: that is for the long form, which a crash does not take along.
BINARY = ("parquet", "posterior")


def damaged(seeds: list[bytes], words: tuple[str, ...], random: Random) -> bytes:
    """One of the seeds, with bytes changed, left out, put in from elsewhere or from the words, or cut."""
    content = bytearray(random.choice(seeds))
    for _ in range(random.randrange(1, 4)):
        at, to = sorted(random.randrange(len(content) + 1) for _ in range(2))
        kind = random.randrange(6)
        if kind == 0:
            content[at : at + 1] = bytes([random.choice([0, 10, 13, 34, 44, 123, 255, random.randrange(256)])])
        elif kind == 1:
            del content[at : min(to, at + 8)]
        elif kind == 2:
            content[at:at] = content[at:to]
        elif kind == 3:
            content[at:at] = random.choice(words).encode("utf-8", "surrogatepass") if words else b"\n"
        elif kind == 4:
            del content[at:]
        else:
            content[at:at] = random.choice(seeds)[:20]
    return bytes(content)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (at % 2)) for at, name in enumerate(HARNESSES)]
)
def test_readers_refuse_in_a_sentence_or_read_what_they_write(name):
    harness = HARNESSES[name]
    for seed in harness.seeds:
        harness.run(seed)
    random = Random(name)
    for _ in range(3 if name in BINARY else 10):
        content = damaged(harness.seeds, harness.words, random)
        if not name.endswith(BINARY):
            harness.run(content)
        elif (cut := content[: random.randrange(len(harness.seeds[0]))]) and harness.seeds[0].startswith(cut):
            harness.run(cut)


@pytest.mark.parametrize("seed", COMMANDS.seeds)
def test_commands_never_end_in_a_traceback(seed):
    COMMANDS.run(seed)
    random = Random(seed)
    COMMANDS.run(bytes([seed[0], *(random.randrange(256) for _ in range(random.randrange(7)))]))


def test_a_harness_finds_what_it_looks_for():
    """An error of another kind gets through to the fuzzer, and so does a refusal of two lines or without the place."""

    def fail(path):
        raise KeyError(path)

    with pytest.raises(KeyError):
        of_file("a.csv", fail, []).run(b"x")
    for text in ("two\nlines", "", "x" * 3000):
        with pytest.raises(Finding):
            refused(PlausiblyError(text))
    with pytest.raises(Finding, match=r"does not name a\.csv"):
        refused(PlausiblyError("something"), "a.csv")

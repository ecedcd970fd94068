"""``python -m fuzz NAME [MINUTES]``: one harness under atheris; without a name, the list of them."""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["plausibly.data", "plausibly.agreement"]):
    import plausibly  # noqa: F401

from fuzz.commands import COMMANDS
from fuzz.harness import HARNESSES, Harness
from plausibly.data.annotations import _rows

# Counts may stand for ten million named classes, whose gigabytes are no finding; with fewer, their limit is met sooner.
_rows.MOST, _rows.MOST_EACH = 10**5, 10

EVERY: dict[str, Harness] = {**HARNESSES, "commands": COMMANDS}


def main() -> None:
    """Run a harness until it finds something or the time is over."""
    if len(sys.argv) < 2:
        print("\n".join(EVERY))
        return
    name, minutes = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    harness = EVERY[name]
    folder = Path(tempfile.mkdtemp(prefix=f"plausibly-fuzz-{name}-"))
    corpus, words = folder / "corpus", folder / "words.txt"
    corpus.mkdir()
    for number, seed in enumerate(harness.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass")) for word in harness.words)
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    options = [f"-max_total_time={round(minutes * 60)}", "-timeout=30", "-rss_limit_mb=4096"]
    options.append(f"-max_len={max(4096, *(2 * len(seed) for seed in harness.seeds))}")
    options += [f"-artifact_prefix={folder}/", "-print_final_stats=1", "-verbosity=0"]
    options += [f"-dict={words}"] if harness.words else []
    print(f"{name}: findings, if any, in {folder}", flush=True)
    atheris.Setup([sys.argv[0], *options, str(corpus)], harness.run)
    atheris.Fuzz()


main()

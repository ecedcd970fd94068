"""The annotations to measure on: the real ones where they are at hand, simulated ones like them elsewhere."""

import os
from pathlib import Path

N_CASES = 1947
ROOT = Path(__file__).resolve().parent.parent


def shared() -> Path:
    """Folder of real data."""
    return Path(os.environ.get("PLAUSIBLY_SHARED", ROOT.parent / "shared")) / "data"


def annotations(quick: bool):
    """Return annotations, and what they are."""
    import plausibly as pb

    folder = shared() / "dermatology_ddx"
    rankings = folder / "dermatology_selectors.json"
    if rankings.is_file():
        found = pb.read_annotations(rankings, classes=folder / "dermatology_conditions.txt")
        what = "real"
    else:
        found = pb.datasets.simulate_differentials(N_CASES, seed=0).annotations
        what = "simulated"
    if quick:
        found = found.select(found.cases[:200])
    return found, f"{found.n_cases:,} {what} cases"

"""Scores as categories, calibrated by simulation: mean and variance from their prior, scores from them, found again.

Every case is a pair of truth and scores; priors and cutpoints are given, so one call fits all cases.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

import plausibly as pb
from plausibly.base.progress import Progress
from plausibly.data.case import NormalInverseGamma
from plausibly.inference.gibbs import _ordinal
from validation._ranks import places
from validation._result import Result, Settings

PRIOR = (0.3, 0.8, 2.5, 2.0)
N, QUICK, PER_CASE, DRAWS = 3000, 500, 5, 60
THRESHOLD = 0.0


def simulate(n: int, rng: np.random.Generator) -> tuple[pb.Scores, np.ndarray, np.ndarray]:
    """Draw means, variances and whole scores from -2 to 3; rounding makes midpoints the cutpoints."""
    m, strength, shape, scale = PRIOR
    variance = stats.invgamma(shape, scale=scale).rvs(n, random_state=rng)
    mean = rng.normal(m, np.sqrt(variance / strength))
    z = rng.normal(mean[:, None], np.sqrt(variance)[:, None], (n, PER_CASE))
    scores = np.clip(np.ceil(z - 0.5), -2, 3)
    rows = {"case": np.repeat([f"c{i:05}" for i in range(n)], PER_CASE), "score": scores.ravel()}
    rows["annotator"] = np.tile([f"a{r}" for r in range(PER_CASE)], n)
    return pb.Annotations.from_scores(pd.DataFrame(rows)), mean, variance


def calibrate(n: int, seed: int) -> Iterator[Result]:
    """Test the places of the truth among the draws of each case."""
    rng = np.random.default_rng([seed, n])
    scores, mean, variance = simulate(n, rng)
    categories = _ordinal.Categories.of(scores, "midpoints")
    settings = {"draws": DRAWS, "chains": 1, "warmup": 100, "seed": seed, "progress": Progress(False)}
    drawn, by_case = _ordinal.ordinal(scores, categories, THRESHOLD, NormalInverseGamma(*PRIOR), **settings)
    share = stats.norm.cdf((0.5 - mean) / np.sqrt(variance))
    found = {"plausibility": (share, drawn[0, :, ::2])}
    found |= {"mean": (mean, by_case["mean"][0]), "variance": (variance, by_case["variance"][0])}
    for quantity, (truth, draws) in found.items():
        u = places(truth.astype(draws.dtype), draws, rng)
        yield Result.of_places("ordinal", "ordinal-scores", quantity, u, f"{PER_CASE} scores a case, {DRAWS} draws")


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate ordinal scores."""
    if settings.only in "ordinal-scores":
        yield from calibrate(QUICK if settings.quick else N, settings.seed)

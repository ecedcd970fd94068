"""The Rasch program, calibrated by simulation: parameters from the prior, answers from them, and both compared.

All data sets are sampled at once by NumPyro's NUTS, as :mod:`plausibly.agreement.reliability` samples one.
"""

from collections.abc import Iterator

import jax
import numpy as np
from numpyro.infer import MCMC, NUTS, Predictive

from plausibly.models import rasch
from validation._ranks import places
from validation._result import Result, Settings

N, QUICK, DRAWS, THIN = 200, 50, 99, 4
SIZES = {"n_annotators": 4, "n_cases": 25}
ANNOTATOR, CASE = np.tile(np.arange(4), 25), np.repeat(np.arange(25), 4)
QUANTITIES = "mean_ability", "ability", "difficulty"


def calibrate(n: int, seed: int) -> Iterator[Result]:
    """Test the places of the mean ability, of one ability and of one difficulty among their draws."""
    simulating, sampling = jax.random.split(jax.random.key(seed))
    prior = Predictive(rasch, num_samples=n)(simulating, ANNOTATOR, CASE, **SIZES)

    def sample(key, correct):
        kernel = NUTS(rasch, target_accept_prob=0.9, max_tree_depth=5)
        sampler = MCMC(kernel, num_warmup=200, num_samples=DRAWS * THIN, progress_bar=False)
        sampler.run(key, ANNOTATOR, CASE, correct, **SIZES)
        samples = sampler.get_samples()
        return {name: samples[name][::THIN] for name in QUANTITIES}

    drawn = jax.jit(jax.vmap(sample))(jax.random.split(sampling, n), prior["correct"].astype(bool))
    rng = np.random.default_rng([seed, n])
    for name in QUANTITIES:
        true, found = prior[name], drawn[name]
        if true.ndim > 1:  # of the first annotator or case
            true, found = true[:, 0], found[..., 0]
        yield Result.of_places(
            "rasch", "rasch", name, places(np.asarray(true), np.asarray(found).T, rng), f"{DRAWS} draws"
        )


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate the Rasch program."""
    if settings.only in "rasch":
        yield from calibrate(QUICK if settings.quick else N, settings.seed)

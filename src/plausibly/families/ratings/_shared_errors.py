r"""Raters who err together: how far two are on the same side of a case, against how far independent errors would be.

Deviations of two raters from the mean of a case given its ratings have a covariance, which is compared with that of
ratings simulated under the model, whose errors are independent. Pairs above it share something that the model does not
know. Which of two camps does, say the covariances of ratings themselves: those of the other camp are as with everybody.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from plausibly.families.ratings._cases import RatedCases
from plausibly.families.together import Agreement, err_together, named, pairs_in_common

_REPLICATES = 40


def agreements(
    rated: RatedCases,
    shared: Mapping[str, Float[np.ndarray, "chain draw *shape"]],
    mean: Float[np.ndarray, "chain draw case"],
    seed: int,
) -> list[Agreement]:
    """Correlate the errors of pairs of raters, at posterior means of severities, spreads and effects.

    ``mean`` are draws of the means of cases, of which each replicate has one.
    """
    random = np.random.default_rng([seed, 1])
    at = {name: np.asarray(draws.mean((0, 1)), float) for name, draws in shared.items()}
    expected = at["location"] + sum(at[f"{name}_effect"][code] for name, (_, code) in rated.groups.items())
    if rated.expected is not None:
        expected = expected + rated.x @ at["coefficients"]
    expected = (expected + np.zeros(rated.n_cases))[rated.case] + at["severity"][rated.rater]
    has = np.zeros((rated.n_cases, len(rated.raters)), bool)
    has[rated.case, rated.rater] = True
    pairs, common = pairs_in_common(has)
    if not len(pairs):
        return []
    weight = at["spread"][rated.rater] ** -2
    variance = 1 / (np.bincount(rated.case, weight, rated.n_cases) + at["case_spread"] ** -2)

    def products(number: Float[np.ndarray, " rating"]) -> Float[np.ndarray, "two pair"]:
        """Mean products of the deviations of pairs from means given all ratings, and from what was expected before."""
        error = number - expected
        deviation = error - (variance * np.bincount(rated.case, weight * error, rated.n_cases))[rated.case]
        tables = np.zeros((2, *has.shape))
        tables[:, rated.case, rated.rater] = deviation, error
        return (tables.transpose(0, 2, 1) @ tables)[:, pairs[:, 0], pairs[:, 1]] / common

    draws = mean.reshape(-1, rated.n_cases)
    replicates = []
    for own in draws[random.integers(len(draws), size=_REPLICATES)]:
        noise = at["spread"][rated.rater] * random.standard_normal(len(rated.case))
        z = own[rated.case] + at["severity"][rated.rater] + noise
        replicates.append(products(z if rated.unit else rated.typical[np.searchsorted(rated.cuts[1:-1], z)]))
    centre, sd = np.mean(replicates, axis=0), np.std(replicates, axis=0, ddof=1)
    excess = products(rated.number) - centre
    spread = at["spread"][pairs].prod(1)
    return [
        Agreement((a, b), n, float(observed), 0.0, float(z))
        for (a, b), n, observed, z in zip(
            pairs.tolist(), common.tolist(), (excess[1] - excess[1].mean()) / spread, excess[0] / sd[0], strict=True
        )
    ]


def sentence(found: list[Agreement], names: np.ndarray) -> str:
    """Say which raters err together, and what to do; nothing if none do."""
    group = err_together(found)
    if group is None:
        return ""
    who, argument = named(names, group[0])
    return (
        f"Some raters err together: {who} rate a case too high, or too low, together more often than independent "
        "errors explain. What they share counts as if it were true: name them, as in "
        f"{argument}."
    )

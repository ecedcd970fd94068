"""Raters who err together: how far two are on the same side of a case, against how far independent errors would be.

If errors are independent, deviations of two raters from the mean of a case given its ratings have a covariance of minus
the variance of that mean, whatever the pair. Pairs above it share something that the model does not know. Which of two
camps does, say the covariances of ratings themselves: those of the other camp are as with everybody.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from plausibly.families.ratings._cases import RatedCases
from plausibly.families.together import LEAST, Agreement, err_together, named

_PAIRS = 300  # those with most cases in common


def agreements(rated: RatedCases, shared: Mapping[str, Float[np.ndarray, "chain draw *shape"]]) -> list[Agreement]:
    """Correlate the errors of pairs of raters, at posterior means of severities, spreads and effects."""
    at = {name: np.asarray(draws.mean((0, 1)), float) for name, draws in shared.items()}
    weight = at["spread"][rated.rater] ** -2
    expected = at["location"] + sum(at[f"{name}_effect"][code] for name, (_, code) in rated.groups.items())
    if rated.expected is not None:
        expected = expected + rated.x @ at["coefficients"]
    error = rated.number - at["severity"][rated.rater] - (expected + np.zeros(rated.n_cases))[rated.case]
    variance = 1 / (np.bincount(rated.case, weight, rated.n_cases) + at["case_spread"] ** -2)
    deviation = error - (variance * np.bincount(rated.case, weight * error, rated.n_cases))[rated.case]
    table = np.full((2, rated.n_cases, len(rated.raters)), np.nan)
    table[:, rated.case, rated.rater] = deviation, error
    has = ~np.isnan(table[0])
    common = np.triu(has.T.astype(np.float32) @ has, 1)
    pairs = np.argwhere(common >= LEAST)
    pairs = pairs[np.argsort(-common[tuple(pairs.T)], kind="stable")[:_PAIRS]]
    products = [(table[..., a] * table[..., b])[:, has[:, a] & has[:, b]] for a, b in pairs.tolist()]
    if not products:
        return []
    products = [of + [[1], [0]] * variance[has[:, a] & has[:, b]] for of, (a, b) in zip(products, pairs, strict=True)]
    # Intervals of the latent scale are not normal numbers, which moves all pairs alike.
    centre, covariance = np.concatenate(products, axis=1).mean(1)
    found = []
    for (a, b), (product, of_ratings) in zip(pairs.tolist(), products, strict=True):
        z = (product.mean() - centre) / max(product.std(ddof=1) / np.sqrt(len(product)), 1e-12)
        correlation = (of_ratings.mean() - covariance) / (at["spread"][a] * at["spread"][b])
        found.append(Agreement((a, b), len(product), float(correlation), 0.0, float(z)))
    return found


def sentence(found: list[Agreement], names: np.ndarray) -> str:
    """Say which raters err together, and what to do; nothing if none do."""
    group = err_together(found)
    if group is None:
        return ""
    who, argument = named(names, group[0])
    return (
        f"Some raters err together: {who} are more often on the same side of what a case deserves than their "
        "severities explain, and less often so with others. What they share counts as if it were true: name them, as "
        f"in {argument}."
    )

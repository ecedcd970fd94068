r"""Draws of everything that ratings of all cases share, by data augmentation.

Latent numbers :math:`z` of ratings are normal variables between two cutpoints; where ratings are numbers, they are
known. Given these, the model is a linear one with normal effects of raters, cases and groups of cases. In every sweep,
the spreads of raters and then the latent numbers are drawn given the ratings; the mean of a case with a single rating
is integrated out of both. Then come the spread of cases, all effects together, and the standard deviations of those of
groups of cases, with the means of cases integrated out; the effects of the largest group, which are independent given
all others, are eliminated first. Then come the means of cases, with what the raters of a group err together, the
standard deviations of severities and of these errors, and the spreads of raters. Those of effects are drawn in two
parametrisations, one of which suits much data and the other little (Yu & Meng 2011, To center or not to center, Journal
of Computational and Graphical Statistics 20).
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array
from scipy.special import ndtr

from plausibly.families.ratings._cases import RatedCases
from plausibly.inference.chains import Sampler
from plausibly.inference.moves import BROAD, Moves, half_normal

LOCATION = 2.0  #: standard deviation of the mean of all cases
OF_CASES, OF_SEVERITIES, OF_GROUPS = 1.0, 0.5, 0.5  #: scales of half-normal priors of standard deviations
SPREAD, SPREAD_SD = np.log(0.5), 1.0  #: prior of the mean log spread of raters
OF_SCORES = 0.5  #: standard deviation of the effect of what a classifier expects, in its standard deviations
OF_SHARED = 0.5  #: scale of the half-normal prior of the standard deviation of what raters of a group err together
OF_SPREADS = 0.5  #: scale of the half-normal prior of the standard deviation of log spreads
GROUP = "annotator_group"  #: dimension of groups of raters who may err together
SHARED = "shared_spread"  #: site of the standard deviation of what raters of a group err together in a case
THINNING, THINNING_SINGLE = 4, 6  #: sweeps per kept draw, and where most cases have a single rating
_DENSE = 20_000  # pairs of cases and raters up to which products of dense matrices are faster
_WIDTH = 1.0  # of slices of the log spreads of raters
_EXCHANGES = 3  # between the spread of cases and those of raters in each sweep, if cases have a single rating

Values = dict[str, Any]


def sites_of(rated: RatedCases) -> dict[str, tuple[str, ...]]:
    """Sites of what cases share, with the dimensions of each."""
    sites: dict[str, tuple[str, ...]] = dict.fromkeys(
        ("location", "case_spread", "severity_spread", "typical_spread", "spread_of_spreads"), ()
    )
    sites |= {"severity": ("annotator",), "spread": ("annotator",)}
    for name in rated.groups:
        sites |= {f"{name}_effect": (name,), f"{name}_spread": ()}
    sites |= {} if rated.rater_groups is None else {SHARED: (GROUP,)}
    return sites | ({} if rated.expected is None else {"coefficients": ("coefficient",)})


def sweeps_per_draw(rated: RatedCases) -> int:
    """Return how many sweeps there are for a kept draw."""
    return THINNING_SINGLE if len(rated.case) < 1.5 * rated.n_cases else THINNING


def sampler_of(rated: RatedCases, *, draws: int, warmup: int, seed: int) -> Sampler:
    """Gibbs sampler of sites and of the means of cases."""
    sizes = {"draws": draws, "warmup": warmup, "seed": seed, "thinning": sweeps_per_draw(rated)}
    return Sampler.of_single_chains(partial(sweeps_of_ratings, rated), _kept, **sizes)


def _kept(state: "_State", _: int) -> dict[str, np.ndarray]:
    return {name: np.asarray(value, np.float32) for name, value in state.values().items()}


def sweeps_of_ratings(rated: RatedCases, random: Moves) -> Iterator["_State"]:
    """Sweeps of one chain, without end."""
    state = _State(rated, random)
    while True:
        state.sweep()
        yield state


def starting_point(rated: RatedCases, seed: int, sweeps: int = 20) -> dict[str, np.ndarray]:
    """Values of sites after a few sweeps, for another sampler to start from."""
    *_, state = islice(sweeps_of_ratings(rated, Moves.of(seed)), sweeps)
    values = state.values() | {"case": (state.mean - state._expected) / state.case_spread}
    values["rater"] = state.severity / state.severity_spread
    values["log_spread"] = (state.log_spread - state.typical) / state.variation
    values |= {f"{name}_raw": state.effects[name] / state.scales[name] for name in rated.groups}
    if rated.rater_groups is not None:
        values["shared_raw"] = state.shared / state.shared_spread[rated.cells[2]]
    return {name: np.asarray(value, np.float32) for name, value in values.items()}


class _State:
    """State of one chain."""

    def __init__(self, rated: RatedCases, random: Moves):
        self.rated, self.random = rated, random
        self.bounds = rated.lower, rated.upper
        #: which ratings are the only one of their case; its mean is then integrated out
        self.single = np.bincount(rated.case, minlength=rated.n_cases)[rated.case] == 1
        #: latent numbers of ratings
        self.latent = rated.number + (0.1 * random.standard_normal(len(rated.value)) if rated.unit is None else 0)
        n = len(rated.raters)
        self.count = np.bincount(rated.rater, minlength=n)
        self.width = np.minimum(_WIDTH, 8 / np.sqrt(self.count + 1))
        self.effects = {name: np.zeros(len(names)) for name, (names, _) in rated.groups.items()}
        self.scales = {name: random.uniform(0.2, 0.6) for name in rated.groups}
        self.coefficients = np.zeros(rated.x.shape[1])
        self.severity, self.severity_spread, self.location = np.zeros(n), random.uniform(0.1, 0.5), 0.0
        self.case_spread = random.uniform(0.4, 0.9)
        self.log_spread = np.log(random.uniform(0.4, 0.9)) + np.zeros(n)
        self.typical, self.variation = float(self.log_spread.mean()), random.uniform(0.1, 0.4)
        self.cell, self.case_of_cell, self.group_of_cell = rated.cells
        self.shared = np.zeros(len(self.group_of_cell))
        self.shared_spread = random.uniform(0.1, 0.4, 0 if rated.rater_groups is None else len(rated.rater_groups[0]))
        self.largest = max(rated.groups, key=lambda name: len(rated.groups[name][0]), default=None)
        several = ~self.single
        rows = np.unique(rated.case[several], return_inverse=True)[1]
        # numbers of ratings in the order of the matrix
        order = csr_array(
            (np.arange(1.0, len(rows) + 1), (rows, rated.rater[several])), shape=(rows.max(initial=-1) + 1, n)
        )
        self._order = np.flatnonzero(several)[order.data.astype(int) - 1]
        #: of each case with several ratings, who gave them
        self.together = csr_array((np.ones(len(rows)), order.indices, order.indptr), shape=order.shape)
        self._place = self.together.nonzero() if np.prod(order.shape) < _DENSE else None
        self.together = self.together if self._place is None else self.together.toarray()
        self._exchanges = _EXCHANGES if self.single.any() else 1
        self._others = [name for name in rated.groups if name != self.largest]
        self._draw_effects()
        self._draw_means()

    def values(self) -> dict[str, Any]:
        """Values by site, and the means of cases."""
        found = {"location": self.location, "case_spread": self.case_spread, "severity_spread": self.severity_spread}
        found |= {"typical_spread": np.exp(self.typical), "spread_of_spreads": self.variation}
        found |= {"severity": self.severity, "spread": np.exp(self.log_spread)}
        for name in self.effects:
            found |= {f"{name}_effect": self.effects[name], f"{name}_spread": self.scales[name]}
        if self.rated.rater_groups is not None:
            found[SHARED] = self.shared_spread
        if self.rated.expected is not None:
            found["coefficients"] = self.coefficients
        return found | {"latent_mean": self.mean}

    def sweep(self) -> None:
        rated = self.rated
        mean = np.where(self.single, self._expected[rated.case], self.mean[rated.case]) + self.severity[rated.rater]
        of_case = np.where(self.single, self.case_spread**2, 0)
        (lower, upper), n, z = (end - self._of_group for end in self.bounds), len(self.count), self.z

        def log_density(sd: np.ndarray) -> np.ndarray:
            if rated.unit is not None:
                return -np.log(sd) - ((z - mean) / sd) ** 2 / 2
            low, high = (lower - mean) / sd, (upper - mean) / sd
            flip = low > 0  # to the left tail, of which small probabilities are exact
            share = ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low))
            return np.log(np.maximum(share, 1e-300))

        def of_ratings(log: np.ndarray) -> np.ndarray:
            of_points = log_density(np.sqrt(np.exp(2 * log)[:, rated.rater] + of_case))
            of_all = np.stack([np.bincount(rated.rater, of_ratings, minlength=n) for of_ratings in of_points])
            return of_all - ((log - self.typical) / self.variation) ** 2 / 2 - np.exp(-2 * log) * rated.rounding**2 / 2

        self.log_spread = self.random.slices("log_spread", self.log_spread, self.width, of_ratings, ahead=1)
        if rated.unit is None:
            sd = np.sqrt(np.exp(2 * self.log_spread)[rated.rater] + of_case)
            self.latent = self.random.between("latent", *self.bounds, mean + self._of_group, sd)
        self._draw_case_spread()
        self._draw_effects()
        self._draw_scales_of_groups()
        self._draw_means()
        self._draw_scales()
        self._draw_spreads()

    @property
    def z(self) -> Float[np.ndarray, " rating"]:
        """Latent numbers of ratings, less what the raters of a group err together in the case."""
        return self.latent - self._of_group

    @property
    def _of_group(self) -> Float[np.ndarray, " rating"]:
        """What the raters of a group err together, for each of their ratings; 0 for raters of none."""
        return np.append(self.shared, 0.0)[self.cell]

    @property
    def _expected(self) -> Float[np.ndarray, " case"]:
        """Mean of each case before its ratings."""
        of_groups = (self.effects[name][code] for name, (_, code) in self.rated.groups.items())
        return self.location + sum(of_groups, self.rated.x @ self.coefficients)

    def _slice(
        self, what: str, x: float, log_density: Callable[[float], float], to: Callable[[float], Values] | None = None
    ) -> float:
        return self.random.slice(what, x, BROAD, log_density, to)

    def _of_several(self, values: Float[np.ndarray, " rating"]) -> Any:
        """Arrange the values of ratings by case and rater, of cases with several, like ``together``."""
        if self._place is None:
            return csr_array((values[self._order], self.together.indices, self.together.indptr), self.together.shape)
        arranged = np.zeros(self.together.shape)
        arranged[self._place] = values[self._order]
        return arranged

    def _by_case(self, weight: Float[np.ndarray, " rating"]) -> Float[np.ndarray, " case"]:
        return np.bincount(self.rated.case, weight, minlength=self.rated.n_cases)

    def _draw_case_spread(self) -> None:
        """Draw the spread of cases, alone and against those of raters, with the means of cases integrated out.

        A case with one rating tells the sum of two variances alone. The move that keeps these sums has a Jacobian. Then
        all spreads change by one factor, with and without that of cases. The typical spread is integrated out.
        """
        rated, x = self.rated, self.log_spread
        error = self.z - self.severity[rated.rater] - self._expected[rated.case]
        squares = rated.rounding**2 + np.bincount(rated.rater, error**2, minlength=len(x))
        alone, who, errors = self.single, self.together, self._of_several(error)
        n_alone = np.bincount(rated.rater[alone], minlength=len(x))
        of_alone = np.bincount(rated.rater[alone], error[alone] ** 2, minlength=len(x))

        def marginal(variance: float, log: np.ndarray) -> float:
            precision = np.exp(-2 * log)
            one = 1 + variance * precision
            both, of_ratios = of_alone @ (precision**2 / one), n_alone @ np.log(one)
            if len(errors):
                ratio = 1 + variance * (who @ precision)
                both, of_ratios = both + ((errors @ precision) ** 2 / ratio).sum(), of_ratios + np.log(ratio).sum()
            return -(self.count @ log) - (of_ratios + squares @ precision - variance * both) / 2

        def of_spreads(log: np.ndarray, variation: float) -> float:  # their mean is integrated out
            mean, of_mean = log.sum() / len(log), SPREAD_SD**2 + variation**2 / len(log)
            rest = log - mean
            around = rest @ rest / variation**2 + (mean - SPREAD) ** 2 / of_mean
            return -around / 2 - (len(log) - 1) * np.log(variation) - np.log(of_mean) / 2

        def scaled(factor: float) -> float:
            return (
                marginal(np.exp(2 * (at + factor)), x + factor)
                + half_normal(at + factor, OF_CASES)
                + of_spreads(x + factor, self.variation)
            )

        def exchanged(at: float) -> float:
            variances = sums - np.exp(2 * at)
            if variances.min() <= 1e-14:
                return -np.inf
            log = np.log(variances) / 2
            return (
                marginal(np.exp(2 * at), log)
                + half_normal(at, OF_CASES)
                + of_spreads(log, self.variation)
                - 2 * log.sum()
            )

        def to(at: float, log: np.ndarray) -> Values:
            return {"case_spread": np.exp(at), "log_spread": log}

        at = self._slice(
            "log case_spread",
            np.log(self.case_spread),
            lambda at: marginal(np.exp(2 * at), x) + half_normal(at, OF_CASES),
        )
        sums = np.exp(2 * at) + np.exp(2 * x)

        def rest(at: float) -> np.ndarray:
            return np.log(sums - np.exp(2 * at)) / 2

        for _ in range(self._exchanges):
            at = self._slice("exchange of spreads", at, exchanged, lambda at: to(at, rest(at)))
            x = rest(at)
            self._draw_variation("log variation", lambda variation, log=x: of_spreads(log, variation))
        factor = self._slice("all spreads", 0.0, scaled, lambda by: to(at + by, x + by))
        at, x = at + factor, x + factor
        common = self._slice(
            "spreads of raters",
            0.0,
            lambda by: marginal(np.exp(2 * at), x + by) + of_spreads(x + by, self.variation),
            lambda by: to(at, x + by),
        )
        self.case_spread, self.log_spread = float(np.exp(at)), x + common
        self._draw_typical()

    def _draw_variation(self, what: str, log_density: Callable[[float], float]) -> None:
        """Draw the standard deviation of log spreads, given their log density."""
        log = self._slice(
            what, np.log(self.variation), lambda at: log_density(np.exp(at)) + half_normal(at, OF_SPREADS)
        )
        self.variation = float(np.exp(log))

    def _draw_typical(self) -> None:
        """Draw the mean of log spreads."""
        precision = SPREAD_SD**-2 + len(self.log_spread) / self.variation**2
        centre = (SPREAD / SPREAD_SD**2 + self.log_spread.sum() / self.variation**2) / precision
        self.typical = float(self.random.normals("typical", centre, precision**-0.5))

    def _draw_effects(self) -> None:
        """Draw location, severities, effects and coefficients together, with the means of cases integrated out."""
        rated, variance = self.rated, self.case_spread**2
        weight = np.exp(-2 * self.log_spread)[rated.rater]
        total = self._by_case(weight)
        share = 1 / (1 + variance * total)
        own, of_case = weight * share[rated.case], total * share
        wz = self._by_case(weight * self.z)
        n = len(rated.raters)
        # columns: location, severities, the groups but the largest, and coefficients
        codes = [rated.groups[name][1] for name in self._others]
        sizes = [len(self.effects[name]) for name in self._others]
        first = np.cumsum([1 + n, *sizes, rated.x.shape[1]])
        precision, right = np.zeros((first[-1], first[-1])), np.zeros(first[-1])
        precision[0, 0], right[0] = of_case.sum() + LOCATION**-2, (wz * share).sum()
        shrunk = variance * weight * own
        by_rater = np.bincount(rated.rater, weight - np.where(self.single, shrunk, 0), minlength=n)
        precision[1 : 1 + n, 1 : 1 + n] = np.diag(by_rater + self.severity_spread**-2)
        if len(self._order):
            pairs = self._of_several(np.sqrt(shrunk))
            products = pairs.T @ pairs
            precision[1 : 1 + n, 1 : 1 + n] -= products if self._place is not None else products.toarray()
        precision[0, 1 : 1 + n] = np.bincount(rated.rater, own, minlength=n)
        within = weight * (self.z - variance * (share * wz)[rated.case])
        right[1 : 1 + n] = np.bincount(rated.rater, within, minlength=n)
        for at, (name, code, size) in enumerate(zip(self._others, codes, sizes, strict=True)):
            here = slice(first[at], first[at + 1])
            sums = np.bincount(code, of_case, minlength=size)
            precision[here, here], precision[0, here] = np.diag(sums + self.scales[name] ** -2), sums
            precision[1 : 1 + n, here] = _cross(rated.rater, code[rated.case], own, n, size)
            right[here] = np.bincount(code, wz * share, minlength=size)
            for other in range(at):
                there = slice(first[other], first[other + 1])
                precision[there, here] = _cross(codes[other], code, of_case, sizes[other], size)
        weighted = rated.x.T * of_case
        for at, (column, x) in enumerate(zip(weighted, rated.x.T, strict=True), start=first[-2]):
            precision[0, at] = column.sum()
            precision[1 : 1 + n, at] = np.bincount(rated.rater, own * x[rated.case], minlength=n)
            for code, size, begin in zip(codes, sizes, first, strict=False):
                precision[begin : begin + size, at] = np.bincount(code, column, minlength=size)
        precision[first[-2] :, first[-2] :] = weighted @ rated.x + np.eye(len(weighted)) * OF_SCORES**-2
        right[first[-2] :] = rated.x.T @ (wz * share)
        if self.largest is not None:
            code, size = rated.groups[self.largest][1], len(self.effects[self.largest])
            sums = np.bincount(code, of_case, minlength=size)
            diagonal = sums + self.scales[self.largest] ** -2
            cross = np.concatenate(
                [sums[None], _cross(rated.rater, code[rated.case], own, n, size)]
                + [_cross(one, code, of_case, len_one, size) for one, len_one in zip(codes, sizes, strict=True)]
                + [np.bincount(code, column, minlength=size)[None] for column in weighted]
            )
            of_largest = np.bincount(code, wz * share, minlength=size)
            precision -= np.triu((cross / diagonal) @ cross.T)
            right -= cross @ (of_largest / diagonal)
        root = np.linalg.cholesky(np.triu(precision) + np.triu(precision, 1).T)
        centre = solve_triangular(root, right, lower=True)
        half = centre + self.random.standard_normal(len(right))
        found = solve_triangular(root, half, lower=True, trans="T")
        if self.largest is not None:
            noise = self.random.standard_normal(size) / np.sqrt(diagonal)
            found = np.append(found, (of_largest - found @ cross) / diagonal + noise)

        def log_density(x: np.ndarray) -> float:
            of_first = -((root.T @ x[: first[-1]] - centre) ** 2).sum() / 2
            if self.largest is None:
                return of_first
            error = x[first[-1] :] - (of_largest - x[: first[-1]] @ cross) / diagonal
            return of_first - (diagonal * error**2).sum() / 2

        def to(x: np.ndarray) -> Values:
            parts = {"location": x[0], "severity": x[1 : 1 + n], "coefficients": x[first[-2] : first[-1]]}
            parts |= {f"{name}_effect": x[first[at] : first[at + 1]] for at, name in enumerate(self._others)}
            return parts | ({} if self.largest is None else {f"{self.largest}_effect": x[first[-1] :]})

        found = to(self.random.declared("effects", found, log_density, to))
        self.location, self.severity = float(found["location"]), found["severity"]
        self.coefficients = found["coefficients"]
        self.effects = {name: found[f"{name}_effect"] for name in self.effects}

    def _draw_scales_of_groups(self) -> None:
        """Draw the standard deviations of effects of groups of cases, with the means of cases integrated out."""
        weight = np.exp(-2 * self.log_spread)[self.rated.rater]
        total = self._by_case(weight)
        precision = total / (1 + self.case_spread**2 * total)
        rest = self._by_case(weight * (self.z - self.severity[self.rated.rater])) / total - self._expected
        for name, (_, code) in self.rated.groups.items():
            x = self.effects[name]
            of_case, rest = x[code], rest + x[code]
            quadratic = precision @ of_case**2, precision @ (rest * of_case)
            what, prior = (f"{name}_spread", f"{name}_effect"), partial(half_normal, scale=OF_GROUPS)
            self.scales[name], factor = self.random.scale(what, x, self.scales[name], prior, *quadratic)
            self.effects[name], rest = factor * x, rest - factor * of_case

    def _draw_means(self) -> None:
        """Draw the means of cases, their spread given these, and what the raters of a group err together.

        The latter is integrated out of the means.
        """
        rated, n, n_cells = self.rated, self.rated.n_cases, len(self.shared)
        weight = np.exp(-2 * self.log_spread)[rated.rater]
        latent = self.z + self._of_group - self.severity[rated.rater]
        at = np.where(self.cell < 0, n_cells + rated.case, self.cell)  # the cells of groups, then cases for all others
        weights, sums = (np.bincount(at, of, n_cells + n) for of in (weight, weight * latent))
        of_cell, sum_of_cell, scale = weights[:n_cells], sums[:n_cells], self.shared_spread[self.group_of_cell]
        ratio = 1 / (1 + scale**2 * of_cell)
        precision = weights[n_cells:] + np.bincount(self.case_of_cell, ratio * of_cell, n) + self.case_spread**-2
        total = sums[n_cells:] + np.bincount(self.case_of_cell, ratio * sum_of_cell, n)
        total += self._expected / self.case_spread**2
        self.mean = self.random.normals("mean", total / precision, precision**-0.5)
        squares = float(((self.mean - self._expected) ** 2).sum())
        log = self._slice(
            "log case_spread | mean",
            np.log(self.case_spread),
            lambda at: -n * at - squares / (2 * np.exp(2 * at)) + half_normal(at, OF_CASES),
        )
        self.case_spread = float(np.exp(log))
        if n_cells:
            precision = of_cell + scale**-2
            mean = (sum_of_cell - of_cell * self.mean[self.case_of_cell]) / precision
            self.shared = self.random.normals("shared", mean, precision**-0.5)

    def _draw_scales(self) -> None:
        """Draw those of severities and shared errors, given these, and given these in units of theirs."""
        rated, weight = self.rated, np.exp(-2 * self.log_spread)
        error = self.z - self.mean[rated.case]
        sums = weight * np.bincount(rated.rater, error, minlength=len(weight))
        quadratic = (weight * self.count * self.severity**2).sum(), (sums * self.severity).sum()
        what, prior = ("severity_spread", "severity"), partial(half_normal, scale=OF_SEVERITIES)
        self.severity_spread, factor = self.random.scale(what, self.severity, self.severity_spread, prior, *quadratic)
        self.severity = factor * self.severity
        weight, error = weight[rated.rater], error + self._of_group - self.severity[rated.rater]
        for group in range(len(self.shared_spread)):
            own, shared, scales = self.group_of_cell == group, self._of_group, self.shared_spread
            weight_of = np.where((self.cell >= 0) & (self.group_of_cell[self.cell] == group), weight, 0)
            quadratic = weight_of @ shared**2, weight_of @ (error * shared)

            def to(scale: float, factor: float, own=own, group=group, scales=scales) -> Values:
                of_groups = np.where(np.arange(len(scales)) == group, scale, scales)
                return {SHARED: of_groups, "shared": np.where(own, factor, 1) * self.shared}

            what, prior = (f"{SHARED} {group}", "shared"), partial(half_normal, scale=OF_SHARED)
            found = self.random.scale(what, self.shared[own], scales[group], prior, *quadratic, to)
            self.shared_spread, self.shared = to(*found).values()

    def _draw_spreads(self) -> None:
        """Draw the spreads of raters and their distribution."""
        rated, count = self.rated, self.count
        error = self.z - self.mean[rated.case] - self.severity[rated.rater]
        squares = rated.rounding**2 + np.bincount(rated.rater, error**2, minlength=len(count))

        def of_ratings(log: np.ndarray) -> np.ndarray:
            return -count * log - squares * np.exp(-2 * log) / 2

        def of_typical(at: float) -> float:
            return -(((at - SPREAD) / SPREAD_SD) ** 2) / 2

        typical, variation = self.typical, self.variation
        self.log_spread = x = self.random.slices(
            "log_spread | mean",
            self.log_spread,
            _WIDTH,
            lambda log: of_ratings(log) - ((log - typical) / variation) ** 2 / 2,
        )
        self._draw_typical()
        typical = self.typical
        rest = x - typical
        squares_of_rest = (rest**2).sum()
        self._draw_variation("log variation | typical", lambda sd: -len(x) * np.log(sd) - squares_of_rest / (2 * sd**2))
        log = np.log(self.variation)
        deviation = rest / self.variation
        typical = self._slice(
            "typical, deviations held",
            typical,
            lambda at: of_typical(at) + of_ratings(at + rest).sum(),
            lambda at: {"typical": at, "log_spread": at + rest},
        )
        log = self._slice(
            "variation, deviations held",
            log,
            lambda at: half_normal(at, OF_SPREADS) + of_ratings(typical + np.exp(at) * deviation).sum(),
            lambda at: {"variation": np.exp(at), "log_spread": typical + np.exp(at) * deviation},
        )
        self.typical, self.variation = typical, float(np.exp(log))
        self.log_spread = typical + self.variation * deviation


def _cross(
    one: np.ndarray, other: np.ndarray, weight: Float[np.ndarray, " n"], n_one: int, n_other: int
) -> Float[np.ndarray, "one other"]:
    """Sum weights by two codes."""
    return np.bincount(one * np.int64(n_other) + other, weight, minlength=n_one * n_other).reshape(n_one, n_other)

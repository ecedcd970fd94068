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

All arrays of a sweep have a leading axis of chains, which advance together where there are few ratings.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve
from scipy.sparse import csr_array, hstack
from scipy.special import ndtr

from plausibly.families.ratings._cases import RatedCases
from plausibly.inference.chains import Sampler, abreast, doubled
from plausibly.inference.draws import sums
from plausibly.inference.moves import AHEAD, BROAD, Moves, half_normal

LOCATION = 2.0  #: standard deviation of the mean of all cases
OF_CASES, OF_SEVERITIES, OF_GROUPS = 1.0, 0.5, 0.5  #: scales of half-normal priors of standard deviations
SPREAD, SPREAD_SD = np.log(0.5), 1.0  #: prior of the mean log spread of raters
OF_SCORES = 0.5  #: standard deviation of the effect of what a classifier expects, in its standard deviations
OF_SHARED = 0.5  #: scale of the half-normal prior of the standard deviation of what raters of a group err together
OF_SPREADS = 0.5  #: scale of the half-normal prior of the standard deviation of log spreads
GROUP = "annotator_group"  #: dimension of groups of raters who may err together
SHARED = "shared_spread"  #: site of the standard deviation of what raters of a group err together in a case
THINNING, THINNING_SINGLE = 4, 6  #: sweeps per kept draw, and where most cases have a single rating
_DENSE = 20_000  # pairs of ratings and effects up to which products of dense matrices are faster
_FEW = 8_000  # ratings of all chains; with more, points of a slice are looked at one by one
_LEAST = 1e-14  # variance
_WIDTH = 1.0  # of slices of the log spreads of raters
_EXCHANGES = 3  # between the spread of cases and those of raters in each sweep, if cases have a single rating

Values = dict[str, Any]
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    given, together = (partial(sweeps_of_ratings, rated), _kept), abreast(len(rated.case))
    sizes = {"draws": draws, "warmup": warmup, "seed": seed, "thinning": sweeps_per_draw(rated)}
    return Sampler(*given, **sizes, abreast=together, twice=together > 1)


def _kept(state: "_State", _: int) -> dict[str, np.ndarray]:
    return {name: np.asarray(value, np.float32) for name, value in state.values().items()}


def sweeps_of_ratings(rated: RatedCases, random: Moves, chains: int, double: int | None = None) -> Iterator["_State"]:
    """Sweeps as :class:`plausibly.inference.chains.Sampler` asks for."""
    state = _State(rated, random, chains)
    for number in count():
        if number == double:
            state.double()
        state.sweep()
        yield state


def starting_point(rated: RatedCases, seed: int, sweeps: int = 20) -> dict[str, np.ndarray]:
    """Values of sites after a few sweeps, for another sampler to start from."""
    *_, state = islice(sweeps_of_ratings(rated, Moves.of(seed), 1), sweeps)
    values = state.values() | {"case": (state.mean - state.expected) / state.case_spread}
    values["rater"] = state.severity / state.severity_spread
    values["log_spread"] = (state.log_spread - state.typical) / state.variation
    values |= {f"{name}_raw": state.effects[name] / state.scales[name] for name in rated.groups}
    if rated.rater_groups is not None:
        values["shared_raw"] = state.shared / state.shared_spread[:, rated.cells[2]]
    return {name: np.asarray(value[0], np.float32) for name, value in values.items()}


#: of a state, what has an axis of chains
_OF_CHAINS = (
    *("latent", "effects", "scales", "coefficients", "severity", "severity_spread", "location", "case_spread"),
    *("log_spread", "typical", "variation", "shared", "shared_spread", "mean"),
)


class _State:
    """State of chains."""

    def __init__(self, rated: RatedCases, random: Moves, chains: int):
        self.rated, self.random = rated, random
        n, several = len(rated.raters), np.bincount(rated.case, minlength=rated.n_cases)[rated.case] > 1
        #: which ratings are the only one of their case; its mean is then integrated out
        self.single = ~several
        #: latent numbers of ratings
        noise = 0 if rated.unit is not None else 0.1 * random.standard_normal((chains, len(rated.value)))
        self.latent = np.broadcast_to(rated.number + noise, (chains, len(rated.value)))
        self.count = np.bincount(rated.rater, minlength=n)
        self.width = np.minimum(_WIDTH, 8 / np.sqrt(self.count + 1))
        self.effects = {name: np.zeros((chains, len(names))) for name, (names, _) in rated.groups.items()}
        self.scales = {name: random.uniform(0.2, 0.6, chains) for name in rated.groups}
        self.coefficients = np.zeros((chains, rated.x.shape[1]))
        self.severity, self.severity_spread = np.zeros((chains, n)), random.uniform(0.1, 0.5, chains)
        self.location, self.case_spread = np.zeros(chains), random.uniform(0.4, 0.9, chains)
        self.log_spread = np.log(random.uniform(0.4, 0.9, (chains, 1))) + np.zeros(n)
        self.typical, self.variation = self.log_spread.mean(1), random.uniform(0.1, 0.4, chains)
        self.cell, self.case_of_cell, self.group_of_cell = rated.cells
        n_groups = 0 if rated.rater_groups is None else len(rated.rater_groups[0])
        self.shared = np.zeros((chains, len(self.group_of_cell)))
        self.shared_spread = random.uniform(0.1, 0.4, (chains, n_groups))
        self._set_out()
        #: ratings of cases with several, the row of each among these cases, and who gave it
        self.several, self.who = np.flatnonzero(several), rated.rater[several]
        self.row = np.unique(rated.case[several], return_inverse=True)[1]
        self.n_rows = int(self.row.max(initial=-1)) + 1
        self.exchanges = _EXCHANGES if self.single.any() else 1
        self._draw_effects()
        self._draw_means()

    def _set_out(self) -> None:
        """Set out the effects: location, severities, coefficients, and those of groups of cases, the largest last."""
        rated, n, ratings = self.rated, len(self.rated.case), np.arange(len(self.rated.case))
        groups = sorted(rated.groups.items(), key=lambda group: len(group[1][0]))
        codes: dict[str, Any] = {"location": (0 * ratings, 1), "severity": (rated.rater, len(rated.raters))}
        codes |= {"coefficients": None} | {f"{name}_effect": (code[rated.case], len(of)) for name, (of, code) in groups}

        def columns(of: tuple[np.ndarray, int] | None) -> csr_array:
            if of is None:
                return csr_array(rated.x[rated.case])
            return csr_array((np.ones(n), (ratings, of[0])), shape=(n, of[1]))

        parts = {name: columns(of) for name, of in codes.items()}
        ends = np.cumsum([0, *(np.shape(part)[1] for part in parts.values())])
        self.columns = dict(zip(parts, (slice(*own) for own in pairwise(ends)), strict=True))
        self.n_first = int(ends[-2] if groups else ends[-1])  #: of all but the largest group
        design = hstack(list(parts.values())).tocsr()
        self.design = design.toarray() if np.prod(design.shape) < _DENSE else design
        self.cases = csr_array((np.ones(n), (rated.case, ratings)), shape=(rated.n_cases, n))

    def double(self) -> None:
        """Add a copy of each chain after them."""
        for name in _OF_CHAINS:
            setattr(self, name, doubled(getattr(self, name)))

    def values(self) -> dict[str, np.ndarray]:
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
        """Make all moves once."""
        if self.rated.unit is None or self.single.any():
            self._draw_ratings()
        else:  # the same, by sums
            self._draw_log_spread()
        self._draw_case_spread()
        self._draw_effects()
        self._draw_scales_of_groups()
        self._draw_means()
        self._draw_scales()
        self._draw_spreads()

    def _draw_ratings(self) -> None:
        """Draw the spreads of raters, then latent numbers, given ratings."""
        rated = self.rated
        case = np.where(self.single, self.expected[:, rated.case], self.mean[:, rated.case])
        mean, z, of_group = case + self.severity[:, rated.rater], self.z, self.of_group
        of_case = np.where(self.single, self.case_spread[:, None] ** 2, 0)
        lower, upper = rated.lower - of_group, rated.upper - of_group

        def log_density(sd: np.ndarray) -> np.ndarray:
            if rated.unit is not None:
                return -np.log(sd) - ((z - mean) / sd) ** 2 / 2
            low, high = (lower - mean) / sd, (upper - mean) / sd
            flip = low > 0  # to the left tail, of which small probabilities are exact
            share = ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low))
            return np.log(np.maximum(share, 1e-300))

        def of_ratings(log: np.ndarray) -> np.ndarray:
            of_each = log_density(np.sqrt(np.exp(2 * log)[..., rated.rater] + of_case))
            return self._by_rater(of_each) + self._of_log_spread(log) - np.exp(-2 * log) * rated.rounding**2 / 2

        self.log_spread = self.random.slices("log_spread", self.log_spread, self.width, of_ratings, ahead=1)
        if rated.unit is None:
            sd = np.sqrt(np.exp(2 * self.log_spread)[:, rated.rater] + of_case)
            self.latent = self.random.between("latent", rated.lower, rated.upper, mean + of_group, sd)

    @property
    def z(self) -> Float[np.ndarray, "chain rating"]:
        """Latent numbers of ratings, less what the raters of a group err together in the case."""
        return self.latent - self.of_group

    @property
    def of_group(self) -> Float[np.ndarray, "chain rating"] | float:
        """What the raters of a group err together, for each of their ratings; 0 for raters of none."""
        return np.pad(self.shared, ((0, 0), (0, 1)))[:, self.cell] if self.shared.size else 0.0

    @property
    def expected(self) -> Float[np.ndarray, "chain case"]:
        """Mean of each case before its ratings."""
        of_groups = (self.effects[name][:, code] for name, (_, code) in self.rated.groups.items())
        return self.location[:, None] + sum(of_groups, self.coefficients @ self.rated.x.T)

    def _slice(
        self,
        what: str,
        x: np.ndarray,
        log_density: Callable[[np.ndarray], np.ndarray],
        to: Callable[[np.ndarray], Values] | None = None,
    ) -> np.ndarray:
        return self.random.slices(what, x, BROAD, log_density, to, AHEAD if self.latent.size <= _FEW else 1)

    def _by_case(self, weight: Float[np.ndarray, "chain rating"]) -> Float[np.ndarray, "chain case"]:
        return sums(self.rated.case, weight, self.rated.n_cases)

    def _by_rater(self, weight: Float[np.ndarray, "*lane rating"]) -> Float[np.ndarray, "*lane rater"]:
        return sums(self.rated.rater, weight, len(self.count))

    def _of_log_spread(self, log: Float[np.ndarray, "*point chain rater"]) -> Float[np.ndarray, "*point chain rater"]:
        """Log density of log spreads given their distribution."""
        return -(((log - self.typical[:, None]) / self.variation[:, None]) ** 2) / 2

    def _draw_case_spread(self) -> None:
        """Draw the spread of cases, alone and against those of raters, with the means of cases integrated out.

        A case with one rating tells the sum of two variances alone. The move that keeps these sums has a Jacobian. Then
        all spreads change by one factor, with and without that of cases. The typical spread is integrated out.
        """
        rated, x, who, row, n_rows = self.rated, self.log_spread, self.who, self.row, self.n_rows
        error = self.z - self.severity[:, rated.rater] - self.expected[:, rated.case]
        squares, errors = self._by_rater(error**2) + rated.rounding**2, error[:, self.several]
        n_alone = np.bincount(rated.rater[self.single], minlength=len(self.count))
        of_alone = self._by_rater(np.where(self.single, error, 0) ** 2)

        def weighed(log: np.ndarray) -> Parts:
            """Precisions, and their sums and those of errors times these, of cases with several ratings."""
            precision = np.exp(-2 * log)
            of_rating = precision[..., who]
            return precision, sums(row, of_rating, n_rows), sums(row, of_rating * errors, n_rows)

        def scaled(parts: Parts, by: np.ndarray) -> Parts:
            """Return the same where logarithms of all spreads are so much higher."""
            precision, total, of_errors = (part * np.exp(-2 * by)[..., None] for part in parts)
            return precision, total, of_errors

        def marginal(variance: np.ndarray, log: np.ndarray, parts: Parts) -> np.ndarray:
            (precision, total, of_errors), variance = parts, variance[..., None]
            one, ratio = 1 + variance * precision, 1 + variance * total
            both = (of_alone * precision**2 / one).sum(-1) + (of_errors**2 / ratio).sum(-1)
            of_ratios = np.log(one) @ n_alone + np.log(ratio).sum(-1)
            return -(log @ self.count) - (of_ratios + (squares * precision).sum(-1) - variance[..., 0] * both) / 2

        def of_spreads(log: np.ndarray, variation: np.ndarray) -> np.ndarray:  # their mean is integrated out
            n = log.shape[-1]
            mean, of_mean = log.mean(-1), SPREAD_SD**2 + variation**2 / n
            around = ((log - mean[..., None]) ** 2).sum(-1) / variation**2 + (mean - SPREAD) ** 2 / of_mean
            return -around / 2 - (n - 1) * np.log(variation) - np.log(of_mean) / 2

        def to(at: np.ndarray, log: np.ndarray) -> Values:
            return {"case_spread": np.exp(at), "log_spread": log}

        parts = weighed(x)
        at = self._slice(
            "log case_spread",
            np.log(self.case_spread),
            lambda at: marginal(np.exp(2 * at), x, parts) + half_normal(at, OF_CASES),
        )
        both = np.exp(2 * at)[:, None] + np.exp(2 * x)

        def rest(at: np.ndarray) -> np.ndarray:
            return np.log(np.maximum(both - np.exp(2 * at)[..., None], _LEAST)) / 2

        def exchanged(at: np.ndarray) -> np.ndarray:
            log, within = rest(at), np.exp(2 * at) < both.min(-1) - _LEAST
            found = marginal(np.exp(2 * at), log, weighed(log)) + half_normal(at, OF_CASES)
            return np.where(within, found + of_spreads(log, self.variation) - 2 * log.sum(-1), -np.inf)

        for _ in range(self.exchanges):
            at = self._slice("exchange of spreads", at, exchanged, lambda at: to(at, rest(at)))
            x = rest(at)
            self._draw_variation("log variation", lambda variation, log=x: of_spreads(log, variation))
        given, parts = x, weighed(x)

        def of_factor(by: np.ndarray, at: np.ndarray) -> np.ndarray:
            log = given + by[..., None]
            return marginal(np.exp(2 * at), log, scaled(parts, by)) + of_spreads(log, self.variation)

        by = self._slice(
            "all spreads",
            np.zeros(len(at)),
            lambda by: of_factor(by, at + by) + half_normal(at + by, OF_CASES),
            lambda by: to(at + by, given + by[:, None]),
        )
        at, before = at + by, given + by[:, None]
        common = self._slice(
            "spreads of raters",
            np.zeros(len(at)),
            lambda more: of_factor(by + more, at),
            lambda more: to(at, before + more[:, None]),
        )
        self.case_spread, self.log_spread = np.exp(at), before + common[:, None]
        self._draw_typical()

    def _draw_variation(self, what: str, log_density: Callable[[np.ndarray], np.ndarray]) -> None:
        """Draw the standard deviation of log spreads, given their log density."""
        log = np.log(self.variation)
        log = self._slice(what, log, lambda at: log_density(np.exp(at)) + half_normal(at, OF_SPREADS))
        self.variation = np.exp(log)

    def _draw_typical(self) -> None:
        """Draw the mean of log spreads."""
        precision = SPREAD_SD**-2 + len(self.count) / self.variation**2
        centre = (SPREAD / SPREAD_SD**2 + self.log_spread.sum(1) / self.variation**2) / precision
        self.typical = self.random.normals("typical", centre, precision**-0.5)

    def _information(
        self,
        weight: Float[np.ndarray, "chain rating"],
        shrink: Float[np.ndarray, "chain case"],
        z: Float[np.ndarray, "chain rating"],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Precision of all effects but those of the largest group, cross and diagonal with these, and weighted sums.

        Those given ratings, without the priors of effects. The means of cases, integrated out, ``shrink`` the weights.
        """
        n, design = self.n_first, self.design
        wz = weight * z
        of_z = shrink * self._by_case(wz)
        if isinstance(design, np.ndarray):
            own = (weight[..., None] * design).swapaxes(1, 2)
            by_case = self._by_case(own)
            found = own @ design - (by_case * shrink[:, None]) @ by_case.swapaxes(1, 2)
            right = wz @ design - (by_case @ of_z[..., None])[..., 0]
            return found[:, :n, :n], found[:, :n, n:], np.einsum("...kk->...k", found)[:, n:], right
        each = []
        for of_ratings, of_cases, *sums_of in zip(weight, shrink, wz, of_z, strict=True):
            own = design.multiply(of_ratings[:, None]).tocsr()
            by_case = self.cases @ own
            found = (design.T @ own - by_case.T @ by_case.multiply(of_cases[:, None])).tocsr()
            right = design.T @ sums_of[0] - by_case.T @ sums_of[1]
            each.append((found[:n, :n].toarray(), found[:n, n:].toarray(), found.diagonal()[n:], right))
        precision, cross, diagonal, right = (np.stack(of) for of in zip(*each, strict=True))
        return precision, cross, diagonal, right

    def _draw_effects(self) -> None:
        """Draw location, severities, effects and coefficients together, with the means of cases integrated out."""
        weight, variance, n = np.exp(-2 * self.log_spread)[:, self.rated.rater], self.case_spread**2, self.n_first
        shrink = variance[:, None] / (1 + variance[:, None] * self._by_case(weight))
        precision, cross, diagonal, right = self._information(weight, shrink, self.z)
        scales = {"location": LOCATION, "severity": self.severity_spread, "coefficients": OF_SCORES}
        scales |= {f"{name}_effect": scale for name, scale in self.scales.items()}
        prior = np.empty(right.shape)
        for name, own in self.columns.items():
            prior[:, own] = np.reshape(scales[name], (-1, 1)) ** -2.0
        precision[:, np.arange(n), np.arange(n)] += prior[:, :n]
        diagonal, of_largest = diagonal + prior[:, n:], right[:, n:]
        precision -= (cross / diagonal[:, None]) @ cross.swapaxes(1, 2)
        right = right[:, :n] - (cross @ (of_largest / diagonal)[..., None])[..., 0]
        root = np.linalg.cholesky(precision)
        given = right + (root @ self.random.standard_normal((*right.shape, 1)))[..., 0]
        found = np.stack([cho_solve((of, True), sums_of) for of, sums_of in zip(root, given, strict=True)])

        def centre(x: np.ndarray) -> np.ndarray:
            return (of_largest - (x[:, None, :n] @ cross)[:, 0]) / diagonal

        noise = self.random.standard_normal(diagonal.shape) / np.sqrt(diagonal)
        found = np.append(found, centre(found) + noise, axis=1)

        def log_density(x: np.ndarray) -> np.ndarray:
            found = (right * x[:, :n]).sum(1) - ((x[:, None, :n] @ root) ** 2).sum((1, 2)) / 2
            return found - (diagonal * (x[:, n:] - centre(x)) ** 2).sum(1) / 2

        def to(x: np.ndarray) -> Values:
            return {name: x[:, of] for name, of in self.columns.items()} | {"location": x[:, 0]}

        made = to(self.random.declared("effects", found, log_density, to))
        self.location, self.severity = made["location"], made["severity"]
        self.coefficients = made["coefficients"]
        self.effects = {name: made[f"{name}_effect"] for name in self.effects}

    def _draw_scales_of_groups(self) -> None:
        """Draw the standard deviations of effects of groups of cases, with the means of cases integrated out."""
        if not self.effects:
            return
        weight = np.exp(-2 * self.log_spread)[:, self.rated.rater]
        total = self._by_case(weight)
        precision = total / (1 + self.case_spread[:, None] ** 2 * total)
        rest = self._by_case(weight * (self.z - self.severity[:, self.rated.rater])) / total - self.expected
        for name, (_, code) in self.rated.groups.items():
            x = self.effects[name]
            of_case = x[:, code]
            rest = rest + of_case
            quadratic = (precision * of_case**2).sum(1), (precision * rest * of_case).sum(1)
            what, prior = (f"{name}_spread", f"{name}_effect"), partial(half_normal, scale=OF_GROUPS)
            self.scales[name], factor = self.random.scale(what, x, self.scales[name], prior, *quadratic)
            self.effects[name], rest = factor[:, None] * x, rest - factor[:, None] * of_case

    def _draw_means(self) -> None:
        """Draw the means of cases, their spread given these, and what the raters of a group err together.

        The latter is integrated out of the means.
        """
        rated, n, n_cells = self.rated, self.rated.n_cases, self.shared.shape[1]
        weight = np.exp(-2 * self.log_spread)[:, rated.rater]
        latent, of_cases = self.latent - self.severity[:, rated.rater], self.case_spread[:, None] ** -2
        at = np.where(self.cell < 0, n_cells + rated.case, self.cell)  # the cells of groups, then cases for all others
        weights, totals = (sums(at, of, n_cells + n) for of in (weight, weight * latent))
        of_cell, sum_of_cell, scale = (
            weights[:, :n_cells],
            totals[:, :n_cells],
            self.shared_spread[:, self.group_of_cell],
        )
        ratio = 1 / (1 + scale**2 * of_cell)
        precision = weights[:, n_cells:] + sums(self.case_of_cell, ratio * of_cell, n) + of_cases
        total = totals[:, n_cells:] + sums(self.case_of_cell, ratio * sum_of_cell, n) + self.expected * of_cases
        self.mean = self.random.normals("mean", total / precision, precision**-0.5)
        squares = ((self.mean - self.expected) ** 2).sum(1)
        log = self._slice(
            "log case_spread | mean",
            np.log(self.case_spread),
            lambda at: -n * at - squares / (2 * np.exp(2 * at)) + half_normal(at, OF_CASES),
        )
        self.case_spread = np.exp(log)
        if n_cells:
            precision = of_cell + scale**-2
            mean = (sum_of_cell - of_cell * self.mean[:, self.case_of_cell]) / precision
            self.shared = self.random.normals("shared", mean, precision**-0.5)

    def _draw_scales(self) -> None:
        """Draw those of severities and shared errors, given these, and given these in units of theirs."""
        rated, weight = self.rated, np.exp(-2 * self.log_spread)
        error = self.z - self.mean[:, rated.case]
        quadratic = (
            (weight * self.count * self.severity**2).sum(1),
            (weight * self._by_rater(error) * self.severity).sum(1),
        )
        what, prior = ("severity_spread", "severity"), partial(half_normal, scale=OF_SEVERITIES)
        self.severity_spread, factor = self.random.scale(what, self.severity, self.severity_spread, prior, *quadratic)
        self.severity = factor[:, None] * self.severity
        weight, error = weight[:, rated.rater], error + self.of_group - self.severity[:, rated.rater]
        for group in range(self.shared_spread.shape[1]):
            own, shared, scales = self.group_of_cell == group, self.of_group, self.shared_spread
            weight_of = np.where((self.cell >= 0) & (self.group_of_cell[self.cell] == group), weight, 0)
            quadratic = (weight_of * shared**2).sum(1), (weight_of * error * shared).sum(1)

            def to(scale: np.ndarray, factor: np.ndarray, own=own, group=group, scales=scales) -> Values:
                of_groups = np.where(np.arange(scales.shape[1]) == group, scale[:, None], scales)
                return {SHARED: of_groups, "shared": np.where(own, factor[:, None], 1) * self.shared}

            what, prior = (f"{SHARED} {group}", "shared"), partial(half_normal, scale=OF_SHARED)
            found = self.random.scale(what, self.shared[:, own], scales[:, group], prior, *quadratic, to)
            self.shared_spread, self.shared = to(*found).values()

    def _draw_log_spread(self) -> Callable[[np.ndarray], np.ndarray]:
        """Draw the spreads of raters given latent numbers and means; return the log likelihood of their logarithms."""
        rated = self.rated
        error = self.z - self.mean[:, rated.case] - self.severity[:, rated.rater]
        squares = self._by_rater(error**2) + rated.rounding**2

        def of_ratings(log: np.ndarray) -> np.ndarray:
            return -self.count * log - squares * np.exp(-2 * log) / 2

        self.log_spread = self.random.slices(
            "log_spread | mean", self.log_spread, _WIDTH, lambda log: of_ratings(log) + self._of_log_spread(log)
        )
        return of_ratings

    def _draw_spreads(self) -> None:
        """Draw the spreads of raters and their distribution."""
        of_ratings, n = self._draw_log_spread(), len(self.count)
        x = self.log_spread
        self._draw_typical()
        typical, rest = self.typical, x - self.typical[:, None]
        of_rest = (rest**2).sum(1)
        self._draw_variation("log variation | typical", lambda sd: -n * np.log(sd) - of_rest / (2 * sd**2))
        deviation = rest / self.variation[:, None]

        def at(typical: np.ndarray, log: np.ndarray) -> np.ndarray:
            return typical[..., None] + np.exp(log)[..., None] * deviation

        given = np.log(self.variation)
        typical = self._slice(
            "typical, deviations held",
            typical,
            lambda x: -(((x - SPREAD) / SPREAD_SD) ** 2) / 2 + of_ratings(at(x, given)).sum(-1),
            lambda x: {"typical": x, "log_spread": at(x, given)},
        )
        log = self._slice(
            "variation, deviations held",
            given,
            lambda x: half_normal(x, OF_SPREADS) + of_ratings(at(typical, x)).sum(-1),
            lambda x: {"variation": np.exp(x), "log_spread": at(typical, x)},
        )
        self.typical, self.variation, self.log_spread = typical, np.exp(log), at(typical, log)

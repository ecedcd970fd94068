"""Moves of Gibbs samplers, each of which declares the log density of what it draws.

A sampler makes all of its moves by the methods of :class:`Moves`: a draw from a conditional distribution, or a step by
a slice, which leaves it unchanged. The parameters, or the function, that a variable is drawn by are those of the log
density that is declared. So a test that compares log densities with that of the program tests what runs
(``tests/test_inference/test_conditionals.py``).

Functions within moves are annotated without shapes, which would be made anew in every sweep, a tenth of its time.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln, log_ndtr, ndtri_exp, xlogy

from plausibly.inference.draws import categorical, customers, dirichlet

AHEAD = 4  #: points of a slice that are looked at together, where a call takes longer than what it computes
POINTS = 32  #: of a slice, of which four are rarely needed
BROAD = 3.0  #: width of slices of logarithms, which may be vague
_STEPS, _NARROWEST = 15.0, 0.01  # width of a slice, in mean steps of the warm-up, and at least in the width given
_RECENT, _FIRST = 50, 10  # moves that a mean step is of, and after which it is used
_ACCEPTED, _STEP = 0.8, 0.3  # share of trajectories that are accepted, and their steps at first
Numbers = Float[np.ndarray, "*shape"] | float
To = Callable[[Any], Mapping[str, Any]]  #: the sites that a value stands for


class Moves(np.random.Generator):
    """Random numbers of a chain, and moves of its variables.

    The first argument of a move is what it draws: a site of the program, or an auxiliary variable. Slices are along the
    logarithm or the log odds of a site whose name follows ``"log "`` or ``"logit "``, and their log densities are with
    respect to these.

    Slices begin at the width that they are given. In a warm-up (``learning``), the width of each becomes several times
    its mean step, so that fewer points are looked at; then it stays. So do the steps of trajectories.

    Examples
    --------
    >>> random = Moves.of(0)
    >>> random.betas("share", 2.0, np.array([1.0, 3.0])).shape
    (2,)
    """

    learning = False  #: whether moves count for the widths of slices and the steps of trajectories
    _steps = np.empty((1 + POINTS, 0))
    _drops = np.empty(0)

    def __init__(self, bits: np.random.BitGenerator):
        super().__init__(bits)
        self._mean_steps: dict[str, tuple[int, float]] = {}  # moves of each slice, and their mean step in widths
        self._log_steps: dict[str, tuple[int, float]] = {}  # trajectories, and the logarithm of their steps

    @classmethod
    def of(cls, *seed: int) -> "Moves":
        """Make the numbers of a seed."""
        return cls(np.random.PCG64(seed[0] if len(seed) == 1 else seed))

    def declared(
        self,
        what: str,
        value: Any,
        log_density: Callable[[Any], Any],
        to: To | None = None,
        old: Any = None,
    ) -> Any:
        """Return the value; a test looks at its log density, by element, by row or in all, up to a constant.

        ``to`` are the sites that a value stands for, if it is not that of a single one; a slice begins at the ``old``.
        """
        return value

    def rows(
        self,
        what: str,
        shape: Float[np.ndarray, "*row k"] | Int[np.ndarray, "*row k"],
        first: Float[np.ndarray, "*chain k k"] | None = None,
        least: float = 1e-290,
    ) -> Float[np.ndarray, "*row k"]:
        """Draw from Dirichlet distributions.

        If rows are those in which the ``first`` have the largest on the diagonal, others are refused, and stay.
        """
        drawn = dirichlet(shape, self, least)
        if first is not None:
            largest = np.diagonal(drawn, axis1=-2, axis2=-1) >= drawn.max(-1)
            drawn = np.where(largest[..., None], drawn, first)

        def log_density(x: np.ndarray) -> np.ndarray:
            return xlogy(np.subtract(shape, 1), np.where(np.asarray(shape) > 0, x, 1)).sum(-1)

        return self.declared(what, drawn, log_density)

    def betas(self, what: str, first: Numbers, second: Numbers, before: Numbers = 0.0, bound: float = 0.0) -> Any:
        """Draw from beta distributions, 1 - 1e-12 at most; below the bound it is refused, and that ``before`` stays."""
        drawn = np.minimum(self.beta(first, second), 1 - 1e-12)
        drawn = np.where(drawn >= bound, drawn, before)
        return self.declared(what, drawn, lambda x: xlogy(first - 1.0, x) + xlogy(second - 1.0, 1 - np.asarray(x)))

    def gammas(self, what: str, shape: Numbers, rate: Numbers, to: To | None = None) -> Any:
        """Draw from gamma distributions."""
        drawn = np.maximum(self.standard_gamma(shape) / rate, 1e-290)
        return self.declared(what, drawn, lambda x: xlogy(np.subtract(shape, 1.0), x) - rate * x, to)

    def normals(self, what: str, mean: Numbers, sd: Numbers) -> Any:
        """Draw from normal distributions."""
        drawn = mean + sd * self.standard_normal(np.broadcast_shapes(np.shape(mean), np.shape(sd)))
        return self.declared(what, drawn, lambda x: -(((x - mean) / sd) ** 2) / 2)

    def between(self, what: str, lower: Numbers, upper: Numbers, mean: Numbers, sd: Numbers) -> Float[np.ndarray, "*n"]:
        """Draw from normal distributions between bounds, however far out these are."""
        low, high = np.subtract(lower, mean) / sd, np.subtract(upper, mean) / sd
        flip = low > -high  # to the left tail, which logarithms of probabilities reach into
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        with np.errstate(divide="ignore"):
            u = self.random(low.shape)
            z = ndtri_exp(np.logaddexp(log_ndtr(low) + np.log1p(-u), log_ndtr(high) + np.log(u)))
        z = np.clip(z, low, high)
        return self.declared(what, mean + sd * np.where(flip, -z, z), lambda x: -(((x - mean) / sd) ** 2) / 2)

    def classes(self, what: str, weights: Float[np.ndarray, "class *row"]) -> Int[np.ndarray, "*row"]:
        """Draw a class of each row."""
        drawn = categorical(weights, self)

        def log_density(x: np.ndarray) -> np.ndarray:
            with np.errstate(divide="ignore"):
                return np.log(np.take_along_axis(weights, x[None], 0)[0])

        return self.declared(what, drawn, log_density)

    def whether(self, what: str, probability: Float[np.ndarray, "*row"]) -> Bool[np.ndarray, "*row"]:
        """Draw what is true with some probability."""
        drawn = self.random(probability.shape) < probability
        return self.declared(what, drawn, lambda x: np.log(np.where(x, probability, 1 - probability)))

    def tables(
        self, what: str, shape: Float[np.ndarray, "*cell"], counts: Int[np.ndarray, "*cell"], to: To | None = None
    ) -> Int[np.ndarray, "*cell"]:
        """Draw the tables of Chinese restaurants, where the first customer always has a new one.

        The density is relative to the number of ways to sit at so many tables.
        """
        cell, before = customers(counts.ravel())
        own = shape.ravel()[cell]
        new = (self.random(len(cell)) * (own + before) < own) | (before == 0)
        drawn = np.bincount(cell[new], minlength=counts.size).reshape(counts.shape)
        return self.declared(what, drawn, lambda x: xlogy(x, shape) + gammaln(shape) - gammaln(shape + counts), to)

    def among(
        self, what: str, n: Int[np.ndarray, "*cell"], share: Float[np.ndarray, "*cell"], to: To | None = None
    ) -> Any:
        """Draw how many of so many have something; the density is relative to the number of ways to choose so many."""
        return self.declared(what, self.binomial(n, share), lambda x: xlogy(x, share) + xlogy(n - x, 1 - share), to)

    def slices(
        self,
        what: str,
        x: Float[np.ndarray, "*lane"],
        width: Float[np.ndarray, "*lane"] | float,
        log_density: Callable[[np.ndarray], np.ndarray],
        to: To | None = None,
        ahead: int = AHEAD,
    ) -> Float[np.ndarray, "*lane"]:
        """Move variables that are independent of each other by slices, or points along lines through ``to(x)``.

        An interval placed at random shrinks until it is met, which is right for any width. Neal (2003), Slice sampling,
        Annals of Statistics 31, section 4.2. Where it shrinks to if it is not met is known before, so the log density
        is computed of so many points ``ahead`` in one call; a variable that none of all points suits stays.
        """
        steps, drop = self._shrinking(x.shape)
        own, at = width * self._narrowed(what), 1 + ahead
        points = x + own * steps[:at]
        density = log_density(points)
        level = density[0] - drop
        drawn, met = _first(points[1:], density[1:] >= level)
        while not met.all():
            if at > POINTS:
                drawn = np.where(met, drawn, x)
                break
            points = x + own * steps[at : at + ahead]
            later, found = _first(points, log_density(points) >= level)
            drawn, met, at = np.where(met, drawn, later), met | found, at + ahead
        if self.learning:
            self._learn(what, float(np.abs((drawn - x) / width).mean()))
        return self.declared(what, drawn, lambda x: log_density(x[None])[0], to, x)

    def _narrowed(self, what: str) -> float:
        """Return the share of its width that a slice has."""
        moves, step = self._mean_steps.get(what, (0, 1.0))
        return min(1.0, max(_STEPS * step, _NARROWEST)) if moves >= _FIRST else 1.0

    def _learn(self, what: str, step: float) -> None:
        """Add a step, in widths, to the mean of recent ones."""
        moves, mean = self._mean_steps.get(what, (0, 0.0))
        self._mean_steps[what] = moves + 1, mean + (step - mean) / min(moves + 1, _RECENT)

    def _shrinking(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return steps from the old value to the points of slices of width 1, the first 0, and drops of their levels.

        They are drawn many at a time, as a call takes longer than a number.
        """
        size = math.prod(shape)
        if len(self._drops) < size:
            self._steps, self._drops = np.zeros((1 + POINTS, n := max(size, 2048))), self.standard_exponential(n)
            low = -self.random(n)
            high = low + 1
            for step, u in zip(self._steps[1:], self.random((POINTS, n)), strict=True):
                step[:] = low + (high - low) * u
                low, high = np.where(step < 0, step, low), np.where(step < 0, high, step)
        steps, drops = self._steps[:, :size], self._drops[:size]
        self._steps, self._drops = self._steps[:, size:], self._drops[size:]
        return steps.reshape(-1, *shape), drops.reshape(shape)

    def trajectory(
        self,
        what: str,
        x: Float[np.ndarray, "chain number"],
        mass: Float[np.ndarray, "chain number"],
        steps: int,
        log_density: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
        to: To,
    ) -> Float[np.ndarray, "chain number"]:
        """Move all variables of each chain along a Hamiltonian trajectory of about so many leapfrog steps.

        ``log_density`` returns that of each chain, and its gradient; a ``mass`` is about how fast the gradient changes,
        and must not depend on the variables. Neal (2011), MCMC using Hamiltonian dynamics, Handbook of Markov Chain
        Monte Carlo, chapter 5.
        """
        moves, log_step = self._log_steps.get(what, (0, math.log(_STEP)))
        step, last = math.exp(log_step), int(self.integers(steps // 2, steps + steps // 2))
        momentum = np.sqrt(mass) * self.standard_normal(x.shape)
        density, slope = log_density(x)
        before = density - (momentum**2 / mass).sum(1) / 2
        drawn, velocity = x, step / mass
        momentum += step / 2 * slope
        for at in range(last + 1):
            drawn = drawn + velocity * momentum
            density, slope = log_density(drawn)
            momentum += (step if at < last else step / 2) * slope
        after = density - (momentum**2 / mass).sum(1) / 2
        accepted = np.exp(np.minimum(np.nan_to_num(after - before, nan=-np.inf), 0))
        if self.learning:
            by = (float(accepted.mean()) - _ACCEPTED) / min(moves + 1, _RECENT) ** 0.5
            self._log_steps[what] = moves + 1, log_step + by
        drawn = np.where((self.random(len(x)) < accepted)[:, None], drawn, x)
        return self.declared(what, drawn, lambda x: log_density(x)[0], to, x)

    def scale(
        self,
        what: tuple[str, str],
        x: Float[np.ndarray, "chain effect"],
        scale: Float[np.ndarray, " chain"],
        log_prior: Callable[[Any], Any],
        square: Float[np.ndarray, " chain"],
        linear: Float[np.ndarray, " chain"],
        to: Callable[[Any, Any], Mapping[str, Any]] | None = None,
    ) -> tuple[Float[np.ndarray, " chain"], Float[np.ndarray, " chain"]]:
        r"""Move the standard deviation of normal effects given these, and then both by one factor.

        ``what`` names the scale and the effects, ``log_prior`` is the log density of the logarithm of the scale, and
        :math:`l f - q f^2 / 2` the log likelihood of the effects times f, with q ``square`` and l ``linear``: one of
        the two moves suits much data, the other little (Yu & Meng 2011, To center or not to center, Journal of
        Computational and Graphical Statistics 20). ``to(scale, factor)`` are the sites, if these are not all effects.
        Returns the scale and the factor.
        """
        squares, n, (name, effects) = (x**2).sum(1), x.shape[1], what
        to = to or (lambda scale, factor: {name: scale, effects: factor[:, None] * x})
        log = self.slices(
            f"{name} given {effects}",
            np.log(scale),
            BROAD,
            lambda at: -n * at - squares / (2 * np.exp(2 * at)) + log_prior(at),
            lambda at: to(np.exp(at), np.ones(len(at))),
        )
        by = self.slices(
            f"{name} with {effects}",
            np.zeros(len(x)),
            BROAD,
            lambda at: linear * np.exp(at) - square * np.exp(2 * at) / 2 + log_prior(log + at),
            lambda at: to(np.exp(log + at), np.exp(at)),
        )
        return np.exp(log + by), np.exp(by)


def half_normal(log: Numbers, scale: float) -> Numbers:
    """Log density of the logarithm of a half-normal variable, up to a constant."""
    return log - (np.exp(log) / scale) ** 2 / 2


def _first(points: np.ndarray, met: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first point of each variable that is met, and whether there is one."""
    at = met.argmax(0)
    return at.choose(points, mode="clip"), at.choose(met, mode="clip")

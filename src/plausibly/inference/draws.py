"""Draws of conditional distributions by NumPy's generators, of many variables side by side."""

from collections.abc import Callable
from itertools import accumulate

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_ndtr, ndtri_exp


def dirichlet(
    shape: Float[np.ndarray, "*row k"] | Int[np.ndarray, "*row k"], random: np.random.Generator, least: float = 1e-290
) -> Float[np.ndarray, "*row k"]:
    """Draw from Dirichlet distributions, by gamma variables of which smaller ones become the least."""
    gammas = np.maximum(random.standard_gamma(shape), least)
    return gammas / gammas.sum(-1, keepdims=True)


def categorical(weights: Float[np.ndarray, "class row"], random: np.random.Generator) -> Int[np.ndarray, " row"]:
    """Draw a class of each row, by sums class by class: NumPy's along this axis are several times slower."""
    totals = list(accumulate(weights))
    chosen = random.random(weights.shape[1]) * totals[-1]
    drawn = np.zeros(weights.shape[1], int)
    for total in totals[:-1]:
        drawn += total <= chosen
    return drawn


def draw_tables(
    shape: Float[np.ndarray, "*cell"], counts: Int[np.ndarray, "*cell"], random: np.random.Generator
) -> Int[np.ndarray, "*cell"]:
    """Draw the tables that so many customers occupy in a Chinese restaurant: the first always has a new one."""
    cell, before = customers(counts.ravel())
    own = shape.ravel()[cell]
    new = random.random(len(cell)) * (own + before) < own
    return np.bincount(cell[new | (before == 0)], minlength=counts.size).reshape(counts.shape)


def customers(count: Int[np.ndarray, " cell"]) -> tuple[Int[np.ndarray, " customer"], Int[np.ndarray, " customer"]]:
    """Cell of every customer of all restaurants, and how many of hers sit before her."""
    cell = np.repeat(np.arange(len(count)), count)
    return cell, np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count)


def slice_draw(
    x: Float[np.ndarray, " lane"],
    width: Float[np.ndarray, " lane"] | float,
    log_density: Callable[[Float[np.ndarray, " lane"]], Float[np.ndarray, " lane"]],
    random: np.random.Generator,
) -> Float[np.ndarray, " lane"]:
    """Draw each variable by a slice: an interval placed at random shrinks until it is met; any width is right.

    Neal (2003), Slice sampling, Annals of Statistics 31, section 4.2.
    """
    level = log_density(x) - random.standard_exponential(x.shape)
    low = x - width * random.random(x.shape)
    high = low + width
    drawn, open_ = x.copy(), np.ones(x.shape, bool)
    while open_.any():
        drawn = np.where(open_, low + (high - low) * random.random(x.shape), drawn)
        outside = open_ & ~(log_density(drawn) >= level) & (high - low >= 1e-10)
        low, high = np.where(outside & (drawn < x), drawn, low), np.where(outside & (drawn >= x), drawn, high)
        open_ = outside
    return drawn


def slice_one(x: float, width: float, log_density: Callable[[float], float], random: np.random.Generator) -> float:
    """Draw one variable by a slice, as :func:`slice_draw` draws many."""
    level = log_density(x) - random.standard_exponential()
    low = x - width * random.random()
    high = low + width
    while high - low >= 1e-10:
        drawn = low + (high - low) * random.random()
        if log_density(drawn) >= level:
            return drawn
        low, high = (drawn, high) if drawn < x else (low, drawn)
    return x


def log_gammas(shape: Float[np.ndarray, "*shape"], random: np.random.Generator) -> Float[np.ndarray, "*shape"]:
    """Logarithms of gamma variables, by NumPy: of small shapes, most variables are too small for a number."""
    return np.log(random.standard_gamma(shape + 1)) - random.standard_exponential(shape.shape) / shape


def draw_between(
    lower: Float[np.ndarray, "*n"] | float,
    upper: Float[np.ndarray, "*n"] | float,
    mean: Float[np.ndarray, "*n"] | float,
    sd: Float[np.ndarray, "*n"] | float,
    random: np.random.Generator,
) -> Float[np.ndarray, "*n"]:
    """Normal variables between bounds, however far out these are."""
    low, high = (lower - mean) / sd, (upper - mean) / sd
    flip = low > -high  # to the left tail, which logarithms of probabilities reach into
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    with np.errstate(divide="ignore"):
        u = random.random(low.shape)
        z = ndtri_exp(np.logaddexp(log_ndtr(low) + np.log1p(-u), log_ndtr(high) + np.log(u)))
    z = np.clip(z, low, high)
    return mean + sd * np.where(flip, -z, z)

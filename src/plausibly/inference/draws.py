"""Draws of conditional distributions by NumPy's generators, of many variables side by side."""

import math

import numpy as np
from jaxtyping import Float, Int


def dirichlet(
    shape: Float[np.ndarray, "*row k"] | Int[np.ndarray, "*row k"], random: np.random.Generator, least: float = 1e-290
) -> Float[np.ndarray, "*row k"]:
    """Draw from Dirichlet distributions, by gamma variables of which smaller ones become the least."""
    gammas = np.maximum(random.standard_gamma(shape), least)
    return gammas / gammas.sum(-1, keepdims=True)


def simplexes(x: Float[np.ndarray, "*row k"]) -> tuple[Float[np.ndarray, "*row k"], Float[np.ndarray, "*row k"]]:
    """Return the shares whose logarithms are so, up to a number for each row, and their logarithms."""
    x = x - x.max(-1, keepdims=True)
    shares = np.exp(x)
    total = shares.sum(-1, keepdims=True)
    return shares / total, x - np.log(total)


def categorical(weights: Float[np.ndarray, "class *row"], random: np.random.Generator) -> Int[np.ndarray, "*row"]:
    """Draw a class of each row, by sums class by class: NumPy's along this axis are several times slower."""
    totals = np.empty(weights.shape, weights.dtype)
    totals[0] = weights[0]
    for before, weight, total in zip(totals, weights[1:], totals[1:], strict=False):
        np.add(before, weight, out=total)
    point = (random.random(weights.shape[1:]) * totals[-1]).astype(weights.dtype)
    below = totals[:-1] <= np.minimum(point, np.nextafter(totals[-1], 0))  # rounded, it may be the total
    narrow = np.uint8 if len(weights) <= 256 else int  # sums of which take less time
    return below.view(np.uint8).sum(0, dtype=narrow).astype(int)


def customers(count: Int[np.ndarray, " cell"]) -> tuple[Int[np.ndarray, " customer"], Int[np.ndarray, " customer"]]:
    """Cell of every customer of all restaurants, and how many of hers sit before her."""
    cell = np.repeat(np.arange(len(count)), count)
    return cell, np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count)


def sums(
    code: Int[np.ndarray, " element"], weights: Float[np.ndarray, "*row element"], n: int
) -> Float[np.ndarray, "*row n"]:
    """Sum the weights of the elements of each code below n, row by row.

    Examples
    --------
    >>> sums(np.array([0, 2, 2]), np.array([[1.0, 2.0, 3.0], [0.5, 0.0, 4.0]]), 3).tolist()
    [[1.0, 0.0, 5.0], [0.5, 0.0, 4.0]]
    """
    rows = math.prod(weights.shape[:-1])
    at = code + n * np.arange(rows)[:, None]
    return np.bincount(at.ravel(), weights.ravel(), n * rows).reshape(*weights.shape[:-1], n)

"""The Plackett-Luce distribution of partial rankings, over the package's block primitive."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Integer, Key, UInt32
from numpyro.distributions import Distribution, constraints

from plausibly.distributions.primitives import block_log_prob


class Ties(NamedTuple):
    """Distinct tied blocks of the same size, each with the other classes that were left."""

    members: Bool[Array, "tie member class"]  #: one-hot, or no class, where there is room for a larger block
    rest: Bool[Array, "tie class"]
    draws: Float[Array, "annotation tie"]  #: how often an annotation makes this draw: 0 or 1


class PartialRankings(NamedTuple):
    """Partial rankings split into draws, where every distinct draw appears once.

    The log probability of an annotation is a sum over its draws, and annotations of one case share most of theirs: the
    first draw is always made from all classes.
    """

    positions: Int[Array, "annotation class"]  #: the value proper: the position of each class's block, 0 the best
    singles: Float[Array, "annotation class"]  #: 1 where the annotation names the class alone in its block
    remaining: Bool[Array, "set class"]  #: the different sets from which a single class is drawn, itself included
    draws: Float[Array, "annotation set"]  #: how often an annotation draws a single class from the set: 0 or 1
    ties: tuple[Ties, ...]  #: tied blocks, one entry for each size that occurs

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value, which NumPyro needs to know of an observation."""
        return self.positions.shape

    def __jax_array__(self) -> Int[Array, "*case annotation class"]:
        """The value as NumPyro sees it when it asks for the number of its dimensions."""
        return jnp.asarray(self.positions)


def _log_sum(x: Float[Array, "*#set class"], mask: Bool[Array, "*set class"]) -> Float[Array, "*set"]:
    """Logarithm of the total weight within each set; minus infinity for an empty one, with a derivative of zero."""
    greatest = jax.lax.stop_gradient(jnp.where(mask, x, -jnp.inf).max(-1, keepdims=True))
    greatest = jnp.where(jnp.isfinite(greatest), greatest, 0)
    total = jnp.exp(jnp.where(mask, x - greatest, -jnp.inf)).sum(-1)
    found = total > 0
    return jnp.where(found, jnp.log(jnp.where(found, total, 1)) + greatest[..., 0], -jnp.inf)


_FEW = 16  # classes: room for as many blocks costs less than programs for different numbers of them


def _drawn(value: Integer[np.ndarray, "*shape class"]) -> tuple[int, int]:
    """Most blocks of any ranking, and size of the largest block, both without last blocks and at least 1."""
    value = np.sort(value.reshape(-1, value.shape[-1]))
    begins = np.concatenate([np.ones((len(value), 1), bool), value[:, 1:] != value[:, :-1]], axis=1)
    start = np.flatnonzero(begins)
    sizes = np.diff(start, append=value.size)
    row, column = np.divmod(start, value.shape[1])
    last = value[row, column] == value[row, -1]
    return max(int(begins.sum(1).max(initial=0)) - 1, 1), int(sizes[~last].max(initial=1))


def _check_sizes(block_sizes: Int[ArrayLike, "*#batch block"], n_classes: int) -> None:
    sizes = np.asarray(block_sizes)
    if not np.issubdtype(sizes.dtype, np.integer) or (sizes < 0).any() or (sizes.sum(-1) > n_classes).any():
        raise ValueError(
            f"block_sizes must be whole numbers of at least 0 that sum up to at most the {n_classes} classes, "
            f"got {sizes.tolist()}"
        )


class PartialPlackettLuce(Distribution):
    r"""Plackett-Luce distribution of partial rankings: classes are drawn by weight without replacement.

    Parameters
    ----------
    log_weights
        Log weights of the classes, on any scale: adding a constant to all of them changes nothing.
    block_sizes
        Number of classes in each block, best first, without the last (unranked) block. They are needed for sampling,
        because the model determines which classes come first but not how many an annotator names; without them, samples
        are full rankings. ``log_prob`` takes the sizes from its value. Zeros are allowed; the sum must not exceed the
        number of classes.
    max_block_size
        Largest tied block, apart from the last, that ``log_prob`` of integer vectors supports under ``jit``; for larger
        blocks it returns NaN. By default there is no limit: if the value is known when ``log_prob`` is called, its
        largest block is used, otherwise the number of classes.

    Raises
    ------
    ValueError
        If the last axis of the weights or of a ranking is empty, the limit is below one, or block sizes are not whole
        numbers or too large.

    Notes
    -----
    ``log_prob`` is the probability of the ranking given its block sizes, where the last block contributes a factor of
    one (Stutz et al. 2025, section 2.3.3). The probabilities of all rankings with the same block sizes sum to one.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> d = PartialPlackettLuce(jnp.log(jnp.array([0.5, 0.3, 0.2])))
    >>> round(float(jnp.exp(d.log_prob(jnp.array([0, 1, 1])))), 6)  # class 0, the others unranked
    0.5
    """

    arg_constraints = {"log_weights": constraints.real_vector}
    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(
        self,
        log_weights: Float[ArrayLike, "*#batch class"] | Int[ArrayLike, "*#batch class"],
        block_sizes: Int[ArrayLike, "*#batch block"] | None = None,
        *,
        max_block_size: int | None = None,
        validate_args: bool | None = None,
    ):
        if jnp.ndim(log_weights) < 1:
            raise ValueError("log_weights must have the classes on its last axis, got a scalar")
        self.log_weights = jnp.asarray(log_weights)
        if not jnp.issubdtype(self.log_weights.dtype, jnp.floating):
            self.log_weights = self.log_weights.astype(float)
        self.n_classes = self.log_weights.shape[-1]
        if max_block_size is not None and max_block_size < 1:
            raise ValueError(f"max_block_size must be at least 1, got {max_block_size}")
        self.max_block_size = max_block_size
        if block_sizes is not None and not isinstance(block_sizes, Tracer):
            _check_sizes(block_sizes, self.n_classes)
        self.block_sizes = None if block_sizes is None else jnp.asarray(block_sizes)
        batch = self.log_weights.shape[:-1]
        if self.block_sizes is not None:
            batch = jnp.broadcast_shapes(batch, self.block_sizes.shape[:-1])
        self._expanded: tuple[int, ...] = ()  # of what has been expanded, the batch that its leaves do not show
        super().__init__(batch_shape=batch, event_shape=(self.n_classes,), validate_args=validate_args)

    def tree_flatten(self):
        """Return leaves and static data, for ``jit`` and ``vmap``."""
        static = (self.max_block_size, self._batch_shape, self._event_shape, self._validate_args, self._expanded)
        return (self.log_weights, self.block_sizes), static

    @classmethod
    def tree_unflatten(cls, aux_data, params):
        """Rebuild the object from :meth:`tree_flatten` without looking at the leaves, which may be anything."""
        self = cls.__new__(cls)
        self.log_weights, self.block_sizes = params
        self.max_block_size, self._batch_shape, self._event_shape, self._validate_args, self._expanded = aux_data
        self.n_classes = self._event_shape[0]
        return self

    def expand(self, batch_shape: tuple[int, ...]) -> "PartialPlackettLuce":
        """Expand the distribution to more independent annotations without copying the weights."""
        leaves, (size, _, event, validate, _) = self.tree_flatten()
        return self.tree_unflatten((size, tuple(batch_shape), event, validate, tuple(batch_shape)), leaves)

    def sample(
        self, key: Key[Array, ""] | UInt32[Array, " 2"], sample_shape: tuple[int, ...] = ()
    ) -> Int[Array, "*shape class"]:
        """Draw partial rankings with the given block sizes, by a race of exponential variables."""
        noise = jax.random.gumbel(key, sample_shape + self.batch_shape + self.event_shape, self.log_weights.dtype)
        order = jnp.argsort(-(self.log_weights + noise), axis=-1)
        places = jnp.argsort(order, axis=-1)
        if self.block_sizes is None:
            return places
        return (places[..., None] >= jnp.cumsum(self.block_sizes, -1)[..., None, :]).sum(-1)

    def log_prob(self, value: Integer[ArrayLike, "*shape class"] | PartialRankings) -> Float[Array, "..."]:
        """Compute the log probability of partial rankings (integer vectors, or split into draws); batches broadcast.

        For rankings split into draws, all annotations have the same weights, (class,), or each has its own, (…,
        annotation, class); then no two annotations may share a draw, unless there is only one row.
        """
        if isinstance(value, PartialRankings):
            return self._log_prob_of_draws(value) if self.log_weights.ndim == 1 else self._log_prob_by_annotation(value)
        if jnp.ndim(value) < 1 or jnp.shape(value)[-1] != self.n_classes:
            raise ValueError(
                f"a partial ranking must hold the position of each of {self.n_classes} classes on its last axis, "
                f"got an array of shape {jnp.shape(value)}"
            )
        size = self.n_classes if self.max_block_size is None else min(self.max_block_size, self.n_classes)
        blocks = max(self.n_classes - 1, 1)
        if not isinstance(value, Tracer):
            drawn, largest = _drawn(np.asarray(value))
            size = min(size, largest)
            blocks = blocks if blocks < _FEW else drawn
        value = jnp.asarray(value)
        if self._validate_args:
            self._validate_sample(value)
        expanded = (*self._expanded, self.n_classes)
        value = jnp.broadcast_to(value, jnp.broadcast_shapes(value.shape, self.log_weights.shape, expanded))
        # The position of each block, as far as there are so many; those beyond repeat one.
        ordered = jnp.sort(value, axis=-1)
        again = jnp.concatenate([jnp.zeros_like(ordered[..., :1], bool), ordered[..., 1:] == ordered[..., :-1]], -1)
        begins = jnp.argsort(again, axis=-1, stable=True)[..., :blocks]
        position = jnp.take_along_axis(ordered, begins, -1)[..., None]
        # Each block is drawn from all classes that are not in front of it.
        in_block = value[..., None, :] == position
        later = value[..., None, :] > position
        counted = ~jnp.take_along_axis(again, begins, -1) & later.any(-1)
        first = jnp.argsort(~in_block, axis=-1, stable=True)[..., :size]
        log_weights = jnp.broadcast_to(self.log_weights[..., None, :], in_block.shape)
        members = jnp.take_along_axis(log_weights, first, -1)
        mask = jnp.take_along_axis(in_block, first, -1)
        terms = jnp.where(counted, block_log_prob(members, _log_sum(log_weights, later), mask), 0).sum(-1)
        return jnp.where((counted & (in_block.sum(-1) > size)).any(-1), jnp.nan, terms)

    def _log_prob_of_draws(self, value: PartialRankings) -> Float[Array, " annotation"]:
        x = self.log_weights
        total = jnp.where(value.singles > 0, value.singles * x, 0).sum(-1)
        total -= (value.draws * _log_sum(x, value.remaining)).sum(-1)
        for ties in value.ties:
            members = jnp.where(ties.members, x, 0).sum(-1)
            blocks = block_log_prob(members, _log_sum(x, ties.rest), ties.members.any(-1))
            total += (ties.draws * blocks).sum(-1)
        return total

    def _log_prob_by_annotation(self, value: PartialRankings) -> Float[Array, "... annotation"]:
        x = self.log_weights

        def of_draws(draws: Float[Array, "... annotation draw"]) -> Float[Array, "... #draw class"]:
            """The weights of the annotator who makes a draw."""
            return x if x.shape[-2] == 1 else (draws[..., None] * x[..., None, :]).sum(-3)

        total = jnp.where(value.singles > 0, value.singles * x, 0).sum(-1)
        of_set = _log_sum(of_draws(value.draws), value.remaining)
        total -= (value.draws * of_set[..., None, :]).sum(-1)
        for ties in value.ties:
            of_tie = of_draws(ties.draws)
            members = jnp.where(ties.members, of_tie[..., None, :], 0).sum(-1)
            blocks = block_log_prob(members, _log_sum(of_tie, ties.rest), ties.members.any(-1))
            total += (ties.draws * blocks[..., None, :]).sum(-1)
        return total

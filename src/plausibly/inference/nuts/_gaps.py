"""The order in which annotators prefer the slots of a case, for the gaps that NUTS moves in under sharp preferences."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from plausibly.annotations import Annotations, Slots
from plausibly.distributions import Order
from plausibly.inference._batching import Bucket

MOST = 32  #: slots; the sampler knows the whole covariance of so many, and more occur seldom


def _wins(bucket: Bucket, annotations: Annotations, slots: Slots) -> Float[np.ndarray, "case slot slot"]:
    """How often each slot of a case was preferred to each other one; one that only fills the shape never is."""
    n, width = bucket.slots.shape
    within = np.zeros(annotations.n_annotations, bool)
    within[bucket.annotations] = True
    entry = np.flatnonzero(within[annotations.entry_annotation])
    case = annotations.entry_case[entry]
    slot = slots.find(case, annotations.entry_class[entry]) - slots.start[case]
    unranked = np.iinfo(np.int16).max
    position = np.full((annotations.n_annotations, width), unranked, np.int16)
    position[annotations.entry_annotation[entry], slot] = annotations.entry_block[entry]
    position = position[bucket.annotations]
    wins = np.zeros((n, width, width), np.float32)
    np.add.at(wins, bucket.case, position[:, :, None] < position[:, None, :])
    return wins * (bucket.slots >= 0)[:, None, :]


def _order(wins: Float[np.ndarray, "case slot slot"], real: Bool[np.ndarray, "case slot"]) -> Order:
    """Order slots by the share of comparisons that they win; what only fills the shape goes first, above nothing."""
    n, width, _ = wins.shape
    compared = wins + wins.transpose(0, 2, 1)
    share = np.where(real, wins.sum(2) / np.maximum(compared.sum(2), 1), 2)
    order = np.argsort(-share, axis=1, kind="stable")
    at = np.arange(n)[:, None, None], order[:, :, None], order[:, None, :]
    wins, compared, real = wins[at], compared[at] > 0, real[np.arange(n)[:, None], order]
    # From the bottom up, a place joins the group next to it unless it was compared to one of its members. Slots about
    # which annotators disagree do not: a third slot may hold them close together though they were never compared.
    disputed = ((wins > 0) & (wins.transpose(0, 2, 1) > 0)).any(2)
    first = np.broadcast_to(np.arange(width), (n, width)).copy()
    for place in range(width - 3, -1, -1):
        group = first == first[:, place + 1, None]
        joins = real[:, place] & real[:, place + 1] & ~(compared[:, place] & group).any(1)
        joins &= ~disputed[:, place] & ~disputed[:, place + 1]
        first[:, place] = np.where(joins, first[:, place + 1], place)
    group = (first[:, None, :] == np.arange(width)[:, None]) & real[:, None, :]
    below = (first[:, None, :] > first[:, :, None]) & real[:, :, None] & real[:, None, :]
    sharp = (compared & below).any(2)
    against = (((wins.transpose(0, 2, 1) > 0) | ~compared) & below).any(2)
    # A group's row is that of its lowest place; the rows of its other members are empty.
    return Order(
        order[:, :, None] == np.arange(width),
        group[:, :-1, :-1],
        below[:, :-1, :-1] & sharp[:, :-1, None],
        sharp[:, :-1],
        (sharp & ~against)[:, :-1],
    )


def with_order(bucket: Bucket, annotations: Annotations, slots: Slots) -> Bucket:
    """Add to each case the order in which its slots are preferred; cases of very many slots are left as they are."""
    if bucket.shape.slots > MOST:
        return bucket
    order = _order(_wins(bucket, annotations, slots), bucket.slots >= 0)
    return replace(bucket, data=bucket.data._replace(order=order))

r"""Sampling the shared parameters of all cases, the plausibilities summed out.

Given profiles, the labels of a case have a Dirichlet-multinomial probability under every head, so heads are drawn from
their exact conditionals, all cases at once. The rest is conjugate with the number of *tables* at which the labels of a
case sit in the Chinese restaurant of its profile: :math:`t_{ik}` of them have the class :math:`k`, each an
independent draw from the profile. Profiles are Dirichlet given these; tables of tables do the same for prevalence,
strength and self share, which are drawn with the profiles summed out. So are exchanges of heads between profiles
(label switching, Papaspiliopoulos & Roberts 2008), without which strength and self share would hardly move.

Where cases differ in difficulty, :math:`\log A_i` is :math:`\log A + \tau x`, with :math:`x` one of the five nodes of a
Gauss-Hermite rule and its weight as the probability, so that everything can be enumerated.

Priors: :math:`a = 1`, :math:`A \sim \mathrm{Exponential}(1/10)`, :math:`\kappa \sim \mathrm{Exponential}(1/100)`,
:math:`s \sim \mathrm{Uniform}(0, 1)`, :math:`\tau \sim \mathrm{HalfNormal}(1)`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import expit, gammaln, logit

from plausibly.inference.draws import customers
from plausibly.inference.moves import BROAD, Moves

PRIOR_CONCENTRATION = 0.1  #: rate of the exponential prior of A
PRIOR_STRENGTH = 0.01  #: rate of the exponential prior of κ
PREVALENCE = 1.0  #: a, the concentration of the prior of the prevalence

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
NODES: Float[np.ndarray, "5"] = _NODES  #: standard deviations by which log A of a case is off
NODE_WEIGHTS: Float[np.ndarray, "5"] = _WEIGHTS / _WEIGHTS.sum()

ROUNDS = 3  #: updates of strength, self share and prevalence in a sweep
EXCHANGES = 8  #: attempts to exchange heads in each, given prevalence
FREE_EXCHANGES = 20  #: and with prevalence summed out

_SPREADS = np.linspace(0.05, 3, 60)  # at which the spread is evaluated
_LEAST = 1e-12  # keeps products of shares within double precision


class Labels(NamedTuple):
    """Annotations as labels: each may count or not, by its weight, in every sweep."""

    case: Int[np.ndarray, " block"]  #: ascending
    weight: Float[np.ndarray, " block"]  #: probability that the block counts as a label
    first: Int[np.ndarray, " block"]  #: place of its first class in ``members``
    size: Int[np.ndarray, " block"]  #: number of classes that are tied in it
    members: Int[np.ndarray, " entry"]
    n_cases: int
    n_classes: int


@dataclass
class State:
    """A chain."""

    concentration: float
    strength: float
    self_share: float
    prevalence: Float[np.ndarray, " class"]
    expected: Float[np.ndarray, " class"]  #: expected plausibilities of a case of which nothing is known
    profiles: Float[np.ndarray, "head class"]
    mean_profiles: Float[np.ndarray, "head class"]  #: expectation of the profiles given all else
    spread: float = 0.0  #: of log A between cases, 0 where all are equally difficult
    node: Int[np.ndarray, " case"] | None = None  #: of each case


def start(labels: Labels, random: Moves, by_case: bool = False, exchange: bool = True) -> State:
    """Begin where cases with the same commonest class share a head, at concentrations that differ between chains.

    Their head is that class; or, if heads are going to be exchanged (see :func:`sweep`), any class, drawn for each
    chain.
    """
    k = labels.n_classes
    case = np.repeat(labels.case, labels.size)
    weight = np.repeat(labels.weight / labels.size, labels.size)
    keys, inverse = np.unique(case * np.int64(k) + labels.members, return_inverse=True)
    count = np.bincount(inverse, weight)
    of_case, label = np.divmod(keys, k)
    order = np.lexsort((-count, of_case))
    head = np.zeros(labels.n_cases, np.int64)
    found, first = np.unique(of_case[order], return_index=True)
    head[found] = label[order][first]
    if exchange:
        head = random.permutation(k)[head]
    pi = np.bincount(head, minlength=k) + 0.5
    pi = pi / pi.sum()
    concentration, strength = np.exp(random.uniform(np.log([3.0, 5.0]), np.log([8.0, 20.0])))
    own = random.uniform(0.01, 0.05) if exchange else random.uniform(0.2, 0.5)
    shape = np.bincount(head[of_case] * np.int64(k) + label, count, k * k).reshape(k, k)
    shape += strength * (own * np.eye(k) + (1 - own) * pi)
    profiles = shape / shape.sum(1, keepdims=True)
    node = np.full(labels.n_cases, len(NODES) // 2)
    return State(
        concentration, strength, own, pi, pi @ profiles, profiles, profiles, 0.5 * by_case, node if by_case else None
    )


def sweeps(labels: Labels, random: Moves, *, by_case: bool, exchange: bool) -> Iterator[State]:
    """Sweeps of one chain, without end."""
    state = start(labels, random, by_case, exchange)
    while True:
        state = sweep(state, labels, random, exchange)
        yield state


def sweep(state: State, labels: Labels, random: Moves, exchange: bool = True) -> State:
    """Update everything once, with or without moves that exchange the heads of profiles.

    Which class is the head of cases in which several go together is a question with many good answers. Without these
    moves, a chain keeps its answer for thousands of sweeps, and the strength and the self share that go with it: wrong
    as draws, but profiles of the same head can be averaged.
    """
    k, n = labels.n_classes, labels.n_cases
    case, label, count = _counted(labels, random)
    total = np.bincount(case, count, n)
    factor = np.ones(n) if state.node is None else np.exp(state.spread * NODES[state.node])
    head = _heads(state, factor, case, label, count, n, random)

    share = np.maximum(state.profiles[head[case], label], _LEAST)
    concentration = np.exp(
        random.slice(
            "log concentration",
            np.log(state.concentration),
            BROAD,
            lambda log: _log_labels(np.exp(log), factor, share, case, count, total) + log,
        )
    )
    tables = random.tables("tables", (concentration * factor)[case] * share, count)
    seated = np.bincount(head[case] * np.int64(k) + label, tables, k * k).reshape(k, k)
    spread, node = state.spread, state.node
    if node is not None:
        spread, node = _difficulties(concentration, total, np.bincount(case, tables, n), random)

    size = np.bincount(head, minlength=k)
    strength, self_share, prevalence = state.strength, state.self_share, state.prevalence
    for _ in range(ROUNDS):
        for _ in range(EXCHANGES * exchange):
            order = _exchange(seated, size, head, strength, self_share, prevalence, random)
            seated, size, head = seated[order], size[order], np.argsort(order)[head]
        rows, columns = np.nonzero(seated)
        of_row, seats = seated.sum(1), seated[rows, columns]
        strength, self_share = _profile_shape(
            strength, self_share, seats, rows == columns, prevalence[columns], of_row[of_row > 0], random
        )
        of_self = np.where(rows == columns, strength * self_share, 0)
        base = of_self + strength * (1 - self_share) * prevalence[columns]
        at = partial(_at, rows * k + columns, k)
        above = random.tables("tables of tables", base, seats.astype(np.int64), lambda x, at=at: {"above": at(x)})
        own = random.among("own", above, np.clip(of_self / base, 0, 1), lambda x, at=at: {"own": at(x)})
        shape = PREVALENCE / k + np.bincount(columns, above - own, k)
        if exchange:
            free = np.bincount(columns, own, k) == 0
            found = partial(lambda at, above, own: {"above": at(above), "own": at(own)}, at, above, own)
            order = _exchanged(shape, size, head, free, found, random)
            seated, size, head = seated[order], size[order], np.argsort(order)[head]
        prevalence = random.rows("prevalence", shape + size, least=_LEAST)

    shape = seated + strength * (1 - self_share) * prevalence
    shape[np.arange(k), np.arange(k)] += strength * self_share
    profiles = random.rows("profiles", shape, least=_LEAST)
    mean = shape / shape.sum(1, keepdims=True)
    expected = prevalence @ profiles
    return State(concentration, strength, self_share, prevalence, expected, profiles, mean, spread, node)


def _at(cells, k, values) -> np.ndarray:
    """Arrange values by profile and class."""
    return np.bincount(cells, values, k * k).reshape(k, k)


def _exchange(seated, size, head, strength, self_share, prevalence, random) -> np.ndarray:
    """Return which profile gets each head when pairs are exchanged, with their cases, the profiles summed out.

    Pairs are some places apart in the order of prevalence, since those of similar prevalence are exchanged most easily.
    """
    k = len(size)
    apart = int(k ** random.random())
    place = np.arange(k - apart)
    place = place[(place + random.integers(2 * apart)) // apart % 2 == 0]
    order = np.argsort(prevalence)
    one, other = order[place], order[place + apart]

    def gain(row, label):
        """Log of the factor by which a row is more probable if the label is its head than if it is not."""
        seats, shared = seated[row, label], strength * np.maximum((1 - self_share) * prevalence[label], _LEAST)
        own = shared + strength * self_share
        return gammaln(own + seats) - gammaln(own) - gammaln(shared + seats) + gammaln(shared)

    log_ratio = (size[one] - size[other]) * np.log(prevalence[other] / prevalence[one])
    log_ratio += gain(one, other) + gain(other, one) - gain(one, one) - gain(other, other)
    order = np.arange(k)
    taken = random.exchanges(
        "exchange", log_ratio, lambda taken: {"head": _swapped(order, one[taken], other[taken])[head]}
    )
    return _swapped(order, one[taken], other[taken])


def _swapped(order, one, other) -> np.ndarray:
    order = order.copy()
    order[one], order[other] = order[other], order[one]
    return order


def _exchanged(shape, size, head, free, tables, random) -> np.ndarray:
    """Return which profile gets each head when those of ``free`` heads are exchanged, the prevalence summed out, too.

    Given the prevalence, a head of many cases would hardly ever be exchanged. A head is free if none of the tables of
    its profile was drawn from the self share; nothing but the number of cases then tells free heads apart.
    """
    order, among = np.arange(len(size)), np.flatnonzero(free)
    for _ in range(FREE_EXCHANGES):
        one, other = random.permutation(among)[: len(among) // 2 * 2].reshape(2, -1)
        n, m = size[order[one]], size[order[other]]
        log_ratio = gammaln(shape[one] + m) - gammaln(shape[one] + n)
        log_ratio += gammaln(shape[other] + n) - gammaln(shape[other] + m)

        def to(taken, one=one, other=other, order=order) -> dict[str, np.ndarray]:
            new = _swapped(order, one[taken], other[taken])
            return {"head": np.argsort(new)[head]} | {name: rows[new] for name, rows in tables().items()}

        taken = random.exchanges("exchange of free heads", log_ratio, to)
        order = _swapped(order, one[taken], other[taken])
    return order


def _log_labels(concentration, factor, share, case, count, total):
    """Log probability of the labels at a concentration, given heads and profiles; plus its log prior."""
    a = concentration * factor
    value = (gammaln(a) - gammaln(a + total)).sum() + _log_rising(a[case] * share, count)
    return value - PRIOR_CONCENTRATION * concentration


def _log_rising(a, count):
    """Sum of the logarithms of rising factorials."""
    value = np.log(a).sum()
    for seated in range(1, int(count.max(initial=1))):
        value += np.log(a[count > seated] + seated).sum()
    return value


def _profile_shape(strength, self_share, seats, is_own, prevalence, used, random):
    """Draw strength and self share, one after the other, given the tables, the profiles summed out."""

    def log_density(strength, self_share):
        a = strength * np.maximum(is_own * self_share + (1 - self_share) * prevalence, _LEAST)
        value = len(used) * gammaln(strength) - gammaln(strength + used).sum()
        return value + (gammaln(a + seats) - gammaln(a)).sum() - PRIOR_STRENGTH * strength

    strength = np.exp(
        random.slice("log strength", np.log(strength), BROAD, lambda log: log_density(np.exp(log), self_share) + log)
    )

    def of_odds(log_odds: float) -> float:
        share = expit(log_odds)
        return log_density(strength, share) + np.log(share * (1 - share))

    share = expit(random.slice("logit self_share", logit(self_share), BROAD, of_odds))
    return strength, float(np.clip(share, _LEAST, 1 - _LEAST))


def _difficulties(concentration, total, tables, random):
    """Draw the spread of log A with the nodes summed out, and the nodes of all cases given it."""
    logs = _log_nodes(concentration, _SPREADS[:, None], total, tables)  # (spread, case, node)
    by_spread = np.logaddexp.reduce(logs, axis=-1).sum(1) - _SPREADS**2 / 2
    weight = np.exp(by_spread - by_spread.max())
    at = random.choice(len(_SPREADS), p=weight / weight.sum())
    at = int(random.declared("spread", at, lambda x: by_spread[x], lambda x: {"spread": _SPREADS[x]}))
    own = np.exp(logs[at] - logs[at].max(1, keepdims=True))
    return float(_SPREADS[at]), random.classes("node", own.T)


def _log_nodes(concentration, spread, total, tables):
    """Log probability of the tables of every case at every node, up to a constant; equal cases share one number."""
    pairs, inverse = np.unique(np.stack([total, tables], axis=1), axis=0, return_inverse=True)
    a = concentration * np.exp(spread[..., None] * NODES)  # (spread, 1, node)
    n, t = pairs[:, 0, None], pairs[:, 1, None]
    found = np.log(NODE_WEIGHTS) + gammaln(a) - gammaln(a + n) + t * np.log(a)
    return found[:, inverse.ravel()]


def _counted(labels: Labels, random: Moves) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose the labels of this sweep, and count them by case and class."""
    counts = random.random(len(labels.case)) < labels.weight
    place = labels.first + (random.random(len(labels.case)) * labels.size).astype(np.int64)
    key, count = np.unique(
        labels.case[counts] * np.int64(labels.n_classes) + labels.members[place[counts]], return_counts=True
    )
    case, label = np.divmod(key, labels.n_classes)
    return case, label, count


def _heads(state, factor, case, label, count, n, random):
    """Draw the head of every case."""
    entry, seated = customers(count)
    node = 0 if state.node is None else state.node[case[entry]]
    most = len(entry) + 1
    _, first, kind = np.unique(
        (label[entry] * np.int64(most) + seated) * len(NODES) + node, return_index=True, return_inverse=True
    )  # few differ
    shares = np.maximum(state.concentration * state.profiles.T[label[entry[first]]], _LEAST)  # (kind, head)
    rising = (factor[case[entry[first]], None] * shares + seated[first, None]).astype(np.float32)  # which is faster
    times = csr_array((np.ones(len(entry), np.float32), (case[entry], kind)), shape=(n, len(first)))
    logs = times @ np.log(rising) + np.log(state.prevalence, dtype=np.float32)
    below = np.cumsum(np.exp(logs - logs.max(1, keepdims=True)), axis=1)
    drawn = np.minimum((below < random.random((n, 1), np.float32) * below[:, -1:]).sum(1), logs.shape[1] - 1)
    return random.declared("head", drawn, lambda x: logs[np.arange(n), x])

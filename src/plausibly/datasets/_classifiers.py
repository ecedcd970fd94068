"""Simulated classifiers of graded quality."""

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

import numpy as np
from jaxtyping import Float

from plausibly.errors import ArgumentError
from plausibly.seed import check_seed

_SMALLEST = np.finfo(np.float32).tiny  # plausibilities of exactly zero get the lowest finite score


def simulate_classifiers(
    truth: Float[np.ndarray, "case class"],
    qualities: Sequence[float] | Mapping[str, float] = (0.9, 0.8, 0.7, 0.6),
    seed: int = 0,
) -> dict[str, Float[np.ndarray, "case class"]]:
    """Simulate classifiers that know the true plausibilities more or less well.

    A classifier of quality ``q`` scores with a tempered, noisy version of the truth: ``q · log λ + (1 − q) · s · ε``
    with independent standard normal ``ε``, where ``s`` is the standard deviation of ``log λ`` over the classes of the
    case, so that signal and noise have the same size at ``q = 1/2`` in every case. The expected top-1 accuracy rises
    with ``q``.

    Parameters
    ----------
    truth
        True plausibilities (case, class), finite and not negative, for example from ``simulate_differentials``.
    qualities
        Quality of each classifier, in [0, 1]: at 1 its scores are ``log λ``, at 0 they are noise. The keys of a mapping
        are the names of the classifiers; for a sequence, they are named ``"A"``, ``"B"``, ….
    seed
        Random seed of the noise. Classifiers are independent of each other. Adding cases or classifiers does not change
        the scores of earlier ones.

    Returns
    -------
    dict of str to array
        Scores, (case, class), float32, finite; greater is more plausible. They are logarithms and not normalised.

    Raises
    ------
    ArgumentError
        If a quality is outside [0, 1], if a sequence has more than 26 qualities, if the truth is not a
        non-negative finite matrix, or if the seed is not a whole number of 32 bits.

    Examples
    --------
    >>> truth = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], dtype=np.float32)
    >>> scores = simulate_classifiers(truth, {"perfect": 1.0, "noise": 0.0})
    >>> list(scores), scores["perfect"].argmax(axis=1).tolist()
    (['perfect', 'noise'], [0, 2])
    """
    truth = np.asarray(truth)
    if truth.ndim != 2:
        raise ArgumentError(f"The truth must be a matrix (case, class), not an array of shape {truth.shape}.")
    if not (np.isfinite(truth).all() and (truth >= 0).all()):
        case = int(np.nonzero(~(np.isfinite(truth) & (truth >= 0)).all(axis=1))[0][0])
        raise ArgumentError(
            f"The truth must be finite and not negative, but row {case} is {truth[case]}: pass plausibilities, "
            "not their logarithms."
        )
    if isinstance(qualities, Mapping):
        named = dict(qualities)
    elif len(qualities) <= len(ascii_uppercase):
        named = dict(zip(ascii_uppercase, qualities, strict=False))
    else:
        raise ArgumentError(
            f"A sequence of qualities has at most 26 members, one for each letter, not {len(qualities)}: pass a "
            "mapping from name to quality."
        )
    for name, quality in named.items():
        if not 0 <= quality <= 1:
            raise ArgumentError(f"A quality lies between 0 and 1, but classifier {name!r} has {quality}.")
    signal = np.log(np.maximum(truth, _SMALLEST)).astype(np.float32)
    scale = signal.std(axis=1, keepdims=True)
    scores = {}
    streams = np.random.default_rng(check_seed(seed)).spawn(len(named))
    for (name, quality), stream in zip(named.items(), streams, strict=True):
        noise = stream.standard_normal(signal.shape, dtype=np.float32)
        scores[name] = np.float32(quality) * signal + np.float32(1 - quality) * scale * noise
    return scores

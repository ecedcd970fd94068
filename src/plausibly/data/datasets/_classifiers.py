"""Simulated annotators and classifiers of different quality."""

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

import numpy as np
from jaxtyping import Float

from plausibly.base.checks import check_seed
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.data.datasets._differentials import Differentials


def simulate_annotators(
    n_cases: int,
    reliabilities: Float[np.ndarray, " annotator"] | Sequence[float],
    *,
    n_classes: int = 4,
    per_case: int = 4,
    concentration: float = 1.0,
    full: bool = False,
    seed: int = 0,
) -> Differentials:
    r"""Simulate annotators of different reliability, as assumed by ``mode="temper"``.

    Plausibilities of a case are drawn from :math:`\mathrm{Dirichlet}(\alpha 1_K)`, and annotators rank classes with
    weights :math:`\lambda^{\gamma_r}`. The first annotator of a case gives a full ranking; the others give the top of
    their ranking, with random length and random ties between neighbours.

    Parameters
    ----------
    n_cases
        Number of cases.
    reliabilities
        :math:`\gamma_r` of each annotator, at least 0; 0 ranks at random.
    n_classes
        Number of classes, at least 2.
    per_case
        Number of annotators per case, drawn at random from all annotators.
    concentration
        :math:`\alpha`.
    full
        Whether all annotators give full rankings without ties.
    seed
        Random seed.

    Returns
    -------
    Differentials
        Annotations by annotators named ``"annotator 1"``, …, and true plausibilities.

    Raises
    ------
    ArgumentError
        If a number is out of range, or a case would have more annotators than there are.

    References
    ----------
    Ma et al. (2021), for rankings by a race.

    Examples
    --------
    >>> simulate_annotators(5, [3.0, 3.0, 0.0], per_case=2).annotations
    Annotations(5 cases, 10 annotations by 3 annotators, 4 classes)
    """
    gammas = np.asarray(reliabilities, float)
    if gammas.ndim != 1 or not gammas.size or not np.isfinite(gammas).all() or (gammas < 0).any():
        raise ArgumentError(
            f"reliabilities must be a list of numbers of at least 0, one for each annotator, not {reliabilities!r}: "
            "write for example [3, 3, 0.1]."
        )
    if n_cases < 1 or n_classes < 2 or not 1 <= per_case <= len(gammas) or not concentration > 0:
        raise ArgumentError(
            "n_cases must be at least 1, n_classes at least 2, per_case between 1 and the number of annotators "
            f"({len(gammas)}) and concentration above 0, not {n_cases}, {n_classes}, {per_case} and {concentration}: "
            "change what is out of range."
        )
    rng = np.random.default_rng(check_seed(seed))
    logs = np.log(np.maximum(rng.standard_gamma(concentration, (n_cases, n_classes)), 1e-300))
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    cases: dict[str, dict[str, list[list[str]]]] = {}
    names = [f"class {k + 1}" for k in range(n_classes)]
    for i in range(n_cases):
        cases[f"case {i:04d}"] = {}
        for first, r in enumerate(rng.permutation(len(gammas))[:per_case]):
            order = np.argsort(rng.gumbel(size=n_classes) + gammas[r] * logs[i])[::-1]
            length = n_classes - 1 if full or first == 0 else rng.integers(1, n_classes)
            blocks = [[names[order[0]]]]
            for k in order[1:length]:
                if first > 0 and not full and rng.random() < 0.25:
                    blocks[-1].append(names[k])
                else:
                    blocks.append([names[k]])
            cases[f"case {i:04d}"][f"annotator {r + 1}"] = blocks
    annotations = Annotations.from_rankings({"classes": names, "cases": cases})
    return Differentials(annotations, np.exp(logs).astype(np.float32))


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

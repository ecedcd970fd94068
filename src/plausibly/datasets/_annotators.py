"""Simulated annotations by named annotators of known reliability."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from plausibly.annotations import Annotations
from plausibly.datasets._differentials import Differentials
from plausibly.errors import ArgumentError
from plausibly.seed import check_seed


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

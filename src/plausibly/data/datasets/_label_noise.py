"""Simulated labels of annotators who err, and of models that err as often as they are told to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError


@dataclass(frozen=True)
class LabelNoise:
    """Labels with a known truth.

    Parameters
    ----------
    labels
        Long table with the columns ``case``, ``annotator`` and ``label``, the number of a class: compare them with
        ``distance="nominal"``.
    predictions
        Table with the columns ``case`` and ``label`` for every model.
    truth
        True label of each case.
    """

    labels: pd.DataFrame
    predictions: dict[str, pd.DataFrame]
    truth: np.ndarray


def simulate_label_noise(
    n_cases: int = 10_000,
    n_annotators: int = 9,
    swap: float | Sequence[float] = 0.05,
    models: Sequence[float] = (1.0, 0.9),
    n_classes: int = 10,
    seed: int = 0,
) -> LabelNoise:
    """Simulate annotators who sometimes give a random label, and models with given accuracies.

    Parameters
    ----------
    n_cases, n_annotators
        Numbers of cases and annotators; every annotator labels every case.
    swap
        Probability that an annotator gives a label drawn uniformly from all labels, including the true one: one number
        for all annotators, or one for each.
    models
        Accuracy of each model: it gives the true label to this share of the cases, chosen at random, and another label
        to the others. Its name is its accuracy.
    n_classes
        Number of classes, at least 2; true labels are uniform.
    seed
        Random seed. Adding annotators or models does not change the others.

    Raises
    ------
    ArgumentError
        If a number is out of range.

    References
    ----------
    Lovchinsky et al. (2020), Discrepancy ratio: evaluating model performance when even experts disagree on the truth,
    ICLR.

    Examples
    --------
    >>> simulated = simulate_label_noise(1000, 3, swap=0.0, models=(0.9,))
    >>> wrong = simulated.predictions["0.9"]["label"].to_numpy() != simulated.truth
    >>> len(simulated.labels), float(wrong.mean())
    (3000, 0.1)
    """
    check_whole("n_cases", n_cases, 1)
    check_whole("n_annotators", n_annotators, 1)
    check_whole("n_classes", n_classes, 2)
    swaps = np.full(n_annotators, swap, float) if np.ndim(swap) == 0 else np.asarray(swap, float)
    if swaps.shape != (n_annotators,):
        raise ArgumentError(
            f"swap must be one probability or one for each annotator, {n_annotators}, not {len(swaps)}."
        )
    for name, shares in (("swap", swaps), ("The accuracy of a model", np.asarray(models, float))):
        for share in shares[(shares < 0) | (shares > 1) | np.isnan(shares)]:
            raise ArgumentError(f"{name} lies between 0 and 1, but {share:g} was given.")
    streams = np.random.SeedSequence(seed).spawn(3)
    truth = np.random.default_rng(streams[0]).integers(0, n_classes, n_cases)
    given = []
    for share, stream in zip(swaps, streams[1].spawn(n_annotators), strict=True):
        errs, labels = map(np.random.default_rng, stream.spawn(2))
        given.append(np.where(errs.random(n_cases) < share, labels.integers(0, n_classes, n_cases), truth))
    labels = _table(np.column_stack(given))
    predictions = {}
    for accuracy, stream in zip(models, streams[2].spawn(len(models)), strict=True):
        rng = np.random.default_rng(stream)
        # An exact share, so that what is compared with annotators of that accuracy has it, too.
        wrong = np.zeros(n_cases, bool)
        wrong[rng.permutation(n_cases)[: round((1 - accuracy) * n_cases)]] = True
        said = np.where(wrong, (truth + rng.integers(1, n_classes, n_cases)) % n_classes, truth)
        predictions[f"{accuracy:g}"] = pd.DataFrame({"case": np.arange(n_cases), "label": said})
    return LabelNoise(labels, predictions, truth)


def simulate_strictness(
    n_cases: int = 10_000, n_annotators: int = 5, strictness: float = 0.0, noise: float = 0.5, seed: int = 0
) -> LabelNoise:
    """Simulate labels 0 and 1 by annotators, the first of whom is stricter than the others.

    Each case has a severity, standard normal, which annotators and the model, named "model", observe with independent
    normal errors. They give the label 1 if the observed severity is above 0; the first annotator, if it is above
    ``strictness``.

    Parameters
    ----------
    n_cases, n_annotators
        Numbers of cases and annotators; every annotator labels every case.
    strictness
        Threshold of the first annotator, in standard deviations of severity; at 0 all annotators are alike.
    noise
        Standard deviation of the errors of annotators and model.
    seed
        Random seed.

    Raises
    ------
    ArgumentError
        If a number is out of range.

    Examples
    --------
    >>> table = simulate_strictness(2000, 3, strictness=1.0).labels
    >>> table.groupby("annotator")["label"].mean().round(1).tolist()
    [0.2, 0.5, 0.5]
    """
    check_whole("n_cases", n_cases, 1)
    check_whole("n_annotators", n_annotators, 1)
    if not (noise >= 0 and np.isfinite(noise) and np.isfinite(strictness)):
        raise ArgumentError(f"noise must be at least 0 and strictness finite, not {noise} and {strictness}.")
    true, errors = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    severity = true.standard_normal(n_cases)
    seen = severity[:, None] + noise * errors.standard_normal((n_cases, n_annotators + 1))
    asked = np.zeros(n_annotators + 1)
    asked[1] = strictness
    said = (seen > asked).astype(int)
    labels = _table(said[:, 1:])
    model = pd.DataFrame({"case": np.arange(n_cases), "label": said[:, 0]})
    return LabelNoise(labels, {"model": model}, (severity > 0).astype(int))


def _table(labels: np.ndarray) -> pd.DataFrame:
    """Write labels (case, annotator) as a long table."""
    case, annotator = np.indices(labels.shape)
    return pd.DataFrame({"case": case.ravel(), "annotator": annotator.ravel(), "label": labels.ravel()})

"""Bad annotators planted among good ones, and who is flagged.

Of forty annotators five are planted: two who answer at random, one who always answers the same, and two who copy most
of another's labels. The others err with rates of their own, more often in hard cases. Each planted annotator is to be
flagged for what it is in 95 % of data sets, and an honest one in less than 2 %.
"""

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from plausibly.agreement import agreement
from plausibly.agreement.chance.annotators import NO_BETTER, TOO_FEW
from plausibly.base.errors import PlausiblyWarning
from plausibly.base.progress import Progress
from plausibly.data.datasets import simulate_labels
from plausibly.data.datasets._labels import _mixer
from validation._result import Result, Settings

N, QUICK = 200, 8
PEOPLE, PER_CASE, N_CASES = 40, 5, 400
RANDOM, CONSTANT, COPIERS = 2, 1, 2
KINDS = {"categories": "nominal", "boxes": "box_giou"}
FOUND, FALSE = 0.95, 0.02


def simulate(kind: str, seed: int) -> tuple[pd.DataFrame, dict[int, str]]:
    """Simulate labels, about fifty of each annotator; return them with the flag that each planted annotator should get.

    Honest annotators err at rates from 0.05 to 0.4 in a case of average difficulty, and of 0 to twice that in others.
    """
    rng, mix = np.random.default_rng([seed, len(kind)]), _mixer(kind)
    truth = simulate_labels(kind, noise=0, n_cases=N_CASES, n_annotators=1, seed=seed)["label"].tolist()
    people = PEOPLE - COPIERS
    annotator = np.concatenate([rng.choice(people, PER_CASE, replace=False) for _ in truth])
    case = np.repeat(np.arange(N_CASES), PER_CASE)
    order = rng.permutation(people)
    at_random, constant, honest = np.split(order, [RANDOM, RANDOM + CONSTANT])
    noise, difficulty = rng.uniform(0.05, 0.4, people), 2 * rng.beta(1, 1, N_CASES)
    favourite = truth[int(rng.integers(N_CASES))]
    labels = []
    for who, i in zip(annotator.tolist(), case.tolist(), strict=True):
        other = truth[int(rng.integers(N_CASES))]
        if who in at_random:
            labels.append(other)
        elif who in constant:
            labels.append(favourite)
        else:
            labels.append(mix(truth[i], other, float(noise[who] * difficulty[i]), rng))
    rows = pd.DataFrame({"case": case, "annotator": annotator, "label": pd.Series(labels, dtype=object)})
    planted = dict.fromkeys([*at_random.tolist(), *constant.tolist()], NO_BETTER)
    for copier, source in zip(range(people, PEOPLE), rng.choice(honest, COPIERS, replace=False).tolist(), strict=True):
        copied = rows[rows["annotator"] == source].sample(frac=0.8, random_state=seed)
        rows = pd.concat([rows, copied.assign(annotator=copier)], ignore_index=True)
        planted[copier] = f"copies {source}"
    return rows, planted


def flags(kind: str, seed: int) -> tuple[list[bool], list[bool]]:
    """Tell of each planted annotator whether it got its flag, and of each honest one whether it got any."""
    rows, planted = simulate(kind, seed)
    with warnings.catch_warnings():  # copies of labels make cases with more of them agree more
        warnings.filterwarnings("ignore", "Which cases have more than", PlausiblyWarning)
        table = agreement(rows, KINDS[kind], cross=100_000, progress=False).annotators()
    flag = table.set_index("annotator")["flag"]
    found = [flag[str(who)] == expected for who, expected in planted.items()]
    return found, (~flag.drop(map(str, planted)).isin(["", TOO_FEW])).tolist()


def check(settings: Settings) -> Iterator[Result]:
    """Simulate data sets, and compare the shares of those found and of those flagged in error with the claims."""
    n = QUICK if settings.quick else N
    for kind in KINDS:
        planted, honest = [], []
        with Progress(settings.progress) as progress:
            advance = progress.task("Flagging annotators", n, "data sets")
            for simulation in range(n):
                found, wrong = flags(kind, settings.seed + simulation)
                planted.append(found)
                honest.append(wrong)
                advance(1)
        hits, false = np.array(planted), np.array(honest)
        remark = ", ".join(
            f"{what} {hits[:, part].mean():.3f}"
            for what, part in (("random", slice(0, 2)), ("constant", slice(2, 3)), ("copies", slice(3, 5)))
        )
        for what, flagged, share, side in (("planted", hits, FOUND, "less"), ("honest", false, FALSE, "greater")):
            p = float(stats.binomtest(int(flagged.sum()), flagged.size, share, side).pvalue)
            remark = f"{flagged.mean():.4f} flagged" + (f" ({remark})" if what == "planted" else "")
            yield Result("annotators", f"{kind} by {KINDS[kind]}", what, {"binomial": p}, flagged.size, remark=remark)

"""Abilities of annotators and difficulties of cases, by the program of ``models/rasch.py``."""

import sys
from functools import partial
from importlib.metadata import version

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior, from_groups
from plausibly.base.checks import check_whole
from plausibly.base.errors import AnnotationError
from plausibly.base.progress import Progress
from plausibly.data.labels.container import Labels
from plausibly.inference import nuts_of_all_cases
from plausibly.models import rasch
from plausibly.posterior.diagnostics import enough_energy, judge, trajectories

SITES = {"ability": "annotator", "difficulty": "case"}
HYPER = ("mean_ability", "sd_ability", "sd_difficulty")
MAX_TREE_DEPTH = 10  # of NumPyro
TARGET_ACCEPT = 0.95  # spreads near nothing make narrow places
_SLOW = 1000  # cases whose difficulties take seconds to judge


def sample_rasch(
    labels: Labels,
    judged: Float[np.ndarray, " label"],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    progress: bool,
) -> Posterior:
    """Sample abilities and difficulties by NUTS from the labels that are judged clearly right or wrong, 1 or 0.

    Of annotators and cases without answers, the prior is sampled. The container has the groups ``posterior``
    (``ability`` by annotator, ``difficulty`` by case, ``mean_ability``, ``sd_ability``, ``sd_difficulty``),
    ``sample_stats``, ``convergence`` by quantity, ``observed_data`` (which answers are right) and ``constant_data``
    (annotator and case of every answer).
    """
    clear = (judged == 0) | (judged == 1)
    if not clear.any():
        raise AnnotationError(
            "no label can be judged right or wrong; give the truth of labelled cases, or accuracies as competence"
        )
    annotator, case, correct = labels.annotator[clear], labels.case[clear], judged[clear] == 1
    for name, value, least in (("draws", draws, 4), ("chains", chains, 1), ("warmup", warmup, 1), ("seed", seed, 0)):
        check_whole(name, value, least)
    program = partial(rasch, n_annotators=len(labels.annotators), n_cases=len(labels.cases))
    sizes = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed, "target_accept": TARGET_ACCEPT}
    given = program, (annotator, case, correct), (*SITES, *HYPER)
    sampled, statistics = nuts_of_all_cases(*given, **sizes, progress=progress and sys.stderr.isatty())
    chain_draw = {"chain": np.arange(chains), "draw": np.arange(draws)}
    variables: dict = {name: (("chain", "draw", dim), sampled[name]) for name, dim in SITES.items()}
    variables |= {name: (("chain", "draw"), sampled[name]) for name in HYPER}
    names = {"annotator": labels.annotators, "case": labels.cases}
    with Progress(progress and len(labels.cases) > _SLOW) as bars:
        convergence = _convergence(sampled, statistics, names, bars)
    groups = {
        "posterior": xr.Dataset(variables, chain_draw | names),
        "sample_stats": xr.Dataset(
            {name: (("chain", "draw"), values) for name, values in statistics.items()}, chain_draw
        ),
        "convergence": convergence,
        "observed_data": xr.Dataset({"correct": ("answer", np.asarray(correct, np.int8))}),
        "constant_data": xr.Dataset(
            {"answer_annotator": ("answer", annotator), "answer_case": ("answer", case)}, names
        ),
    }
    versions = {f"{package}_version": version(package) for package in ("plausibly", "numpyro", "jax")}
    attrs = {"model": "rasch", "draws": draws, "chains": chains, "warmup": warmup, "seed": int(seed)}
    return from_groups(groups, attrs | versions)


def accuracy_draws(
    posterior: Posterior, annotator: Int[np.ndarray, " label"], case: Int[np.ndarray, " label"], draws: slice
) -> Float[np.ndarray, "draw label"]:
    """Probability that each label is right, in some draws; chains follow each other."""
    group = posterior["posterior"]
    ability, difficulty = (group[name].to_numpy().reshape(-1, group.sizes[dim])[draws] for name, dim in SITES.items())
    return 1 / (1 + np.exp(difficulty[:, case] - ability[:, annotator]))


def _convergence(
    sampled: dict[str, np.ndarray], statistics: dict[str, np.ndarray], names: dict[str, np.ndarray], progress: Progress
) -> xr.Dataset:
    """Judge every ability, every difficulty and the three of all; trajectories belong to all of them."""
    quantities = [f"{site} of {name}" for site, dim in SITES.items() for name in names[dim]] + list(HYPER)
    draws = np.concatenate([sampled[site] for site in SITES] + [sampled[name][..., None] for name in HYPER], axis=-1)
    values, good = judge(draws, progress=progress, what="abilities and difficulties")
    size = len(quantities)
    found = trajectories(statistics, MAX_TREE_DEPTH)
    n = np.full(size, statistics["diverging"].sum())
    values |= {"n_diverging": n} | {name: np.full(size, value) for name, value in found.items()}
    values["converged"] = good & (n == 0) & enough_energy(found, size)
    return xr.Dataset(
        {name: ("quantity", column) for name, column in values.items()},
        {"quantity": np.array(quantities, str)},
        {"chains": draws.shape[0], "draws": draws.shape[1], "quantities": size},
    )

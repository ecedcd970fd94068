"""What to cite: the methods that a sweep used."""

import json

from plausibly.metrics import METRICS
from plausibly.model import CARON, STUTZ
from plausibly.sweeps import Sweep

_ALL = ("uncertainty-adjusted metrics, annotation certainty and plausibilities", STUTZ)
_ENGINES = {
    "nuts": [
        (
            "sampling by NUTS",
            "Hoffman & Gelman (2014), The No-U-Turn Sampler, Journal of Machine Learning Research 15.",
        ),
        (
            "sampling by NUTS",
            "Phan, Pradhan & Jankowiak (2019), Composable effects for flexible and accelerated probabilistic "
            "programming in NumPyro, arXiv 1912.11554.",
        ),
        (
            "energies of the chains",
            "Betancourt (2016), Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo, arXiv "
            "1604.00695.",
        ),
    ],
    "gibbs": [("Gibbs sampling", CARON)],
}
_CHAINS = (
    "convergence of the chains",
    "Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and localization: an improved "
    "R-hat for assessing convergence of MCMC, Bayesian Analysis 16.",
)


def references(swept: Sweep) -> list[tuple[str, str]]:
    """List what to cite for the models and engines of a sweep: each source once, and what for."""
    used = [_ALL]
    for run in swept.runs:
        citations = json.loads(run.attrs.get("declaration", "{}")).get("citations", [])
        used += [*map(tuple, citations), *_ENGINES.get(str(run.attrs.get("engine")), [])]
        if run.has_chains:
            used.append(_CHAINS)
    results = [str(name) for run in swept.runs for name in run.results.data_vars] if swept.classifiers else []
    for name, metric in METRICS.items():
        if metric.source and any(result.endswith(f"_{name}") for result in results):
            used.append((f"{metric.words or name} of lists", metric.source))
    purposes: dict[str, list[str]] = {}
    for what, source in used:
        if what not in purposes.setdefault(source, []):
            purposes[source].append(what)
    return [
        (", and for ".join(filter(None, [", for ".join(what[:-1]), what[-1]])), source)
        for source, what in purposes.items()
    ]

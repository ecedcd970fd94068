"""What to cite: the methods that a sweep used."""

from plausibly.sweeps import Sweep

_PAPERS = {
    "stutz": "Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground "
    "truth, Medical Image Analysis; arXiv 2307.02191.",
    "plackett": "Plackett (1975), The analysis of permutations, Journal of the Royal Statistical Society C 24.",
    "luce": "Luce (1959), Individual Choice Behavior: A Theoretical Analysis, Wiley.",
    "caron": "Caron & Doucet (2012), Efficient Bayesian inference for generalized Bradley–Terry models, Journal of "
    "Computational and Graphical Statistics 21.",
    "hunter": "Hunter (2004), MM algorithms for generalized Bradley–Terry models, Annals of Statistics 32.",
    "ma": "Ma, Yi, Tang et al. (2021), Learning-to-rank with partitioned preference: fast estimation for the "
    "Plackett–Luce model, AISTATS.",
    "nuts": "Hoffman & Gelman (2014), The No-U-Turn Sampler, Journal of Machine Learning Research 15.",
    "numpyro": "Phan, Pradhan & Jankowiak (2019), Composable effects for flexible and accelerated probabilistic "
    "programming in NumPyro, arXiv 1912.11554.",
    "vehtari": "Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and localization: "
    "an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16.",
    "betancourt": "Betancourt (2016), Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo, "
    "arXiv 1604.00695.",
    "fagin": "Fagin, Kumar & Sivakumar (2003), Comparing top k lists, SIAM Journal on Discrete Mathematics 17.",
}
_ALL = "uncertainty-adjusted metrics, annotation certainty, plausibilities"
_RANKING = ("Plackett–Luce model of partial rankings", ("plackett", "luce", "ma"))
_MODELS = {
    "dirichlet-categorical": [("Dirichlet posterior of labels", ("stutz",))],
    "irn": [("inverse rank normalisation", ("stutz",))],
    "prirn": [("probabilistic inverse rank normalisation", ("stutz",))],
    "plackett-luce": [_RANKING, ("its posterior over partial rankings", ("caron", "stutz"))],
    "plackett-luce-ml": [_RANKING, ("its maximum likelihood", ("hunter",))],
}
_ENGINES = {
    "nuts": [("sampling by NUTS", ("nuts", "numpyro")), ("energies of the chains", ("betancourt",))],
    "gibbs": [("Gibbs sampling", ("caron",))],
}


def references(swept: Sweep) -> list[tuple[str, str]]:
    """List what to cite for the models and engines of a sweep: each source once, and what for.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b"]])
    >>> swept = pb.sweep(annotations, {}, {"majority-vote": None}, progress=False)
    >>> [what for what, _ in references(swept)]
    ['uncertainty-adjusted metrics, annotation certainty, plausibilities']
    """
    used = [(_ALL, ("stutz",))]
    for run in swept.runs:
        used += _MODELS.get(run.model, []) + _ENGINES.get(str(run.attrs.get("engine")), [])
        if run.has_chains:
            used.append(("convergence of the chains", ("vehtari",)))
    metrics = " ".join(str(name) for run in swept.runs for name in run.results.data_vars) if swept.classifiers else ""
    if "kendall_tau" in metrics or "footrule" in metrics:
        used.append(("Kendall's tau and Spearman's footrule of lists", ("fagin",)))
    purposes: dict[str, list[str]] = {}
    for what, papers in used:
        for paper in papers:
            if what not in purposes.setdefault(paper, []):
                purposes[paper].append(what)
    return [("; ".join(what), _PAPERS[paper]) for paper, what in purposes.items()]

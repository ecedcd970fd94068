"""Systems judged by people and models: which one is best, as people would say.

A *system* produced outputs for cases (prompts); *raters*, people and language models, said of each output whether it
passes, which class it has, how good it is, or which of two is better. People saw few outputs, *judges* many. Wanted is
the mean outcome θ that people would give each system. A judge's mean f̄ is wrong by its bias, which differs between
systems; the people's mean ȳ is right but uncertain.

:func:`systems` corrects the one by the other, in closed form and without assumptions about raters, as long as the cases
that people saw are a random sample of all:

=====================  =========================================================================
people alone           ȳ, over the cases that people saw
judge alone            f̄, over all cases of the judge
PPI                    f̄ of the other cases + mean of y − f
PPI++                  ȳ + λ (f̄ of the other cases − f̄ of the shared ones), λ with the least error
Rogan–Gladen           (p + specificity − 1) / (sensitivity + specificity − 1), of pass and fail
=====================  =========================================================================

Where systems were not judged alike (other people, other cases, other opponents), ``_design.py`` says so, and estimates
by what they have in common, of pairs by strengths (``_strengths.py``).

With ``model=True`` a model of all raters is sampled, too, and its rows stand beside these.

PPI++ is never much wider than people alone, whatever the judge. Errors are those of clusters of cases; as all systems
are estimated from the same cases, their differences are paired. ``plausibly.data.outcome_sources`` reads tables,
exports and rankings, ``plausibly.data.outcomes`` puts them in codes, ``_estimates.py`` has the estimators of arrays,
``_systems.py`` makes tables of them, ``_plan.py`` says what more outcomes by people would bring, ``_findings.py``
whether judges change or differ from people, and ``plausibly.data.audit.outcomes`` looks at names of raters, systems and
cases. Of the model, ``_model.py`` puts outcomes in its codes and samples it, and ``_modelled.py`` adds it to a result
and tests it by replicates.
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)

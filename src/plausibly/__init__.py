"""Evaluate classifiers under uncertain ground truth.

Experts who annotate the same case often disagree, and a majority vote hides this. plausibly infers a posterior over
*plausibilities*, the distribution over the classes of each case, and evaluates classifiers against its draws::

    annotations = pb.read_annotations("annotations.json", classes="conditions.txt")
    posterior = pb.aggregate(annotations, model="plackett-luce", reliability=3, seed=0)
    results = pb.evaluate(posterior, {"A": "a.csv", "B": "b.npy"})

The top level has the containers, readers and writers, the errors, and one function per question:

=========================  =========================================================================
:func:`aggregate`          What do the annotations say about each case?
:func:`infer_reliability`  How reliable are the annotators?
:func:`diagnose`           Did the chains converge?
:func:`evaluate`           How well do classifiers do? (:func:`summary` prints it as a table)
:func:`sweep`              Does the answer depend on the model or the reliability?
:func:`conformal`          How large must a set of answers be?
:func:`compare_models`     Which aggregation model predicts annotations best?
:func:`predictive_check`   Does the model reproduce the annotations?
:func:`prior_sensitivity`  Does the prior matter?
:func:`audit`              Are there problems in the data?
:func:`systems`            Which system is best, by few people and many judges?
:func:`plan`               Which cases should be annotated next?
:func:`report`             How do I show the results to others?
=========================  =========================================================================

Everything else is in namespaces: :mod:`~plausibly.comparison` (is one classifier better?), :mod:`~plausibly.evaluation`
(weights of cases), :mod:`~plausibly.annotators`, :mod:`~plausibly.metrics`, :mod:`~plausibly.plots`,
:mod:`~plausibly.models`, :mod:`~plausibly.distributions`, :mod:`~plausibly.primitives`, :mod:`~plausibly.datasets`.
:mod:`~plausibly.agreement` needs no model: it measures how well annotators agree on :mod:`~plausibly.labels` of any
type, using :mod:`~plausibly.distances` between labels.

Names are imported when they are first used; ``__init__.pyi`` lists where they come from.
"""

import copyreg as _copyreg
import importlib as _importlib
import sys as _sys
from importlib.machinery import ModuleSpec as _ModuleSpec
from importlib.metadata import version as _version

from lazy_loader import attach_stub as _attach_stub

_find, __dir__, __all__ = _attach_stub(__name__, __file__)
#: Namespaces as they are documented, and the folders that hold them. ``plausibly.priors`` is the same module as
#: ``plausibly.families.priors``, as an attribute and in imports.
_NAMESPACES = {
    "annotations": "data.annotations",
    "annotators": "agreement.annotators",
    "audit": "data.audit",
    "case": "data.case",
    "cli": "app.cli",
    "conformal": "decisions.conformal",
    "datasets": "data.datasets",
    "diagnostics": "posterior.diagnostics",
    "doctor": "app.doctor",
    "errors": "base.errors",
    "labels": "data.labels",
    "model": "families.model",
    "model_comparison": "aggregation.model_comparison",
    "planning": "decisions.planning",
    "plots": "app.plots",
    "primitives": "distributions.primitives",
    "priors": "families.priors",
    "random_streams": "base.random_streams",
    "report": "app.report",
    "results": "app.results",
    "sweeps": "aggregation.sweeps",
}
_FUNCTIONS = {"audit", "conformal", "doctor", "report"}  #: attributes that are functions, while imports find modules


class _Namespaces:
    """Finder of the modules that are documented under a shorter name than that of their folder."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, short = name.partition(".")
        return _ModuleSpec(name, _Namespaces) if package == __name__ and short.split(".")[0] in _NAMESPACES else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        first, dot, rest = module.__name__.removeprefix(f"{__name__}.").partition(".")
        _sys.modules[module.__name__] = _importlib.import_module(f"{__name__}.{_NAMESPACES[first]}{dot}{rest}")


class _Package(type(_sys.modules[__name__])):
    def __setattr__(self, name, value):
        module = _sys.modules.get(f"{__name__}.{name}")
        if name not in _FUNCTIONS or value is not module:  # an import of the module would replace the function
            super().__setattr__(name, value)


_sys.meta_path.insert(0, _Namespaces)
_sys.modules[__name__].__class__ = _Package


def __getattr__(name: str):
    if name in _NAMESPACES and name not in _FUNCTIONS:
        return _importlib.import_module(f"{__name__}.{name}")
    if name.startswith("_") or name in __all__:
        return _find(name)
    from plausibly.base.errors import suggest

    fix = suggest(name, __all__, "the reference maps questions and commands to functions")
    fix = "it is called compare_models now" if name == "compare" else fix
    raise AttributeError(f"plausibly has no attribute {name!r}: {fix}")


# lazy_loader gives this module a class of its own, which pickles of users' programs that refer to it have to know.
_copyreg.pickle(type(_sys.modules[__name__]), lambda module: (_importlib.import_module, (module.__name__,)))
__version__ = _version("plausibly")

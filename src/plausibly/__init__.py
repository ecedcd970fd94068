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
from importlib.metadata import version as _version

from lazy_loader import attach_stub as _attach_stub

_find, __dir__, __all__ = _attach_stub(__name__, __file__)


def __getattr__(name: str):
    if name.startswith("_") or name in __all__:
        return _find(name)
    from plausibly.errors import suggest

    fix = suggest(name, __all__, "the reference maps questions and commands to functions")
    fix = "it is called compare_models now" if name == "compare" else fix
    raise AttributeError(f"plausibly has no attribute {name!r}: {fix}")


# lazy_loader gives this module a class of its own, which pickles of users' programs that refer to it have to know.
_copyreg.pickle(type(_sys.modules[__name__]), lambda module: (_importlib.import_module, (module.__name__,)))
__version__ = _version("plausibly")

"""Evaluate classifiers under uncertain ground truth.

Experts disagree, and a vote over their annotations hides it. Here annotations give a posterior over *plausibilities*,
the class distribution of each case, and classifiers are evaluated against its draws::

    annotations = pb.read_annotations("annotations.json", classes="conditions.txt")
    posterior = pb.aggregate(annotations, model="plackett-luce", reliability=3, seed=0)
    results = pb.evaluate(posterior, {"A": "a.csv", "B": "b.npy"})

At the top level are the containers, readers and writers, the errors, and one verb per question:

=========================  =========================================================================
:func:`aggregate`          What do the annotations say about each case?
:func:`infer_reliability`  How reliable are the annotators?
:func:`diagnose`           Did the chains converge?
:func:`evaluate`           How well do classifiers do? (:func:`summary` prints it as a table)
:func:`sweep`              Does the answer depend on the model or the reliability?
:func:`conformal`          How large must a set of answers be?
:func:`compare`            Which aggregation model predicts annotations best?
:func:`predictive_check`   Does the model reproduce the annotations?
:func:`prior_sensitivity`  Does the prior matter?
:func:`audit`              Is anything odd about the data?
:func:`report`             How do I show all of this to someone?
=========================  =========================================================================

All else is in namespaces: :mod:`~plausibly.comparison` (is one classifier better?), :mod:`~plausibly.evaluation`
(weights of cases), :mod:`~plausibly.annotators`, :mod:`~plausibly.metrics`, :mod:`~plausibly.plots`,
:mod:`~plausibly.models`, :mod:`~plausibly.distributions`, :mod:`~plausibly.primitives`, :mod:`~plausibly.datasets`.
Independently of models, :mod:`~plausibly.agreement` measures how far :mod:`~plausibly.labels` of any type can be
trusted, by the :mod:`~plausibly.distances` between them.

What is used is imported when it is first used; ``__init__.pyi`` lists the names and where they come from.
"""

import copyreg as _copyreg
import importlib as _importlib
import sys as _sys
from importlib.metadata import version as _version

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
# lazy_loader gives this module a class of its own, which pickles of users' programs that refer to it have to know.
_copyreg.pickle(type(_sys.modules[__name__]), lambda module: (_importlib.import_module, (module.__name__,)))
__version__ = _version("plausibly")

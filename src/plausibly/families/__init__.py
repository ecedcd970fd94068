"""Families of aggregation models: what cases share, and how they are drawn given it.

A family is one object with the functions of :class:`Family`, as a sampler of BlackJAX is an object with ``init`` and
``step``. A model names it in its declaration (``plausibly.Model(family=…)``); :func:`plausibly.aggregate`,
:func:`plausibly.compare_models` and commands call these functions and read its facts (:class:`Facts`). None of them
asks which family it is, and a family is registered nowhere, so yours works as those of the package do.

``true_class/`` has models of one true class in each case, ``ratings/`` of ratings by raters who differ. Models without
a family are of independent cases, whose plausibilities may have a prior that is learned
(``plausibly.aggregation._infer``).
"""

from plausibly.families.settled import Facts as Facts
from plausibly.families.settled import Family as Family
from plausibly.families.settled import Settled as Settled
from plausibly.families.settled import SharedDraws as SharedDraws

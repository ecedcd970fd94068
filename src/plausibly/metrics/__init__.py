"""Uncertainty-adjusted metrics: pure functions of a classifier's scores and draws of the plausibilities.

A draw λ is one class distribution per case. Write Y_k(λ) for its k most plausible classes and C_k for the k classes
that a classifier scores highest. Then, per draw and case,

* ``top_k_accuracy``: is Y_1(λ) in C_k?
* ``set_accuracy``: is Y_k(λ) = C_k?
* ``overlap``: |C_k ∩ Y_k(λ)| / k,
* ``average_overlap``: the mean of the overlaps at 1 … k,

and ``annotation_certainty``, per case, is the share of draws in which Y_k(λ) is its most frequent value. Averaged over
cases they are a data set's metric, one number per draw; averaged over draws too, the uncertainty-adjusted metric.

All depend on λ only through ranked lists of a few classes. :func:`plausibly.evaluate` computes these lists without ever
holding draws × cases × classes numbers; the functions here are for arrays small enough to hold.
"""

from plausibly.metrics._certainty import annotation_certainty as annotation_certainty
from plausibly.metrics._lists import ranked_classes as ranked_classes
from plausibly.metrics._overlap import average_overlap as average_overlap
from plausibly.metrics._overlap import overlap as overlap
from plausibly.metrics._overlap import set_accuracy as set_accuracy
from plausibly.metrics._overlap import top_k_accuracy as top_k_accuracy

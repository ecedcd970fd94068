"""How good are the labels, and how good is a model among those who gave them? Answers that fit no model of the truth.

Everything here starts from a long table of labels, one row per label, with the columns ``case``, ``annotator`` and
``label`` (:class:`Labels`); a label may be any Python object that the measure at hand can compare.
"""

from plausibly.agreement._labels import Labels as Labels

r"""Models of labels under which every case has one true class: their posterior, and what cases share in it.

Under such a model annotators differ because some of them err, not because the case is ambiguous. The plausibility of a
class is the probability that it is the true one, given the labels of the case and one draw of what cases share (how
common classes are, how each annotator errs). It tends to 0 or 1 as labels are added, also where annotators go on
disagreeing. The attribute ``assumes`` of the posterior says so.

What cases share is sampled once, from all of them (``_sampler``, with predictions ``_coefficients``). Given its draws,
cases are independent, so they come in shards (``_family``) and are left out of comparisons by folds (``_leave_out``).
"""

from plausibly.families.true_class._family import OPTIONS as OPTIONS
from plausibly.families.true_class._family import TrueClass as TrueClass
from plausibly.families.true_class._family import sample_shared as sample_shared
from plausibly.families.true_class._sampler import class_probabilities as class_probabilities
from plausibly.families.true_class._sampler import sampler_of as sampler_of

r"""Priors of the plausibilities that are learned from data.

A posterior that knows only the annotations rates a classifier as if the classifier knew nothing else about a case. With
few annotations, the classifiers' own predictions say a lot about a case, and whoever leaves them out underrates every
classifier. :class:`PredictionsPrior` puts them into the prior of each case:

.. math::
   \lambda_i \sim \mathrm{Dirichlet}(\kappa_i m_i), \quad
   m_i = (1 - e)\,
   \mathrm{softmax}\Big(\sum_j \beta_j \ell_{ij} + \sum_j \tau_j t_{ij} + \delta \log \pi + b\Big) + e \pi,

where :math:`\ell_{ij}` are the log scores that classifier :math:`j` gives case :math:`i`, :math:`t_{ij}` marks its
first choice, and :math:`\pi` is the prevalence of classes. The annotations decide how much each classifier is worth,
because they are draws from :math:`\lambda_i`: one that knows nothing gets :math:`\beta_j = \tau_j = 0`. The program is
in ``_program``; what cases share is drawn in ``fit``, once; given these draws, cases are independent.

Without predictions, the same program learns one Dirichlet prior for all cases: how common classes are, and how much
experts disagree.
"""

from plausibly.families.priors._case_priors import CasePriors as CasePriors
from plausibly.families.priors._case_priors import ClassPrior as ClassPrior
from plausibly.families.priors._predictions import KAPPA as KAPPA
from plausibly.families.priors._predictions import PredictionsPrior as PredictionsPrior
from plausibly.families.priors._program import case_prior as case_prior
from plausibly.families.priors.evidence import Evidence as Evidence

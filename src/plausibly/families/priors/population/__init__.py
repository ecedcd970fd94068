r"""Population of cases: how common classes are, and which of them are named together.

Every case has a *head*, the class that it is mainly about, and every head has a *profile*, the mean plausibilities of
its cases:

.. math::
   \pi \sim \mathrm{Dirichlet}(a / K), \quad
   C_z \sim \mathrm{Dirichlet}\big(\kappa (s e_z + (1 - s) \pi)\big), \quad
   z_i \sim \mathrm{Categorical}(\pi), \quad
   \lambda_i \sim \mathrm{Dirichlet}(A\, C_{z_i}),

with the *prevalence* :math:`\pi`, the *concentration* :math:`A` (how many annotations the prior of a case is worth),
the *strength* :math:`\kappa` (how many cases the prior of a profile is worth), and the *self share* :math:`s` (how much
of this prior falls on the head).

The shared parameters are sampled from all cases together (``_sampler``). Given them, cases are independent again, and
the prior of each is a mixture over heads of Dirichlet distributions (``_case_priors``), so that any engine that
supports Dirichlet priors can sample them in shards. Unnamed classes that are likely given the profiles get slots of
their own; the others stay in the remainder, which is split in proportion to the prevalence.

How the shared parameters are learned
-------------------------------------
For the shared parameters, an annotation is reduced to a few labels: its first choice, and each later rank with a
probability that starts at 1/4 and halves from rank to rank, drawn again in every sweep. Later ranks show which classes
go together, but they are not independent votes. One of the classes in a tie is chosen at random. Every annotation
counts once, whatever the reliability at which cases are aggregated afterwards. For single labels, this is the posterior
of the model above.

Difficulty
----------
With ``difficulty="by-case"``, :math:`\log A_i` is normal around :math:`\log A` with a spread :math:`\tau`, approximated
by five quadrature nodes. :func:`difficulties` ranks the cases by difficulty.

Interpretation
--------------
A population prior pulls rare classes towards common ones. This gives the best prediction of the next annotation, but it
can hide a rare disease. :func:`shifts` shows which classes are moved and how far.

References
----------
Teh, Jordan, Beal & Blei (2006), Hierarchical Dirichlet processes, Journal of the American Statistical Association 101,
for the table counts that make profiles conjugate; Escobar & West (1995), Bayesian density estimation and inference
using mixtures, ibid. 90, for concentrations; Papaspiliopoulos & Roberts (2008), Retrospective Markov chain Monte Carlo
methods for Dirichlet process hierarchical models, Biometrika 95, for exchanges of labels.
"""

from plausibly.families.priors.population._case_priors import at_population as at_population
from plausibly.families.priors.population._case_priors import case_priors as case_priors
from plausibly.families.priors.population._estimate import estimate as estimate
from plausibly.families.priors.population._population import Population as Population
from plausibly.families.priors.population._shifts import CLASS_SHIFTS as CLASS_SHIFTS
from plausibly.families.priors.population._shifts import difficulties as difficulties
from plausibly.families.priors.population._shifts import largest_shifts as largest_shifts
from plausibly.families.priors.population._shifts import shifts as shifts
from plausibly.families.priors.population._shifts import shifts_text as shifts_text

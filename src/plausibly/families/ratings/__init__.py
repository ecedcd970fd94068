r"""Models of ratings by raters who differ: one is severe, another lenient, and some scatter more than others.

A rating is an interval of a latent normal scale, whose cutpoints all raters share, or a number on it. On that scale
every case has a mean, every rater a severity, which is added to it, and a spread, with which she scatters around it.
Severities are told apart from cases by cases that raters share, or by groups of cases that they share: where each case
has one rater, the system and the document of a case, say, have effects of their own, which several raters saw.

What cases share is sampled together with their means, from all of them (``_sampler``). The plausibility of a class is
the share of raters like these, of any severity and spread, who would give a rating of that class (``_shares``).
"""

from plausibly.families.ratings._cases import RatedCases as RatedCases
from plausibly.families.ratings._family import Ratings as Ratings
from plausibly.families.ratings._family import means_and_spreads as means_and_spreads
from plausibly.families.ratings._sampler import GROUP as GROUP
from plausibly.families.ratings._sampler import LOCATION as LOCATION
from plausibly.families.ratings._sampler import OF_CASES as OF_CASES
from plausibly.families.ratings._sampler import OF_GROUPS as OF_GROUPS
from plausibly.families.ratings._sampler import OF_SCORES as OF_SCORES
from plausibly.families.ratings._sampler import OF_SEVERITIES as OF_SEVERITIES
from plausibly.families.ratings._sampler import OF_SHARED as OF_SHARED
from plausibly.families.ratings._sampler import OF_SPREADS as OF_SPREADS
from plausibly.families.ratings._sampler import SHARED as SHARED
from plausibly.families.ratings._sampler import SPREAD as SPREAD
from plausibly.families.ratings._sampler import SPREAD_SD as SPREAD_SD
from plausibly.families.ratings._sampler import sampler_of as sampler_of
from plausibly.families.ratings._sampler import sites_of as sites_of
from plausibly.families.ratings._shares import Scale as Scale
from plausibly.families.ratings._shares import expected_ratings as expected_ratings
from plausibly.families.ratings._shares import ratings_of_groups as ratings_of_groups

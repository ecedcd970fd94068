"""One evaluation for every model and reliability, small enough for all of them to be in memory at once.

The reliability is not known, so results are reported for several values. A posterior of thousands of cases takes a
hundred megabytes; only its results, its convergence by case and the draws of a few cases stay in memory. ``_plan``
reads and checks everything before anything is computed. Then, for each run, it samples the posterior or reuses it, and
``_make`` evaluates and diagnoses it. ``runs`` holds the results, and ``_sweep`` the public function.
"""

from plausibly.aggregation.sweeps._make import KEPT_CASES as KEPT_CASES
from plausibly.aggregation.sweeps._plan import Folder as Folder
from plausibly.aggregation.sweeps._plan import Plan as Plan
from plausibly.aggregation.sweeps._sweep import sweep as sweep
from plausibly.aggregation.sweeps.runs import STATISTICS as STATISTICS
from plausibly.aggregation.sweeps.runs import Run as Run
from plausibly.aggregation.sweeps.runs import Sweep as Sweep
from plausibly.aggregation.sweeps.runs import posterior_name as posterior_name

"""One evaluation for every model and reliability, kept small enough to hold all of them at once.

Reliability is not known, so results are reported over a range of it. A posterior over thousands of cases takes a
hundred megabytes; of each only the results, the convergence by case and the draws of a few cases stay. ``_plan`` reads
and checks everything before anything is computed. Then, for each run, it samples the posterior or reuses it, and
``_make`` evaluates and diagnoses it. ``_runs`` has what is found, and ``_sweep`` the front door.
"""

from plausibly.sweeps._make import KEPT_CASES as KEPT_CASES
from plausibly.sweeps._make import KEPT_CHAINS as KEPT_CHAINS
from plausibly.sweeps._plan import Folder as Folder
from plausibly.sweeps._plan import Plan as Plan
from plausibly.sweeps._runs import STATISTICS as STATISTICS
from plausibly.sweeps._runs import Run as Run
from plausibly.sweeps._runs import Sweep as Sweep
from plausibly.sweeps._runs import posterior_name as posterior_name
from plausibly.sweeps._sweep import sweep as sweep

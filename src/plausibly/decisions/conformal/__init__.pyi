from ._conformal import conformal as conformal
from ._coverage import conformal_coverage as conformal_coverage
from ._coverage_result import Coverage as Coverage
from ._result import Conformal as Conformal
from ._sweep import ConformalSweep as ConformalSweep
from ._sweep import conformal_sweep as conformal_sweep

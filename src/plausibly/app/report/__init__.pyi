from ._exhibits import write as write
from ._summary import alike as alike
from ._summary import order_over_runs as order_over_runs
from ._sweep import render as render
from ._sweep import report as report
from .tables import lead as lead

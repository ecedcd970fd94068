from ._annotators import can_plan as can_plan
from ._plan import plan as plan
from ._result import Plan as Plan

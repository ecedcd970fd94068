from ._result import NAMES as NAMES
from ._result import Systems as Systems
from ._systems import systems as systems
from .outcomes import Outcomes as Outcomes
from .outcomes import read_outcomes as read_outcomes

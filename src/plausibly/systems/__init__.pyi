from ._result import NAMES as NAMES
from ._result import Systems as Systems
from ._systems import Outcomes as Outcomes
from ._systems import read_outcomes as read_outcomes
from ._systems import systems as systems

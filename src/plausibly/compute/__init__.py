"""Programs compiled once per shape, and run over parts of the cases on all devices.

Cases are padded to a few *rungs*. A :class:`Part` holds some cases of one rung, repeated to a fixed size, so that a
rung needs one program (:func:`run`). Programs are traced one after the other (NumPyro's effect handlers are global),
then compiled and called by the threads of a :class:`Pool`, since XLA lets go of the interpreter while it works. They
are kept for the life of the process, and by JAX on disk for the next one (``_compilation``).

Parts do not depend on the number of devices, and results come back in their order, so neither does any number.
"""

from plausibly.compute._compilation import compiler_options as compiler_options
from plausibly.compute._compilation import kept_on_disk as kept_on_disk
from plausibly.compute._compilation import tell_of_first_run as tell_of_first_run
from plausibly.compute._run import Part as Part
from plausibly.compute._run import Pool as Pool
from plausibly.compute._run import ahead as ahead
from plausibly.compute._run import devices as devices
from plausibly.compute._run import parted as parted
from plausibly.compute._run import run as run

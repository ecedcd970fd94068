"""The commands: ``plausibly demo``, ``evaluate``, ``aggregate``, ``agreement``, ``simulate``."""

from plausibly.cli._aggregate import aggregate
from plausibly.cli._agreement import agreement
from plausibly.cli._app import app as app
from plausibly.cli._app import main as main
from plausibly.cli._demo import demo
from plausibly.cli._evaluate import evaluate
from plausibly.cli._simulate import simulate

# In the order in which a newcomer wants them.
for _command in (demo, evaluate, aggregate, agreement, simulate):
    app.command()(_command)

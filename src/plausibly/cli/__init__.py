"""The commands, one module each; ``plausibly --help`` lists them."""

from plausibly.cli._aggregate import aggregate
from plausibly.cli._agreement import agreement
from plausibly.cli._app import app as app
from plausibly.cli._app import main as main
from plausibly.cli._audit import audit
from plausibly.cli._check import check
from plausibly.cli._compare import compare
from plausibly.cli._compare_models import compare_models
from plausibly.cli._convert import convert
from plausibly.cli._demo import demo
from plausibly.cli._diagnose import diagnose
from plausibly.cli._discrepancy import discrepancy
from plausibly.cli._evaluate import evaluate
from plausibly.cli._options import spread
from plausibly.cli._reliability import reliability
from plausibly.cli._sensitivity import sensitivity
from plausibly.cli._simulate import simulate
from plausibly.cli._sweep import sweep

# In the order in which a newcomer needs them.
for _command in (
    *(demo, audit, evaluate, aggregate, sweep, compare, compare_models, check, sensitivity),
    *(diagnose, agreement, discrepancy, reliability, convert, simulate),
):
    app.command()(spread(_command))

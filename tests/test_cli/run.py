"""How tests run a command."""

from typer.testing import CliRunner, Result

from plausibly.cli import app


def plausibly(*words) -> Result:
    # As wide as tables like: the workers of pytest-xdist inherit a terminal's 80 columns.
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(word) for word in words])

"""How tests run a command."""

import pytest
from typer.testing import CliRunner, Result

from plausibly.app.cli import app
from plausibly.base import arviz as _arviz


def plausibly(*words, width: int = 1000) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_arviz, "_data_trees", True)  # as plausibly.cli.main does
        # So wide that sentences are lines; test_screens.py has the width of a terminal.
        return CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])


def succeed(*words) -> Result:
    """Result of a command that ends with status 0."""
    result = plausibly(*words)
    assert result.exit_code == 0, result.output
    return result


def refuse(*words) -> Result:
    """Result of a command that ends with status 2, as after bad input."""
    result = plausibly(*words)
    assert result.exit_code == 2, result.output
    return result

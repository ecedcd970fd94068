"""Completion by the shell: commands, options and choices, and the scripts that make a shell ask for them."""

import pytest
from typer.testing import CliRunner

from plausibly.app.cli import app


def complete(*words, **environment):
    """What the program answers a shell, which asks through variables of the environment."""
    result = CliRunner().invoke(app, words, prog_name="plausibly", env=environment)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("plausibly co", ["conformal", "convert"]),
        ("plausibly --install", ["--install-completion"]),
        ("plausibly simulate --c", ["--cases", "--classes"]),
        ("plausibly evaluate --truth pa", ["panel"]),
        ("plausibly models c", ["compare", "check"]),
        ("plausibly evaluate --break", ["--break-ties"]),
        ("plausibly model n", ["new"]),
        ("plausibly audit --install", []),
    ],
)
def test_commands_options_and_choices_are_proposed(line, proposed):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert sorted(complete(_PLAUSIBLY_COMPLETE="complete_bash", **words).split()) == sorted(proposed)


def test_proposed_commands_have_their_summaries():
    said = complete(_PLAUSIBLY_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="plausibly ag")
    assert '"agreement":"' in said
    assert "()" not in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # or the shell that runs the tests
    assert f"_PLAUSIBLY_COMPLETE=complete_{shell}" in complete("--show-completion", shell)

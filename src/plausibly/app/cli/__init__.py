"""The commands, one module each; ``plausibly --help`` lists them.

A command's module, and what it needs, is imported when the command is run: the list of commands prints at once.
"""

from plausibly.app.cli._app import app as app
from plausibly.app.cli._app import main as main

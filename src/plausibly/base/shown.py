"""Results that are displayed as the command that makes them shows them."""

from importlib import import_module


class Shown:
    """A result that notebooks and interpreters show by what it says: a headline, a table, and what limits it.

    A class says of which kind it is: the module of ``app/results``, which stands above all of them and is imported when
    a result is shown.
    """

    kind_of_result = ""

    def __init_subclass__(cls, kind: str, **further):
        super().__init_subclass__(**further)
        cls.kind_of_result = kind

    def __repr__(self) -> str:
        return str(import_module("plausibly.app.results").of(self))

    def _repr_html_(self) -> str:
        return import_module("plausibly.app.results").of(self)._repr_html_()

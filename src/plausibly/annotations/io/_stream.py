"""Rankings in JSON of any length, one case after the other.

What is not plainly rankings (another order of the keys, a fault anywhere in the file) is not judged here: it is for
those who read the whole file, and whose errors count lines and columns.
"""

import codecs
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from plausibly.annotations.io._rankings import DECODER, once
from plausibly.errors import PlausiblyError

_BLOCK = 2**20  # bytes


class NotPlain(Exception):
    """The file is no plain rankings."""


def check_plain(path: Path) -> None:
    """Go through rankings in which a fault has been found, for another that reading the whole file would find first.

    Raises
    ------
    NotPlain
        If there is.
    """
    try:
        with Stream(path, lambda n: None) as stream:
            once([name for name, _ in stream.cases()])
    except PlausiblyError as error:
        raise NotPlain from error


class Stream:
    """A file of rankings, as a context.

    Parameters
    ----------
    path
        The file.
    advance
        Told how many megabytes more are read.

    Attributes
    ----------
    classes
        What the file says of classes; None if nothing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.json")
    ...     _ = path.write_text('{"classes": ["a", "b"], "cases": {"p": [[["a"]]], "q": [[["b"]], [["a"]]]}}')
    ...     with Stream(path, lambda n: None) as stream:
    ...         stream.classes, list(stream.cases())
    (['a', 'b'], [('p', [[['a']]]), ('q', [[['b']], [['a']]])])
    """

    def __init__(self, path: Path, advance: Callable[[float], Any]):
        self._path, self._advance = path, advance
        self._text, self._at = "", 0
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self.classes: object = None

    def __enter__(self) -> "Stream":
        self._file: BinaryIO = self._path.open("rb")
        try:
            self._named = self._next() == "{"
            self._take("{" if self._named else "[")
            if self._named:
                key = self._value()
                self._take(":")
                if key == "classes":
                    self.classes = self._value()
                    self._take(",")
                    key = self._value()
                    self._take(":")
                if key != "cases":
                    raise NotPlain
                self._take("{")
            if self._next() != ('"' if self._named else "["):
                raise NotPlain
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def cases(self) -> Iterator[tuple[str, object]]:
        """Yield the name and the annotations of every case.

        Raises
        ------
        NotPlain
            If they are followed by something else.
        PlausiblyError
            As :func:`load_json` does.
        """
        number = 0
        end = "}" if self._named else "]"
        while True:
            name = str(number)
            if self._named:
                name = self._value()
                self._take(":")
            if self._next() not in ("[", "{") or not isinstance(name, str):
                raise NotPlain
            yield name, self._value()
            number += 1
            if self._next() == end:
                break
            self._take(",")
        self._take(end)
        if self._named:
            self._take("}")
        if self._next():
            raise NotPlain

    def _more(self) -> bool:
        """Read as much again as there is, so that a long value is not looked at too often."""
        self._text, self._at = self._text[self._at :], 0
        block = self._file.read(max(_BLOCK, len(self._text)))
        self._advance(len(block) / 1e6)
        try:
            self._text += self._utf8.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise NotPlain from error
        return bool(block)

    def _next(self) -> str:
        """Return the next character that is not blank, without taking it; nothing at the end."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in " \t\n\r":
                    return character
                self._at += 1
            if not self._more():
                return ""

    def _take(self, character: str) -> None:
        if self._next() != character:
            raise NotPlain
        self._at += 1

    def _value(self) -> Any:
        """Take a list, an object or a text, which all say themselves where they end."""
        if self._next() not in ("[", "{", '"'):
            raise NotPlain
        while True:
            try:
                value, self._at = DECODER.raw_decode(self._text, self._at)
                return value
            except json.JSONDecodeError as error:
                if not self._more():
                    raise NotPlain from error
            except PlausiblyError:
                raise
            except (RecursionError, ValueError) as error:  # too deep, or a number of thousands of digits
                raise NotPlain from error

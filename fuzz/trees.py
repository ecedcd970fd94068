"""JSON made of bytes: every byte decides something, so that a fuzzer that changes bytes changes the tree."""

from typing import Any

_ODD = ("", " ", "x", "7", "-1", "=1+1", "<b>", "a\nb", "é", "null", "nan")
_NUMBERS = (0, 1, 2, -1, 3, 7, 2**31, 2**63, 10**20, 0.5, 1e308, -0.0)
_DEEPEST = 7


def tree(content: bytes, words: tuple[str, ...]) -> Any:
    """Make a value of bytes.

    Parameters
    ----------
    content
        The recipe; where it ends, lists and objects do.
    words
        Text that means something to the reader.
    """
    return _Maker(content, words).value(0)


class _Maker:
    def __init__(self, content: bytes, words: tuple[str, ...]):
        self.content = content
        self.words = words
        self.at = 0

    def next(self) -> int:
        self.at += 1
        return self.content[self.at - 1] if self.at <= len(self.content) else 0

    def text(self) -> str:
        number = self.next()
        return self.words[number % len(self.words)] if number < 200 else _ODD[number % len(_ODD)]

    def value(self, depth: int) -> Any:
        kind = self.next() % 8
        if kind < 3 and depth < _DEEPEST:
            return [self.value(depth + 1) for _ in range(self.size())]
        if kind < 5 and depth < _DEEPEST:
            return {self.text(): self.value(depth + 1) for _ in range(self.size())}
        if kind < 6:
            return self.text()
        number = self.next()
        return (None, True, False)[number % 3] if kind == 7 else _NUMBERS[number % len(_NUMBERS)]

    def size(self) -> int:
        return 0 if self.at >= len(self.content) else self.next() % 5

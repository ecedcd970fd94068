"""Trees: labels such as parses of sentences.

A tree is text with brackets, ``(S (NP the dog) (VP ran))``, or nested sequences whose first member is the name of the
node, ``("S", ("NP", "the", "dog"), ("VP", "ran"))``. Leaves are words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

from plausibly.base.checks import check_choice, check_library
from plausibly.base.errors import show
from plausibly.distances._base import Counts, PairwiseDistance, each_label

Scale = Literal["plain", "norm", "diff"]


@dataclass(frozen=True)
class Tree:
    """Node of a tree, with its name and its children."""

    name: str
    children: list["Tree"] = field(default_factory=list)

    @property
    def n_words(self) -> int:
        """Number of leaves."""
        return sum(child.n_words for child in self.children) if self.children else 1


def tree_of(label: Any) -> Tree:
    """Read a label as a tree; raise ValueError if it is not a tree.

    Examples
    --------
    >>> tree_of("(S (NP the dog) (VP ran))") == tree_of(("S", ("NP", "the", "dog"), ("VP", "ran")))
    True
    >>> tree_of("(S (NP the dog) (VP ran))").n_words
    3
    """
    if isinstance(label, str):
        return _parsed(label)
    if isinstance(label, Tree):
        return label
    return _nested(label, label)


def _nested(node: Any, whole: Any) -> Tree:
    if isinstance(node, str):
        return Tree(node)
    if not isinstance(node, Sequence) or not node or not isinstance(node[0], str):
        raise ValueError(f"a tree is (name, child, …) or text with brackets, got {show(whole)}; name every node")
    return Tree(node[0], [_nested(child, whole) for child in node[1:]])


def _parsed(text: str) -> Tree:
    tokens = re.findall(r"[()]|[^\s()]+", text)
    depth = list(accumulate((token == "(") - (token == ")") for token in tokens))
    if not depth or depth[0] != 1 or 0 not in depth:
        raise ValueError(f"the brackets of a tree have to match, got {show(text)}; write (S (NP the dog) (VP ran))")
    if depth.index(0) < len(depth) - 1:
        raise ValueError(f"a tree has one root, but text follows its last bracket in {show(text)}; remove it")
    open_nodes = [Tree("")]
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if token == "(":
            node = Tree("" if after in ("(", ")") else after)  # without a name, as around the sentences of treebanks
            open_nodes[-1].children.append(node)
            open_nodes.append(node)
        elif token == ")":
            open_nodes.pop()
        elif before != "(":
            open_nodes[-1].children.append(Tree(token))
    return open_nodes[0].children[0]


class TreeEdit(PairwiseDistance):
    """Tree edit distance: number of nodes to insert, delete or rename.

    Pawlik and Augsten (2016) for the algorithm.

    Parameters
    ----------
    scale
        ``"plain"``: the number; ``"norm"``: divided by the number of words in both trees; ``"diff"``: minus the
        difference between the numbers of words, a lower bound on the number of edits.

    Examples
    --------
    >>> short, long = "(S (NP dog) (VP ran))", "(S (NP the dog) (VP ran))"
    >>> TreeEdit()(short, long), TreeEdit("norm")(short, long), TreeEdit("diff")(short, long)
    (1.0, 0.2, 0.0)
    """

    def __init__(self, scale: Scale = "plain"):
        check_choice("the scale", scale, ("plain", "norm", "diff"))
        self.scale = scale
        self.name = "tree_edit" if scale == "plain" else f"tree_edit_{scale}"

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> list[Tree]:
        check_library("apted", "trees")
        return each_label(tree_of, labels)

    def compare(self, a: Tree, b: Tree) -> float:
        from apted import APTED

        edits = 0 if a == b else APTED(a, b).compute_edit_distance()
        if self.scale == "norm":
            return edits / (a.n_words + b.n_words)
        return float(edits - abs(a.n_words - b.n_words) if self.scale == "diff" else edits)

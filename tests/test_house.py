"""The size and shape of the house, as numbers that may only fall.

A change may lower a number of ``LIMITS``. One that raises a number says beside it, in a sentence, what came in and
what went out for it. ``python -m tests.test_house`` prints what the checkout measures. Programs that the tests of a
folder compile are counted by `tests/conftest.py` when the whole quick suite runs.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SLACK = 0.03  #: how far lines may fall before their limit has to

LIMITS: dict[str, dict[str, int]] = {
    "lines of code": {
        "aggregation": 5755,  # panels of a sweep, and their rows; width of intervals
        "agreement": 8830,  # halves of two figures; models that rate higher; who leans; who is named
        "app": 13979,  # serious faults first; plots say what they draw; budget of lines; typos in doctor; notes.txt
        "base": 2373,  # serious faults; distinct integers; lanes of rejection; results in notebooks; typos
        "data": 15905,  # columns in another order; what is unread; class names; sets, spans; products by look
        "decisions": 3888,  # what is said of sets without the prior
        "distances": 1858,  # distances of sets
        "distributions": 1231,
        "evaluation": 7470,  # columns in another order; who is better; who knows more than one true class
        "families": 4595,  # one call for freed shapes; confusions; how annotators answer; looks before true classes
        "inference": 4847,  # closed forms, few draws; fast gammas; all chains abreast; widths of slices; small products
        "metrics": 3588,  # average precision of resampled cases; sets are counted
        "models": 2002,  # axes of chains and of points in signatures; points of slices of many labels
        "plausibly": 117,
        "posterior": 3788,  # draws at equal distances, from two folders; folders that are none; closed forms; R-hat
        "systems": 2860,  # people against each other, scales, and what it takes to call a system the best
        "tests": 40214,  # what a stranger met; who knows more than one true class; compiled moves
        "validation": 6715,  # panels of other experts: public readers and simulated ones; scales of their priors
    },
    "shape": {
        "files over 400 lines": 16,  # labels have two orders; designs of systems are one check
        "thread and process pools": 1,
        "page templates": 1,
        "imports of private modules across folders": 3,
        "modules that name a model": 18,
        "modules in circles of imports": 41,  # a file for each platform, which is given a Source as other formats are
    },
    # Of the whole suite: how many a folder compiles depends on what else its process has run (test_data: 59 to 100).
    "programs compiled by quick tests": {"all": 2900},  # 2,533 measured
}


def python_files(*folders: str) -> list[Path]:
    """Source files in folders of the checkout."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def text(path: Path) -> str:
    """What a file holds."""
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(text(path))


@cache
def modules() -> dict[str, Path]:
    """Files of the package by the names under which they are imported."""
    found = {}
    for path in python_files("src/plausibly", "models"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        parts = parts[1:] if parts[0] == "src" else ("plausibly", *parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(name: str) -> frozenset[str]:
    """Modules of the package that a module imports, also inside functions."""
    path, known, found = modules()[name], modules(), set()
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{origin}.{alias.name}"
                if full in known or origin in known:
                    found.add(full if full in known else origin)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
    return frozenset(found)


def folder_of(name: str) -> str:
    """The folder of a module, directly below the package."""
    return name.split(".")[1] if "." in name else ""


def lines_of_code() -> dict[str, int]:
    """Lines by folder, with docstrings and comments."""
    found = {"tests": sum(text(path).count("\n") for path in python_files("tests"))}
    found["validation"] = sum(text(path).count("\n") for path in python_files("validation"))
    for name, path in modules().items():
        folder = folder_of(name) if path.parent.name != "plausibly" else "plausibly"
        found[folder] = found.get(folder, 0) + text(path).count("\n")
    return found


def pools() -> int:
    """Places that start a pool of threads or processes."""
    return sum(len(re.findall(r"\b(?:Thread|Process)PoolExecutor\(", text(path))) for path in modules().values())


def private_imports() -> list[tuple[str, str]]:
    """Imports of a module with an underscore, or of one in a private folder, from another folder."""
    return sorted(
        (name, other)
        for name in modules()
        for other in imports(name)
        if any(part.startswith("_") for part in other.split(".")[1:]) and folder_of(name) != folder_of(other)
    )


def modules_that_name_models() -> list[str]:
    """Modules outside ``models/`` with a name of a model, or a module of one, in their code."""
    from plausibly.models import MODELS

    names = {*MODELS, *(path.stem for path in (ROOT / "models").glob("[!_]*.py"))}
    names |= {f"models.{name}" for name in names}
    found = []
    for name, path in modules().items():
        if folder_of(name) == "models":
            continue
        if {other for other in imports(name) if other.startswith("plausibly.models.")} or names & set(_texts(path)):
            found.append(name)
    return sorted(found)


def _texts(path: Path) -> Iterator[str]:
    """Values of the string literals of a file, without docstrings and parts of f-strings."""
    nodes = list(ast.walk(tree(path)))
    other = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    other |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in other:
            yield node.value


def circles() -> list[str]:
    """Modules that import themselves through others."""
    # A package imports its modules to hand their names on, and they import it for what stands beside them.
    faces = {name for name, path in modules().items() if path.stem == "__init__"}
    graph = {name: imports(name) - faces for name in modules()}
    found = []
    for name in graph:
        reached, waiting = set(), [name]
        while waiting:
            new = graph[waiting.pop()] - reached
            reached |= new
            waiting += new
        if name in reached:
            found.append(name)
    return found


def shape() -> dict[str, int]:
    """What is counted in the house as a whole."""
    return {
        "files over 400 lines": sum(text(path).count("\n") > 400 for path in modules().values()),
        "thread and process pools": pools(),
        "page templates": len([*(ROOT / "src").rglob("*.j2")]),
        "imports of private modules across folders": len(private_imports()),
        "modules that name a model": len(modules_that_name_models()),
        "modules in circles of imports": len(circles()),
    }


MEASURED = {"lines of code": lines_of_code, "shape": shape}


@pytest.mark.parametrize("table", MEASURED)
def test_no_number_has_risen_and_fallen_ones_are_recorded(table):
    slack = SLACK if table == "lines of code" else 0
    measured, limits = MEASURED[table](), LIMITS[table]
    assert sorted(measured) == sorted(limits), "a folder without a limit, or a limit without a folder"
    for what, number in measured.items():
        assert number <= limits[what], f"{table}, {what}: {number}, at most {limits[what]}"
        assert number >= limits[what] * (1 - slack) - 20 * (slack > 0), (
            f"{table}, {what}: {number} now: lower its limit, {limits[what]}, in tests/test_house.py"
        )


if __name__ == "__main__":
    for table, measure in MEASURED.items():
        print(table)
        for what, number in sorted(measure().items()):
            print(f'        "{what}": {number},')
    print(*private_imports(), *modules_that_name_models(), *sorted(circles()), sep="\n")

"""The wheel: what is in it, and that it works away from the checkout. Needs no network."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import PurePosixPath

import pytest
import yaml

WALK = """
import importlib, pkgutil, plausibly
for module in pkgutil.walk_packages(plausibly.__path__, "plausibly."):
    if not module.name.endswith("__main__"):
        print(importlib.import_module(module.name).__file__)
"""


def source_files(root):
    """Every file that belongs into the wheel, by its name there."""
    for folder, package in ((root / "src/plausibly", "plausibly"), (root / "models", "plausibly/models")):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield (PurePosixPath(package) / path.relative_to(folder).as_posix()).as_posix()


@pytest.fixture(scope="session")
def wheel(root, tmp_path_factory):
    """The wheel of a copy of the sources: an old build/ folder in the checkout would bring deleted modules back."""
    copy, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for folder in ("src", "models"):
        shutil.copytree(root / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, copy)
    pip("wheel", "--no-build-isolation", "--wheel-dir", out, copy)
    (path,) = out.glob("*.whl")
    return path


def pip(verb, *arguments):
    quiet = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
    subprocess.run([sys.executable, "-m", "pip", verb, *quiet, *arguments], check=True)


def test_every_package_is_listed_and_the_version_is_the_same_everywhere(root):
    listed = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        PurePosixPath(f).parent.as_posix().replace("/", ".") for f in source_files(root) if f.endswith("__init__.py")
    }
    assert sorted(listed) == sorted(found)
    assert not [path for path in (root / "models").iterdir() if path.is_dir() and path.name != "__pycache__"]
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}\n" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_conda_requires_what_pip_does(root):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((root / "recipe/recipe.yaml").read_text(encoding="utf-8"))
    needed = {"python": project["project"]["requires-python"]}
    needed |= dict(re.fullmatch(r"([\w-]+)(.*)", one).groups() for one in project["project"]["dependencies"])
    needed["matplotlib-base"] = needed.pop("matplotlib")  # conda's matplotlib adds windows
    assert dict(one.split(" ", 1) for one in recipe["requirements"]["run"]) == needed
    assert (
        f"setuptools {project['build-system']['requires'][0].removeprefix('setuptools')}"
        in (recipe["requirements"]["host"])
    )
    assert recipe["context"]["version"] == project["project"]["version"]
    assert recipe["build"]["python"]["entry_points"] == ["plausibly = plausibly.app.cli:main"]


def test_the_citation_has_what_its_format_requires(root):
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"]
    for work in (citation, *citation["references"]):
        assert {"title", "authors", "type"} <= work.keys()
        assert all({"name"} == one.keys() or {"family-names", "given-names"} == one.keys() for one in work["authors"])


def test_a_release_runs_the_readme_on_the_pythons_that_are_declared(root):
    release = runpy.run_path(str(root / ".ci/release.py"))
    declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    numbers = [one.rpartition(" ")[2] for one in declared if re.fullmatch(r".* 3\.\d+", one)]
    assert list(release["PYTHONS"]) == numbers
    readme = (root / "README.md").read_text(encoding="utf-8")
    code, printed = release["readme_python"](readme)
    assert "pb.evaluate(" in code
    assert "{'A': " in printed
    commands = release["readme_commands"](readme)
    assert [words[1] for words in commands] == ["demo", "simulate", "evaluate"]
    assert commands[2][-2:] == ["--out", "results"]


@pytest.mark.slow
def test_the_wheel_holds_the_sources_the_command_and_the_licence(root, wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == set(source_files(root))
    assert "plausibly/py.typed" in names
    assert "plausibly/models/__init__.py" in names
    with zipfile.ZipFile(wheel) as archive:
        texts = {name.split(".dist-info/")[1]: name for name in archive.namelist() if ".dist-info/" in name}
        assert "plausibly = plausibly.app.cli:main" in archive.read(texts["entry_points.txt"]).decode()
        assert "License-Expression: Apache-2.0" in archive.read(texts["METADATA"]).decode()
    assert "licenses/LICENSE" in texts


@pytest.mark.slow
def test_every_module_of_the_wheel_imports_away_from_the_checkout(wheel, tmp_path):
    pip("install", "--target", tmp_path / "site", wheel)
    run = subprocess.run(
        [sys.executable, "-c", WALK],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    files = run.stdout.split()
    assert str(tmp_path / "site/plausibly/models/__init__.py") in files
    assert [f for f in files if not f.startswith(str(tmp_path / "site"))] == []


def test_the_action_gives_each_line_as_one_word_and_fails_as_the_command_does(root, tmp_path):
    yaml = pytest.importorskip("yaml", reason="the group docs is not installed")
    action = yaml.safe_load((root / ".github/actions/evaluate/action.yml").read_text(encoding="utf-8"))
    (step,) = (step for step in action["runs"]["steps"] if step.get("name") == "Evaluate")
    assert {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]} == set(step["env"].values())
    (tmp_path / "plausibly").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n')
    (tmp_path / "plausibly").chmod(0o755)
    given = {"PREDICTIONS": "A=a 1.csv\nB=$(b).csv\n", "REQUIRE": "auroc>=0.9", "OPTIONS": "--seed 1\n --strict"}
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "ANNOTATIONS": "x.csv", "OUT": "out", **given}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    expected = ["evaluate", "x.csv", "--out", "out", "--seed", "1", "--strict"]
    expected += ["--predictions", "A=a 1.csv", "--predictions", "B=$(b).csv", "--require", "auroc>=0.9"]
    assert done.stdout.splitlines() == expected
    assert done.returncode == 3
    done = subprocess.run(words, env=environment | {"REQUIRE": "", "OPTIONS": ""}, capture_output=True, text=True)
    assert done.stdout.splitlines() == [*expected[:4], *expected[7:11]]


def test_the_paper_is_short_and_has_its_references(root):
    text = (root / "paper/paper.md").read_text(encoding="utf-8").split("\n---\n", 1)[1]
    assert len(text.split()) <= 1000
    entries = re.findall(r"^@\w+\{(\w+),", (root / "paper/paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"@(\w+)", text)) == set(entries)
    (printed,) = re.findall(r"of (\d+), it meets (\d+)", " ".join(text.split()))
    assert f"{printed[1]} of {printed[0]} numbers are met." in (root / "docs/published.md").read_text(encoding="utf-8")

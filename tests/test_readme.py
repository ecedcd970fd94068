"""The Python blocks of the README and of docs/ run, those of a file one after the other, in a folder of its own.

The folder holds the files that the page shows, each in a block with its name as the caption. A block of text right
after one of Python is what that one prints. Each command of a block of the console says the lines below the commands.
"""

import re
import shlex
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import plausibly as pb
from plausibly.aggregation.registry import find_model
from plausibly.app.cli import app
from tests.test_app.test_report.page import leave_out_figures

ROOT = Path(__file__).parent.parent


def python_blocks(markdown):
    """Each Python block, with what it is said to print, or None."""
    found = re.findall(r"^```python\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", markdown, flags=re.MULTILINE | re.DOTALL)
    return [(code, printed or None) for code, printed in found]


def files_in(markdown):
    """Content by name of the files that a page shows."""
    blocks = re.findall(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)
    return dict(blocks)


def consoles_in(markdown):
    """Commands of each block of the console, and the lines that each of them says."""
    blocks = re.findall(r"^```console\n((?:\$ [^\n]*\n)+)(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)
    return [(re.findall(r"^\$ plausibly (.*)$", typed, re.MULTILINE), said.splitlines()) for typed, said in blocks]


DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): blocks
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if (blocks := python_blocks(path.read_text(encoding="utf-8")))
}


def test_the_readme_is_short_and_blocks_are_found():
    markdown = "text\n```python\na = 1\n\nb = 2\n```\n\n```text\n3\n```\n```sh\nls\n```\n```python\nc = a + b\n```\n"
    assert python_blocks(markdown) == [("a = 1\n\nb = 2\n", "3\n"), ("c = a + b\n", None)]
    assert {"README.md", "docs/start.md"} <= DOCUMENTS.keys()
    assert all(printed for _, printed in DOCUMENTS["README.md"])
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 125


def test_what_pages_name_exists():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    names = {name for text in texts for name in re.findall(r"`pb\.((?:\w+\.)*\w+)", text)}
    assert {"evaluate", "agreement.judge", "posterior.as_weighted_rows"} <= names
    for name in names - {"compare"}:  # of which versions.md says that it is gone
        assert attrgetter(name)(pb) is not None
    page = (ROOT / "docs/how-to/coming-from.md").read_text(encoding="utf-8")
    metrics = set(re.findall(r'"(\w+)"', page.split("## scikit-learn")[1].split("```")[0]))
    assert metrics <= pb.metrics.LABEL_METRICS.keys()
    models = set(re.findall(r'pb\.aggregate\(…, "([\w-]+)"', page))
    assert {"majority-vote", "dawid-skene", "one-coin"} == models
    for model in models:
        assert find_model(model)


QUICK = ("README.md",)
#: Sizes of pages that print nothing, and smaller ones.
SMALLER = {
    "docs/explanation/noise.md": {
        "(60, n_classes=8": "(24, n_classes=4",
        '"prirn", seed=0': '"prirn", draws=50, seed=0',
        "* 30": "* 12",
    },
    "docs/explanation/evidence.md": {"size=1000": "size=200", "=1, seed=0": "=1, draws=50, seed=0"},
    "docs/how-to/data.md": {"reliability=30": "reliability=30, draws=50"},
    "docs/how-to/few-annotated.md": {"1500": "200", "[:150]": "[:50]", "seed=0, pr": "seed=0, draws=50, pr"},
    "docs/how-to/large-data.md": {"(300, n_classes=12": "(24, n_classes=4", "shard=100": "shard=10, draws=50"},
    "docs/how-to/own-metric.md": {
        "(40, n_classes=6": "(24, n_classes=4",
        '"prirn", seed=0': '"prirn", draws=50, seed=0',
    },
    "docs/how-to/ratings.md": {'"draws": 400': '"draws": 50'},
}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in DOCUMENTS]
)
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for file, content in files_in((ROOT / name).read_text(encoding="utf-8")).items():
        Path(file).write_text(content)
    namespace = {"__name__": "example"}
    for number, (block, printed) in enumerate(DOCUMENTS[name], start=1):
        for size, smaller in SMALLER.get(name, {}).items():
            block = block.replace(size, smaller)
        exec(compile(block, f"{name}, Python block {number}", "exec"), namespace)
        if printed is not None:
            assert capsys.readouterr().out == printed


def test_commands_on_the_page_about_own_data_say_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/data.md").read_text(encoding="utf-8")
    for file, content in files_in(page).items():
        Path(file).write_text(content)
        assert len(content.splitlines()) <= 5, file
    consoles = consoles_in(page)
    assert len(consoles) == page.count("```console") > 10
    for commands, said in consoles:
        for command in commands:
            fast = ["--replicates", "0"] if command.startswith("agreement") else []
            printed = " ".join(CliRunner().invoke(app, [*shlex.split(command), *fast]).output.split())
            for line in said:
                assert line in printed, command


@pytest.mark.slow
def test_the_release_decision_of_the_readme_is_that_of_its_python(tmp_path, monkeypatch, no_report):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "example"}
    exec(DOCUMENTS["README.md"][0][0], namespace)
    pb.write_annotations(namespace["annotations"], "labels.csv")
    for name, values in namespace["predictions"].items():
        pd.DataFrame({"case": namespace["annotations"].cases, "malignant": values}).to_csv(f"{name}.csv", index=False)
    (((command,), said),) = consoles_in((ROOT / "README.md").read_text(encoding="utf-8"))
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.output
    assert " ".join(result.output.split()).endswith(" ".join(" ".join(said).split()))
    assert CliRunner().invoke(app, shlex.split(command.replace(">=0.8", ">=0.9"))).exit_code == 3


@pytest.mark.slow
def test_the_command_on_the_page_about_metrics_gives_them_by_hospital(tmp_path, monkeypatch, no_report):
    monkeypatch.chdir(tmp_path)
    random, lesion = np.random.default_rng(0), np.arange(60)
    malignant, case = random.random(60) < 0.4, [f"lesion {number}" for number in lesion]
    readings = pd.DataFrame({"case": case, "patient": lesion // 2, "hospital": np.array(list("xyz"))[lesion // 2 % 3]})
    said = {who: np.where(malignant ^ (random.random(60) < 0.1), "malignant", "benign") for who in ("ann", "bob", "cy")}
    tables = [readings.assign(**{"annotator": who, "class": own}) for who, own in said.items()]
    pd.concat(tables).to_csv("readings.csv", index=False)
    for name, noise in (("A", 0.2), ("B", 0.6)):
        stated = 0.25 + 0.5 * malignant + noise * random.uniform(-1, 1, 60)
        pd.DataFrame({"case": case, "malignant": stated.clip(0, 1)}).to_csv(f"{name}.csv", index=False)
    page = (ROOT / "docs/how-to/which-metric.md").read_text(encoding="utf-8").replace("\\\n", "")
    (command,) = re.findall(r"^plausibly (evaluate readings.csv .*)$", page, flags=re.MULTILINE)
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 0, result.output
    groups = pd.read_csv("results/groups.csv").query("model == 'annotator'")
    groups = groups.set_index(["metric", "group", "classifier"])
    for metric in ("auroc", "sensitivity_at_specificity_0.9"):
        assert set(groups.loc[metric].index) == {(hospital, name) for hospital in "xyz" for name in "AB"}
    assert (groups["lower"] < groups["upper"]).all()


@pytest.mark.slow
def test_the_command_on_the_page_about_own_data_evaluates_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/data.md").read_text(encoding="utf-8")
    for file, content in files_in(page).items():
        Path(file).write_text(content)
    (command,) = re.findall(r"^```sh\nplausibly (evaluate .*)\n```$", page, flags=re.MULTILINE)
    leave_out_figures(monkeypatch)
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 0, result.output
    accuracy = pd.read_csv("results/metrics.csv").query("metric == 'top1_accuracy'").set_index("classifier")["mean"]
    assert accuracy["A"] > accuracy["B"]
    assert Path("results/report.html").stat().st_size > 0

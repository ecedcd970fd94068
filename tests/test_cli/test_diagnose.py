"""Whether a run that did not converge is called so wherever it is told of, and ``plausibly diagnose``."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

import plausibly as pb
from plausibly.annotations import Slots
from plausibly.cli import app
from plausibly.posterior import build_posterior

SHORT = ["--warmup", 5, "--seed", 4]
CASES = [f"<b>{i}" for i in range(8)]


def plausibly(*words):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Eight cases whose annotators disagree, and two classifiers; in about half of them so short a warm-up fails."""
    folder = tmp_path_factory.mktemp("short")
    rankings = {name: {"x": [["a"], ["b"]], "y": [["b"], ["c"]], "z": [["c"], ["a"]]} for name in CASES}
    (folder / "annotations.json").write_text(json.dumps({"classes": list("abcd"), "cases": rankings}))
    for name in "AB":
        np.save(folder / f"{name}.npy", np.random.default_rng(ord(name)).random((8, 4)))
    return folder


def predictions(folder):
    return [word for name in "AB" for word in ("--predictions", f"{name}={folder / name}.npy")]


@pytest.fixture(scope="module")
def failed(evaluated):
    """The cases that did not converge, by the table."""
    table = pd.read_csv(evaluated[1] / "certainty.csv")
    names = table["case"][~table["converged"]].tolist()
    assert 0 < len(names) <= 8
    return names


def sentence(failed):
    n = len(failed)
    named = ", ".join(map(repr, failed))
    return f"Chains did not converge in {n} of 8 cases (plackett-luce@3: {n}): {named}."


@pytest.fixture(scope="module")
def evaluated(folder):
    words = ["evaluate", folder / "annotations.json", *predictions(folder), "--model", "plackett-luce@3", *SHORT]
    return plausibly(*words, "--out", folder / "results", "--strict"), folder / "results"


def test_evaluate_says_so(evaluated, failed):
    result, out = evaluated
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[-1] == f"{sentence(failed)} All of them are in {out / 'certainty.csv'}."


def test_the_report_says_so(evaluated, failed):
    text = (evaluated[1] / "report.html").read_text(encoding="utf-8")
    assert 'class="verdict bad"' in text
    assert f"Chains did not converge in {len(failed)} of 8 cases" in text
    assert "Trace and rank plots of the cases whose chains are worst under plackett-luce@3" in text
    for name in failed:
        assert f'<th scope="row" class="name">{name.replace("<b>", "&lt;b&gt;")}</th>' in text
    assert "<b>" not in text


def test_the_posterior_says_so(evaluated, failed):
    posterior = pb.load(evaluated[1] / "posterior-plackett-luce-3.nc")
    assert posterior.attrs["converged"] == f"{8 - len(failed)} of 8 cases"
    found = pb.diagnose(posterior)
    assert found["case"].values[~found["converged"].values].tolist() == failed


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 1)])
def test_diagnose_says_so_and_why(evaluated, failed, tmp_path, strict, code):
    result = plausibly("diagnose", evaluated[1] / "posterior-plackett-luce-3.nc", "--out", tmp_path / "new", *strict)
    assert result.exit_code == code, result.output
    assert result.stdout.splitlines()[-1] == sentence(failed)
    found = pd.read_csv(tmp_path / "new" / "diagnostics.csv", keep_default_na=False)
    assert found["case"].tolist() == CASES
    assert found["case"][found["failed"] != ""].tolist() == failed
    expected = pb.diagnose(evaluated[1] / "posterior-plackett-luce-3.nc")
    for name in ("r_hat", "ess_bulk", "ess_tail", "n_diverging", "e_bfmi", "at_max_depth"):
        np.testing.assert_array_equal(found[name], expected[name])
    for name in ("chains.png", "convergence.png"):
        assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")
    assert "R-hat" in result.stdout
    assert failed[0] in result.stdout


def test_aggregate_says_so(folder, failed, tmp_path):
    words = ["aggregate", folder / "annotations.json", *SHORT, "--out", tmp_path / "p.nc"]
    result = plausibly(*words, "--strict")
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[-1] == sentence(failed)
    assert plausibly("diagnose", tmp_path / "p.nc", "--strict", "--quiet").stdout.splitlines() == [sentence(failed)]


def test_sweep_says_so(folder, failed, tmp_path):
    words = ["sweep", folder / "annotations.json", *predictions(folder), "--model", "plackett-luce@3", *SHORT]
    result = plausibly(*words, "--out", tmp_path, "--strict")
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[-1] == sentence(failed)


def saved(path, converged):
    annotations = pb.Annotations.from_labels([["a", "b"], ["a"]], cases=["p", "q"])
    slots = Slots.of(annotations)
    draws = np.random.default_rng(0).uniform(0.3, 0.5, size=(4, 50, len(slots))).astype(np.float32)
    columns = {"r_hat": [1.0, 1.0], "ess_bulk": [900.0, 800.0], "n_diverging": [0, 0], "e_bfmi": [np.nan, 1.0]}
    columns |= {"at_max_depth": [np.nan, 0.25], "converged": converged}
    convergence = xr.Dataset({name: ("case", values) for name, values in columns.items()}, attrs={"chains": 4})
    given = {"point": draws[0, 0], "concentration": 1.0, "convergence": convergence}
    posterior = build_posterior(
        draws, annotations, slots, **given, attrs={"model": "plackett-luce", "reliability": 3.0}
    )
    pb.save(posterior, path)
    return path


def test_chains_that_converged_pass_and_the_worst_are_shown_all_the_same(tmp_path):
    result = plausibly("diagnose", saved(tmp_path / "p.nc", [True, True]), "--strict")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "Chains converged in all 2 cases (plackett-luce@3)."
    assert "Worst, though converged" in result.stdout
    assert "25%" in result.stdout
    assert "–" in result.stdout  # the energy of a case that was drawn exactly


def test_so_many_are_named_as_are_asked_for(tmp_path):
    path = saved(tmp_path / "p.nc", [True, False])
    result = plausibly("diagnose", path, "--most", 1, "--out", tmp_path)
    rows = result.stdout[result.stdout.index("failed by") :].splitlines()
    assert [row.split()[0] for row in rows if row.startswith((" p", " q"))] == ["q"]


@pytest.mark.parametrize("model", ["prirn@30", "irn"])
def test_exact_draws_and_point_estimates_pass(folder, tmp_path, model):
    path = tmp_path / "p.nc"
    given = ["--draws", 20] if "@" in model else []
    plausibly("aggregate", folder / "annotations.json", "--model", model, *given, "--out", path)
    result = plausibly("diagnose", path, "--strict", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].startswith("No chains had to converge")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["diagnostics.csv"]


def test_bad_input_is_one_sentence(tmp_path):
    (tmp_path / "text.nc").write_text("no netCDF")
    for name, words in (("none.nc", "does not exist"), ("text.nc", "cannot be read as netCDF")):
        result = plausibly("diagnose", tmp_path / name, "--strict")
        assert result.exit_code == 2
        assert words in result.stderr
        assert "Traceback" not in result.output

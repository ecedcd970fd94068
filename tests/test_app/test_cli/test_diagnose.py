"""``plausibly diagnose``, and whether a run that did not converge is called so wherever it is reported."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.app.cli import _evaluate as evaluating
from plausibly.data.annotations import Slots
from plausibly.posterior import build_posterior
from tests.test_app.test_cli.run import plausibly, refuse, succeed

CASES = [f"<b>{i}" for i in range(8)]


@pytest.mark.slow
def test_short_chains_are_reported_by_every_command(tmp_path, monkeypatch):
    """Eight cases whose annotators disagree; in about half of them so short a warm-up fails."""
    for name in ("measure_sets", "plan_labels"):
        monkeypatch.setattr(evaluating, name, lambda *given, **options: None)
    rankings = {name: {"x": [["a"], ["b"]], "y": [["b"], ["c"]], "z": [["c"], ["a"]]} for name in CASES}
    (tmp_path / "annotations.json").write_text(json.dumps({"classes": list("abcd"), "cases": rankings}))
    words = [tmp_path / "annotations.json", "--model", "plackett-luce@3", "--mode", "temper"]
    words += ["--warmup", 5, "--draws", 100, "--seed", 4, "--strict"]
    np.save(tmp_path / "A.npy", np.random.default_rng(0).random((8, 4)))
    given = ["--predictions", f"A={tmp_path / 'A.npy'}", "--k", 1]
    out = tmp_path / "results"
    result = plausibly("evaluate", *words, *given, "--out", out)
    assert result.exit_code == 1, result.output
    table = pd.read_csv(out / "certainty.csv")
    failed = table["case"][~table["converged"]].tolist()
    n = len(failed)
    assert 0 < n <= 8
    named = ", ".join(map(repr, failed))
    sentence = f"Chains did not converge in {n} of 8 cases (plackett-luce@3: {n}): {named}."
    assert result.stdout.splitlines()[-1].startswith(sentence)
    text = (out / "report.html").read_text(encoding="utf-8")
    assert 'class="verdict bad"' in text
    assert "Trace and rank plots of the cases with the worst chains under plackett-luce@3" in text
    assert all(f'<th scope="row" class="name">{name.replace("<b>", "&lt;b&gt;")}</th>' in text for name in failed)
    assert "<b>" not in text
    posterior = out / "posterior-plackett-luce-3.nc"
    assert pb.load(posterior).attrs["converged"] == f"{8 - n} of 8 cases"
    for command, *rest in (
        ("sweep", *words, *given, "--out", out),  # of the same posterior, as the next ones
        ("aggregate", *words, "--out", posterior),
        ("diagnose", posterior, "--strict"),
    ):
        result = plausibly(command, *rest)
        assert result.exit_code == 1, result.output
        # A posterior by itself is named by all options that differ from their defaults.
        assert sentence in result.stdout.replace(":mode=temper", "")


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


@pytest.mark.parametrize(("strict", "code"), [pytest.param([], 0, marks=pytest.mark.slow), (["--strict"], 1)])
def test_cases_that_did_not_converge_are_named(tmp_path, strict, code):
    path = saved(tmp_path / "p.nc", [True, False])
    result = plausibly("diagnose", path, "--out", tmp_path / "new", *strict)
    assert result.exit_code == code, result.output
    assert "Chains did not converge in 1 of 2 cases (plackett-luce@3: 1): 'q'." in result.stdout
    found = pd.read_csv(tmp_path / "new" / "diagnostics.csv", keep_default_na=False)
    assert found["case"].tolist() == ["p", "q"]
    expected = pb.diagnose(path)
    for name in ("r_hat", "ess_bulk", "n_diverging"):
        np.testing.assert_array_equal(found[name], expected[name])
    for name in ("chains.png", "convergence.png"):
        assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")


def test_chains_that_converged_pass_and_as_many_are_named_as_are_asked_for(tmp_path):
    result = succeed("diagnose", saved(tmp_path / "p.nc", [True, True]), "--strict")
    assert "Chains converged in all 2 cases (plackett-luce@3)." in result.stdout
    assert "Worst cases, though converged" in result.stdout
    assert "25%" in result.stdout
    path = saved(tmp_path / "q.nc", [True, False])
    result = plausibly("diagnose", path, "--most", 1, "--out", tmp_path)
    assert re.search(r"Worst cases: q \([^;]*\)\.", result.stdout)


def test_point_estimates_pass_and_bad_input_is_one_sentence(tmp_path):
    path = tmp_path / "p.nc"
    pb.save(pb.aggregate(pb.Annotations.from_labels([["a", "b"]]), "majority-vote", progress=False), path)
    result = succeed("diagnose", path, "--strict", "--out", tmp_path / "out")
    assert "No convergence check is needed" in result.stdout
    assert [path.name for path in (tmp_path / "out").glob("[!.]*")] == ["diagnostics.csv"]
    (tmp_path / "text.nc").write_text("no netCDF")
    for name, words in (("none.nc", "does not exist"), ("text.nc", "is not a posterior")):
        result = refuse("diagnose", tmp_path / name, "--strict")
        assert words in result.stderr
        assert "Traceback" not in result.output

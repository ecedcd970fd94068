"""Models declare themselves: a new file is all that a new model needs, and a copy of a file behaves as the original."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from typer.testing import CliRunner

import plausibly as pb
from plausibly.aggregation import _contract, parse_variants, plan_runs, settle
from plausibly.aggregation._contract import check_contract
from plausibly.aggregation._variants import load_model
from plausibly.app.cli import app
from plausibly.base.arviz import to_groups
from plausibly.base.errors import ArgumentError
from plausibly.models import MODELS
from tests.test_app.test_report.page import leave_out_figures

RANKED = pb.Annotations.from_rankings(
    {"cases": {"p": {"ann": [["a"], ["b", "c"]], "bob": [["b"]]}, "q": {"ann": [["c"]], "bob": [["c"], ["a"]]}}},
    classes=list("abcd"),
)
NAMED = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]], classes=list("abcd"), annotators=list("xyz"))
LABELS = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]], classes=list("abcd"))
SCORES = pb.Annotations.from_scores(
    pd.DataFrame({"case": [0, 0, 1], "annotator": ["a", "b", "a"], "score": [1.0, 4, 2]})
)
DATA = {"rankings": RANKED.select(["p"]), "labels": LABELS, "scores": SCORES}

FIRST_CHOICES = '''"""First choices as votes, and nothing else."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

import plausibly as pb


def first_choices(case, *, reliability=1.0, share="split"):
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    weight = case.named * (case.rankings.positions == 0) / (case.block_sizes if share == "split" else 1)
    numpyro.factor("votes", reliability * (case.counts @ weight * jnp.log(plausibility)).sum())


def votes(entries, *, share):
    return (entries.position == 0) / (entries.block_size if share == "split" else 1)


model = pb.Model(
    name="first-choices",
    program=first_choices,
    reliability=2.0,
    concentration=0.5,
    options={"share": ("split", "full")},
    reliabilities=(1, 4),
    exact=lambda entries, concentration, *, reliability, share: (
        reliability * entries.totals(votes(entries, share=share)) + concentration
    ),
    point_estimate=lambda entries, *, share: entries.shares(votes(entries, share=share)),
    citations=(("votes of first choices", "Nemo (2026), On votes, Journal of Nowhere 7."),),
)
'''


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "first_choices.py"
    path.write_text(FIRST_CHOICES)
    return path


@pytest.fixture(scope="module")
def model(path):
    return load_model(path)


def run(*words):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(word) for word in words])


# One of those that are read and sampled alike.
KINDS = {(one.takes, one.engines, type(one.family)): name for name, one in MODELS.items()}


SLOW = {"plackett-luce", "dirichlet-categorical", "normal-scores"}  # which compile or estimate much


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in KINDS.values()]
)
def test_a_copy_of_a_file_behaves_as_the_built_in(name, tmp_path):
    file = Path(sys.modules[MODELS[name].program.__module__].__file__)
    copy = load_model(shutil.copy(file, tmp_path / "mine.py"))
    assert copy is not MODELS[name]
    data = NAMED if copy.family else DATA[copy.takes]
    given = {"threshold": 1.5, "prior": (0, 1, 2, 1)} if copy.of_scores else {}
    if not copy.deterministic:
        given |= {"draws": 4, "chains": 1}
    if copy.gibbs or copy.family:
        given |= {"warmup": 2}
    ours, theirs = (pb.aggregate(data, one, **given, seed=3, progress=False) for one in (name, copy))
    assert dict(ours.attrs) == dict(theirs.attrs)
    ours, theirs = to_groups(ours), to_groups(theirs)
    assert ours.keys() == theirs.keys()
    for group, dataset in ours.items():
        assert dataset.identical(theirs[group]), group


def test_a_new_file_is_aggregated_by_its_exact_posterior(model):
    posterior = pb.aggregate(RANKED, model, reliability=4, draws=1000, progress=False)
    assert posterior.attrs["engine"] == "exact"
    # Case p: a vote for a, a vote for b, none for c; the unnamed class d has the prior alone.
    shape = np.array([4.5, 4.5, 0.5, 0.5])
    mean = posterior["posterior"]["plausibility"].mean(("chain", "draw")).values[:4]
    np.testing.assert_allclose(mean, shape / shape.sum(), atol=0.01)
    np.testing.assert_allclose(posterior["constant_data"]["point_plausibility"].values[:4], [0.5, 0.5, 0, 0])
    for option, words in {"share": "must be one of split, full, but 'none'", "ties": "'exact' does not accept"}.items():
        with pytest.raises(ArgumentError, match=words):
            pb.aggregate(RANKED, model, **{option: "none"}, progress=False)


@pytest.mark.slow
def test_a_new_file_is_compared_checked_and_swept_under_labels_of_its_own(model):
    compared = pb.compare_models(RANKED, {model: (1, 4), "irn": None}, progress=False)
    assert set(compared.table.index) > {"first-choices@1", "first-choices@4", "irn"}
    # Without ann, whose first choice is a, b has the one vote, and a is one of three unnamed classes.
    first = compared.pointwise["elpd"].sel(model="first-choices@4").values[0]
    assert first == pytest.approx(np.log(0.5 / (4 + 4 * 0.5)), rel=1e-5)
    checked = pb.predictive_check(pb.aggregate(RANKED, model, progress=False), replicates=20, progress=False)
    assert checked.model == "first-choices@2"
    assert (checked.table.set_index("statistic")["status"] == "not modelled").sum() == 4
    models = {"mine": {"model": model, "reliability": (1, 3), "share": "full"}, "irn": None}
    swept = pb.sweep(RANKED, {}, models, draws=10, progress=False)
    assert [run.label for run in swept.runs] == ["mine@1", "mine@3", "irn"]
    assert swept.runs[0].arguments["share"] == "full"
    changed = pb.prior_sensitivity(RANKED, {}, {model: (2,)}, draws=10, progress=False)
    assert set(changed.table["value"]) == {"", "0.05", "5"}


@pytest.mark.slow
def test_a_new_file_is_a_model_on_the_command_line(path, tmp_path, monkeypatch):
    leave_out_figures(monkeypatch)
    pb.write_annotations(RANKED, tmp_path / "a.json")
    out = tmp_path / "p.nc"
    done = run("aggregate", tmp_path / "a.json", "--model", f"{path}@3:share=full", "--out", out, "--draws", 10)
    assert done.exit_code == 0, done.output
    posterior = pb.load(out)
    assert (posterior.attrs["model"], posterior.attrs["reliability"]) == ("first-choices", 3)
    assert posterior.attrs["share"] == "full"
    words = ["--model", f"{path}@1,3", "--model", "irn", "--draws", 10, "--out", tmp_path / "results", "--quiet"]
    done = run("evaluate", tmp_path / "a.json", *words)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "results" / "certainty.csv")
    assert set(table["model"]) == {"first-choices", "irn"}
    assert "Nemo (2026), On votes" in (tmp_path / "results" / "report.html").read_text()


@pytest.mark.parametrize("name", MODELS)
def test_the_command_line_copies_a_built_in(name, tmp_path):
    file = tmp_path / "models" / "my_own.py"
    done = run("model", "new", name, file)
    assert done.exit_code == 0, done.output
    copy = load_model(file)
    assert (copy.name, copy.program.__name__) == ("my-own", MODELS[name].program.__name__)
    for field in ("takes", "reliability", "concentration", "options", "reliabilities", "engines", "citations"):
        assert getattr(copy, field) == getattr(MODELS[name], field)
    before = file.read_bytes()
    assert run("model", "new", "irn", file).exit_code == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize(("correct", "name"), [("entries.totals(", "exact"), ("entries.shares(", "point_estimate")])
def test_a_function_of_a_file_that_fails_is_named(path, tmp_path, correct, name):
    broken = tmp_path / "broken.py"
    broken.write_text(path.read_text().replace(correct, "entries.wrong("))
    sentence = (
        rf"{name}= of the model first-choices raised AttributeError: .* 'wrong' \(.*broken.py, line \d+\); correct"
    )
    with pytest.raises(ArgumentError, match=sentence) as caught:
        pb.aggregate(RANKED, load_model(broken), draws=4, progress=False)
    assert isinstance(caught.value.__cause__, AttributeError)


@pytest.mark.parametrize(
    ("arguments", "engine"),
    [
        ({}, "gibbs"),
        ({"reliability": 10}, "gibbs"),
        ({"reliability": 11}, "nuts"),
        ({"reliability": 2.5}, "nuts"),
        ({"mode": "temper"}, "nuts"),
        ({"mode": "temper", "reliability": 1}, "nuts"),
        ({"model": "prirn"}, "exact"),
        ({"model": "irn"}, "point"),
        ({"model": "plackett-luce-ml"}, "ml"),
        ({"model": pb.models.plackett_luce}, "nuts"),
    ],
)
def test_the_engine_that_auto_means(arguments, engine):
    arguments = {"model": "plackett-luce"} | arguments
    assert settle(RANKED, **arguments).engine == engine


VARIANTS = {
    "names": ({"prirn": (10, 30), "irn": None}, ["prirn@10", "prirn@30", "irn"]),
    "usual": ({"dirichlet-categorical": None}, [f"dirichlet-categorical@{r}" for r in (1, 2, 3, 5, 10)]),
    "labels": (
        {"a": {"model": "prirn", "reliability": (1, 2), "ties": "full"}, "b": {"model": "prirn", "reliability": 3}},
        ["a@1", "a@2", "b"],
    ),
    "declaration": ({MODELS["irn"]: {"ties": "full"}}, ["irn"]),
    "program": ({pb.models.plackett_luce: (1, 2)}, ["plackett_luce@1", "plackett_luce@2"]),
    "text": (["prirn@10:ties=full", "prirn@30", "prirn@40"], ["prirn@10:ties=full", "prirn@30", "prirn@40"]),
}


@pytest.mark.parametrize("what", VARIANTS)
def test_variants(what):
    given, labels = VARIANTS[what]
    runs = plan_runs(LABELS, parse_variants(given) if isinstance(given, list) else given)
    assert [run.label for run in runs] == labels
    if what in ("labels", "text"):
        assert runs[0].settled.arguments["ties"] == "full"


BROKEN = {
    "cases that know of each other": (
        {"exact": lambda entries, concentration: concentration * prevalence(entries) + entries.totals(first(entries))},
        "exact= of the model mine must treat every case by itself, .* for case",
    ),
    "a share of all labels": (
        {"evidence": lambda entries: entries.totals(first(entries)) / first(entries).sum()},
        "evidence= of the model mine must treat every case by itself",
    ),
    "a point estimate of all": (
        {"point_estimate": lambda entries: entries.normalised(entries.totals(first(entries)) + prevalence(entries))},
        "point_estimate= of the model mine must",
    ),
    "another prior": (
        {"exact": lambda entries, concentration: 0.5 * concentration + entries.totals(first(entries))},
        "exact= of the model mine must add the concentration .* a concentration of .* instead of 0 in a slot",
    ),
    "another posterior": (
        {"exact": lambda entries, concentration: concentration + 3 * entries.totals(first(entries))},
        "exact= of the model mine must be the posterior of its program, but for case",
    ),
}


def first(entries):
    return (entries.position == 0) / entries.block_size


def prevalence(entries):
    """How common the class of each slot is among all cases."""
    slots = entries.slots
    return np.bincount(slots.class_index + 1, entries.totals(first(entries)) + 0.1)[slots.class_index + 1]


def votes(case):
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    weight = case.named * (case.rankings.positions == 0) / case.block_sizes
    numpyro.factor("votes", (case.counts @ weight * jnp.log(plausibility)).sum())


MANY = pb.Annotations.from_labels([["a"] * (1 + i % 3) + ["b"] * (i % 2) for i in range(9)], classes=list("abc"))


@pytest.mark.parametrize(("fields", "message"), BROKEN.values(), ids=BROKEN)
def test_a_model_that_breaks_its_promises_is_refused(fields, message):
    mine = pb.Model("mine", votes, concentration=1.0, options={"unranked": ("lumped", "exact")}, **fields)
    for engine in mine.engines:
        with pytest.raises(ArgumentError, match=message):
            pb.aggregate(MANY, mine, engine=engine, draws=4, progress=False)


def test_a_model_that_keeps_its_promises_is_checked_once(monkeypatch):
    calls = []
    monkeypatch.setattr(_contract, "_check_exact", lambda *arguments: calls.append(1))
    mine = pb.Model("mine", votes, concentration=1.0, exact=lambda e, concentration: concentration + e.totals(first(e)))
    for _ in range(2):
        pb.aggregate(MANY, mine, draws=4, progress=False)
    assert len(calls) == 3


@pytest.mark.parametrize("name", ["prirn", "dirichlet-categorical", "normal-scores", "plackett-luce", "irn"])
def test_copies_of_built_in_models_keep_their_promises(name):
    model = replace(MODELS[name], name="mine")
    observed, given = (SCORES, {"threshold": 2}) if model.of_scores else (MANY, {})
    check_contract(observed, settle(observed, model, **given))

"""The report: its numbers, its names, and that it needs nothing else."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape
from io import StringIO
from itertools import pairwise
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot
from matplotlib.figure import Figure

import plausibly as pb
from plausibly.aggregation.sweeps import Sweep
from plausibly.app.report import render
from plausibly.app.report._by_group import what_cases_share
from plausibly.app.report._cases import undecided
from plausibly.app.report._exhibits import exhibits
from plausibly.app.report._summary import attainable, next_steps
from plausibly.app.report._sweep import references
from plausibly.app.report.tables import ENDS, SAME_AS_ACCURACY, TOTAL, value_and_interval
from plausibly.app.results.evaluation import of_sweep
from plausibly.base.errors import ArgumentError, FileError
from tests import worlds
from tests.test_app.test_report.page import Page, leave_out_figures, without_figures
from tests.worlds import EVIL

NUMBERS = ["mean", "sd", "lower", "upper", "best", "worst", "point", "total_lower", "total_upper", "sampling_sd"]


def test_what_cases_share_is_shown_once_for_each_model():
    index = pd.MultiIndex.from_product([["(all)", "ann"], ["a", "b"], ["a", "b"]])
    confusions = index.to_frame(index=False, name=["annotator", "true_class", "named_class"])
    confusions["probability"] = [0.9, 0.1, 0.3, 0.7, 0.5, 0.5, 0.5, 0.5]
    skene = SimpleNamespace(
        label="skene",
        model="skene",
        attrs={},
        results=xr.Dataset(),
        shared={"annotators": pd.DataFrame({"annotator": ["ann"]}), "confusions": confusions},
    )
    plain = SimpleNamespace(label="plain", model="plain", shared={})
    models = {"skene": [skene], "plain": [plain]}
    shown = exhibits(what_cases_share(SimpleNamespace(models=models)))
    tables = {extra.caption: extra.rows for extra in shown if extra.rows}
    assert list(tables) == [
        "Accuracy of annotators, skene",
        "How a typical annotator names each true class, skene",
    ]
    assert tables["How a typical annotator names each true class, skene"] == (
        ("a", "0.900", "0.100"),
        ("b", "0.300", "0.700"),
    )
    assert any("assumes one true class" in extra.text for extra in shown)


@pytest.fixture(scope="module")
def swept():
    return worlds.marked()


@pytest.fixture(scope="module")
def text():
    return worlds.page_of_marked()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_metrics_headline_and_strata_are_those_of_the_sweep(swept, page):
    expected = swept.metrics[~swept.metrics["metric"].isin(SAME_AS_ACCURACY)]
    for name in swept.classifiers:
        heading, *rows = page.table(f"All metrics of {name}")
        own = expected[expected["classifier"] == name]
        assert len(rows) == len(own) > 0
        places = [heading.index(number.replace("_", " ")) for number in NUMBERS]
        for cells, (_, row) in zip(rows, own.iterrows(), strict=True):
            assert cells[0] == row["model"]
            assert cells[1] == ("" if np.isnan(row["reliability"]) else f"{row['reliability']:g}")
            for at, number in zip(places, NUMBERS, strict=True):
                assert (
                    cells[at] == ""
                    if np.isnan(row[number])
                    else float(cells[at]) == pytest.approx(row[number], abs=6e-4)
                )
    rows, runs = page.table("Accuracy with")[1:], {run.label: run for run in swept.runs}
    assert len(rows) == 3 * 2
    for (label, name, *cells, share), (_, other, *_, last) in zip(rows[::2], rows[1::2], strict=True):
        own, told = pb.summary(runs[label].results).set_index(["classifier", "metric"]).loc[name], []
        for k in (1, 3):
            told += [value_and_interval(*own.loc[f"top{k}_accuracy", list(names)]) for names in (TOTAL, ENDS)]
            told.append(f"{swept.voted[f'top{k}_accuracy'].sel(classifier=name).item():.3f}")
        assert cells == told
        found = pb.comparison.probability_better(runs[label].results, "top1_accuracy", name, other, noise="total")
        assert (share, last) == ("" if np.isnan(found) else f"{found:.3f}", "")
    by_run = {row[0]: row[1:] for row in page.table("Certainty of the annotations")[1:]}
    for run in swept.runs:
        means = [float(run.results[f"annotation_certainty_{size}"].mean()) for size in (1, 2)]
        assert by_run[run.label][:2] == [f"{mean:.3f}" for mean in means]
    strata = {row[0]: row[1:] for row in page.table("Top-1 accuracy by certainty")[1:]}
    assert strata["2 or 3 annotators"][0] == "8 (few)"
    assert "4 or more annotators" not in strata
    by_case = swept.runs[1].results["top1_accuracy_by_case"].sel(classifier="A").values
    assert strata["2 or 3 annotators"][2] == f"{by_case.mean():.3f}"


def test_nothing_is_fetched_and_no_labels_are_said_to_help(text, page):
    assert "more labels" not in re.sub(
        "more labels would not make a case more certain|where more labels would help", "", text
    )
    assert "plausibilities are not shares of annotators" in text
    assert {tag for tag, _ in page.tags}.isdisjoint({"iframe", "object", "base", "form"})
    assert [attrs for tag, attrs in page.tags if tag == "script"] == [{}]
    (script,) = re.findall("<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'\"" in text
    sources = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert all(attrs["href"].startswith(("#", "data:")) for _, attrs in page.tags if "href" in attrs)
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    for source in sources:
        text = text.replace(source, "")
    assert not re.search(r"url\(|@import|https?:", text)
    # Pictures refer to parts of themselves alone, and hold no markup that somebody wrote.
    for source in sources:
        picture = base64.b64decode(source.partition(",")[2]).decode()
        assert all(
            to.startswith(("#", "data:image/png")) for to in re.findall(r"(?:href=|url\()['\"]?([^'\")]*)", picture)
        )
        assert "<script" not in picture
        assert EVIL not in picture


def test_no_classifier_is_better_than_what_the_annotations_let_one_reach(swept):
    results = swept.runs[0].results
    accuracy = results["top1_accuracy"]
    for name in SAME_AS_ACCURACY:
        smaller = results[name].attrs["better"] == "smaller"
        np.testing.assert_allclose(results[name], 1 - accuracy if smaller else accuracy, atol=1e-6)
    most = 100 * float(swept.runs[1].results["annotation_certainty_1"].mean())
    assert f"{most:.1f} %" in attainable(swept, swept.runs[1])
    assert 100 * swept.runs[1].results["top1_accuracy"].mean("draw").max() <= most


def test_what_was_done_is_said_escaped_and_complete(text, page):
    assert text.count("<script") == 1  # ours
    assert "<b>" not in text
    assert "B &amp; &lt;b&gt;" in text
    settings = {row[0]: row[1:] for row in page.table("Models and their settings")[1:]}
    assert settings["prirn"][:2] == ["10, 30", "exact"]
    assert "draws = 20" in settings["prirn"][2]
    assert settings["irn"][:2] == ["none", "point"]
    data = dict(page.table("Data and settings"))
    assert data["file of annotations"] == EVIL
    assert data["cases"] == "8"
    assert data["annotations"].startswith("22, 2 to 3 per case")
    assert data["seed"] == "2"
    assert f"plausibly {pb.__version__}" in data["versions"]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    wanted = [attrs["href"][1:] for tag, attrs in page.tags if tag == "a"]
    wanted += [attrs["aria-labelledby"] for _, attrs in page.tags if "aria-labelledby" in attrs]
    assert len(wanted) > 10
    assert set(wanted) <= set(ids)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attrs.get("scope") for tag, attrs in page.tags if tag == "th")
    tags = [tag for tag, _ in page.tags]
    assert tags.count("table") == tags.count("caption")
    # In short, panels, confusion matrices, ambiguity, certainty, 2 metrics and all others by reliability, 2 rankings,
    # 2 histograms, 2 comparisons, cases.
    assert tags.count("figure") == tags.count("figcaption") == 1 + 1 + 1 + 2 + 3 + 2 + 2 + 2 + 1
    assert all(attrs["alt"] for tag, attrs in page.tags if tag == "img")


@pytest.mark.slow
def test_other_letters_and_twenty_classifiers_are_shown():
    annotations = pb.Annotations.from_labels([["痣", "湿疹"], ["痣"]], cases=["病例", "另一个"])
    text = render(pb.sweep(annotations, {"模型": np.array([[0.3, 0.7]] * 2)}, {"irn": None}, k=1, progress=False))
    assert ">模型</th>" in text
    rng = np.random.default_rng(0)
    given = {f"classifier number {i}": rng.random((8, 3)) for i in range(20)}
    annotations = pb.Annotations.from_labels([["a", "b"], ["c"]] * 4)
    text = render(pb.sweep(annotations, given, {"irn": None}, k=1, metrics={}, progress=False))
    assert len(text.encode()) < 5e6
    assert {row[1] for row in Page(text).table("Accuracy with")[1:]} == set(given)


def with_chains(swept, failed):
    """The sweep as if its first run had chains, which failed in some cases."""
    run = swept.runs[0]
    cases = run.convergence["case"].values
    bad = np.isin(np.arange(len(cases)), failed)
    values = {"r_hat": (1.25, 1.001), "r_hat_limit": (1.025, 1.01)}
    values |= {"ess_bulk": (12.0, 1500.0), "ess_tail": (34.0, 1600.0), "n_diverging": (7, 0)}
    columns = {name: ("case", np.where(bad, *ends)) for name, ends in values.items()} | {"converged": ("case", ~bad)}
    convergence = xr.Dataset(columns, coords={"case": cases})
    return replace(swept, runs=(replace(run, convergence=convergence), *swept.runs[1:]))


@pytest.mark.slow
def test_cases_that_did_not_converge_are_listed_in_the_same_text(plain):
    text = without_figures(with_chains(plain, [1]))
    page = Page(text)
    assert page.table("Cases that did not")[1:] == [
        [EVIL, "irn", "1.250", "12", "34", "7", "R-hat, bulk ESS, tail ESS, divergences"]
    ]
    assert page.table("Worst value")[1][1:] == [f"1.250 ({EVIL})", "at most 1.01 (by chance up to 1.025)", "1"]
    assert [attrs["class"] for tag, attrs in page.tags if attrs.get("id") == "verdict"] == ["verdict bad"]
    page = Page(without_figures(with_chains(plain, [])))
    assert "Cases that did not converge" not in page.tables
    assert [row[1] for row in page.table("Worst value")[1:]] == ["1.001 (p)", "1,500 (p)", "1,600 (p)", "0"]
    assert page.table("Accuracy with")[1][-1] == ""
    assert without_figures(with_chains(plain, [1])) == text


@pytest.mark.slow
def test_without_classifiers_or_sizes_there_is_still_certainty():
    annotations = pb.Annotations.from_labels([["a", "b"], ["a", "a"]])
    swept = pb.sweep(annotations, {}, {"irn": None}, progress=False)
    text = without_figures(swept)
    page = Page(text)
    assert not any(f'id="{name}"' in text for name in ("result", "strata", "comparison", "checks", "audit"))
    assert len(page.table("Certainty of the annotations")) == 2
    swept = pb.sweep(annotations, {"A": [[0.2, 0.8]] * 2}, {"irn": None}, k=1, sizes=[2], progress=False)
    text = without_figures(swept)
    assert Page(text).table("Certainty of the annotations") == [["model", "top-2 certainty"], ["irn", "1.000"]]
    assert 'id="strata"' not in text


def test_undecided_cases_have_the_classes_and_certainty_of_the_evaluation(swept, page):
    run, case = swept.runs[1], f"{EVIL} 7"
    assert str(run.excerpt["observed_data"]["case"].values[0]) == case
    table = undecided(swept, run)
    first = table.iloc[0]
    assert list(first) == page.table("The least certain cases")[1]
    certainty = float(run.results["annotation_certainty_1"].sel(case=case))
    assert float(first["certainty"]) == pytest.approx(certainty, abs=0.006)
    assert re.match(rf"c & d 0\.\d\d \({100 * certainty:.0f} %\), ", first["plausible classes"])
    assert "2 annotators: c & d" in first["annotations"]
    choices = run.choices.sel(classifier="A", case=case).values.tolist()
    assert len(choices) == 3
    assert first["choices of A"] == ", ".join(choices)
    for row in table.to_dict("records"):
        told = re.findall(r"[01]\.\d\d(?= \()", row["plausible classes"])
        assert sum(map(float, told)) == pytest.approx(1, abs=0.02)
        shares = re.findall(r"\((\d+) %\)", row["plausible classes"])
        assert max(map(float, shares)) / 100 == pytest.approx(float(row["certainty"]), abs=0.011)
    last = run.results["case"].size - 1
    for label in worlds.MARKED[::2]:
        top = run.results["top_class"].values.copy()
        top[last] = label
        changed = replace(run, results=run.results.assign_coords(top_class=("case", top)))
        assert undecided(swept, changed)["plausible classes"].iloc[0].startswith(label)


@pytest.fixture(scope="module")
def planned():
    return worlds.plan()


def test_plans_and_citations_name_what_was_used(swept, planned):
    run = swept.runs[1]
    assert planned.posterior_model == "dirichlet-categorical@1" != run.label
    assert any(step.startswith("Planned under dirichlet-categorical@1: ") for step in next_steps(swept, planned))
    own = replace(planned, posterior_model=run.label)
    assert not any("Planned under" in step for step in next_steps(swept, own))
    exact = dict(references(swept))
    assert any("Stutz" in source for source in exact.values())
    assert not any("Plackett" in source for source in exact.values())
    run = swept.runs[0]
    declaration = json.dumps({"citations": pb.models.MODELS["plackett-luce"].citations})
    changed = replace(run, attrs={"engine": "nuts", "declaration": declaration})
    sources = " ".join(source for _, source in references(Sweep(swept.annotations, (changed,))))
    assert all(name in sources for name in ("Plackett", "Luce (1959)", "Hoffman", "Betancourt", "Caron"))


AUDIT = pd.DataFrame(
    [["lone cases", 3, 12, "'p', <b>q</b>", EVIL], ["repeats", 0, 24, "", "?"], ["twins", 0, 0, "", "?"]],
    columns=["check", "count", "of", "examples", "meaning"],
)


class Scored:
    """A result with a table and a verdict."""

    table = pd.DataFrame({"model": [EVIL], "elpd": [-1234.5], "warning": [True], "note": [None]})

    def verdict(self):
        return f"{EVIL} is best."


@pytest.fixture(scope="module")
def plain():
    """A sweep whose report is quickly drawn."""
    annotations = pb.Annotations.from_labels([["a", "b"], ["a", "a"]], cases=["p", EVIL])
    return pb.sweep(annotations, {"A": [[0.2, 0.8]] * 2}, {"irn": None}, k=1, progress=False)


@pytest.fixture(scope="module")
def full(plain, planned):
    figure = Figure(figsize=(2, 1))
    figure.subplots().set_title(EVIL)
    others = {"comparison": [Scored(), {"How they differ": figure}], "sensitivity": {"Shifts": AUDIT}}
    return without_figures(
        plain, **others, checks=pd.DataFrame({"x": range(500)}), audit=AUDIT, plan=planned, requirements=[EVIL]
    )


def test_audits_and_other_results_have_sections(full):
    page = Page(full)
    assert page.table("Possible problems")[1:] == [["lone cases", "3", "12", "'p', <b>q</b>", EVIL]]
    assert "Checks without findings: repeats." in full
    assert full.count("<script") == 1
    table = [["model", "elpd", "warning", "note"], [EVIL, "-1,234.500", "yes", ""]]
    assert table in page.tables.values()
    assert len(page.table("Shifts")) == 4
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; is best." in full
    assert "<figcaption>How they differ</figcaption>" in full
    assert all(f'id="{name}"' in full for name in ("comparison", "checks", "sensitivity"))
    assert exhibits(pd.DataFrame({"x": range(500)}))[0].left_out == 300
    assert "300 more rows are left out" in full


def test_the_decision_is_the_first_line_and_planned_cases_are_a_file_within_the_page(full, plain, planned):
    assert full.index("Passed: all requirements are met</h2>") < full.index(">In short<")
    assert "<li>&lt;script&gt;" in full.split(">In short<")[0]
    told = ["A: P(AUROC >= 0.9) = 0.3, below the 0.95 required: not met", "B: met"]
    failed = without_figures(plain, requirements=told)
    assert "Not passed: 1 of 2 requirements not met</h2>" in failed.split(">In short<")[0]
    assert '<section class="verdict bad"' in failed
    (link,) = (tag for _, tag in Page(full).tags if tag.get("download") == "plan.csv")
    kind, _, text = link["href"].partition(",")
    assert kind == "data:text/csv;charset=utf-8"
    pd.testing.assert_frame_equal(
        pd.read_csv(StringIO(unquote(text)), dtype={"case": str}), planned.chosen, check_dtype=False
    )


def test_in_short_is_what_the_terminal_shows(swept, page, text):
    screen = of_sweep(swept)
    short = unescape(re.sub("<[^>]+>", "", text[text.index(">In short<") :]))
    assert screen.headline in short
    assert all(note in short for note in screen.notes)
    rows = [[*map(str, row)] for row in (*screen.table.rows, *screen.table.foot)]
    assert page.table(screen.table.title)[1:] == rows
    assert short.index(screen.headline) < short.index(screen.notes[0]) < short.index("How to read these numbers")


def test_files_as_cases_lose_the_folders_that_they_share():
    (table,) = exhibits(pd.DataFrame({"case": ["data/skin/a/1.png", "data/skin/b/2.png"], "path": ["data/x.png"] * 2}))
    assert table.rows == (("a/1.png", "data/x.png"), ("b/2.png", "data/x.png"))


def test_what_cannot_be_written_or_shown_is_refused(plain, tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match="an audit is a table with the columns check, count, of, examples, meaning"):
        render(plain, audit=AUDIT.drop(columns="of"))
    with pytest.raises(ArgumentError, match="but a list was given"):
        render(plain, audit=[1])
    with pytest.raises(ArgumentError, match="the report takes sentences, data frames, figures"):
        exhibits({"a": 7})
    leave_out_figures(monkeypatch)
    with pytest.raises(FileError, match="cannot be written"):
        pb.report(plain, tmp_path)


@pytest.mark.parametrize(
    ("thing", "kinds"),
    [
        (None, []),
        ("Words.", ["text"]),
        (pd.Series([1.0, 2.0], name="x"), ["columns"]),
        ([AUDIT, ["Words.", {"c": AUDIT}]], ["columns", "text", "columns"]),
        (Scored(), ["text", "columns"]),
        (pd.DataFrame({"verdict": ["x"]}), ["columns"]),
    ],
)
def test_what_can_be_shown(thing, kinds):
    assert [next(k for k in ("text", "panels", "columns") if getattr(e, k)) for e in exhibits(thing)] == kinds


def test_results_of_the_package_bring_their_words_and_figures():
    before = pyplot.get_fignums()
    annotations = pb.Annotations.from_counts([[3, 1], [1, 3], [4, 0], [0, 4]])
    compared = pb.compare_models(annotations, {"majority-vote": None, "plackett-luce-ml": None}, progress=False)
    posterior = pb.aggregate(annotations, "majority-vote", progress=False)
    checked = pb.predictive_check(posterior, replicates=20, progress=False)
    shifted = pb.prior_sensitivity(annotations, {}, {"irn": None}, progress=False)
    same = "Top-1 annotation certainty is the same under every choice that was tried."
    for result, words in ((compared, [compared.verdict()]), (checked, [checked.verdict()]), (shifted, [same])):
        found = exhibits(result)
        assert [extra.text for extra in found if extra.text] == words
        assert sum(bool(extra.panels) for extra in found) == 1
        assert found[-1].columns
    assert len(exhibits(checked)[-1].rows) == len(checked.table)
    assert pyplot.get_fignums() == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Which cases have more than 5 labels")
def test_real_cases_stay_small(shared, tmp_path):
    folder = shared / "data" / "dermatology_ddx"
    annotations = pb.read_annotations(
        folder / "dermatology_selectors.json", classes=folder / "dermatology_conditions.txt"
    )
    rng = np.random.default_rng(0)
    scores = {name: rng.random((annotations.n_cases, annotations.n_classes), np.float32) for name in "AB"}
    options = {"k": (1, 3), "risks": folder / "dermatology_risks.txt", "draws": 5, "replicates": 20}
    swept = pb.sweep(annotations, scores, {"prirn": (30,)}, progress=False, **options)
    pb.report(swept, tmp_path / "report.html")
    assert 3e5 < (tmp_path / "report.html").stat().st_size < 5e6


@pytest.mark.parametrize("named", [True, False])
def test_annotators_are_counted_only_if_it_is_known_who_they_are(named):
    """Those of one place in every case are not one person."""
    labels = [["a", "b", "a"], ["b"]]
    cases = {str(i): {f"p{j}": [[label]] for j, label in enumerate(case)} for i, case in enumerate(labels)}
    annotations = pb.Annotations.from_rankings({"cases": cases}) if named else pb.Annotations.from_labels(labels)
    swept = pb.sweep(annotations, {}, {"irn": None}, progress=False)
    text = without_figures(swept, {})
    assert not any(f'id="{name}"' in text for name in ("classes", "clear"))
    found = dict(Page(text).table("Data and settings"))["annotators"]
    assert found == "3" if named else found.startswith("unknown")

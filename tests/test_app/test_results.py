"""What a result says is the same on a terminal, in a notebook, in a table and on a page."""

import html
import re

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from tests import worlds
from tests.test_app.test_report.page import leave_out_figures
from tests.test_app.test_screens import fits

QUIET = {"progress": False}


def labels(n=12):
    random = np.random.default_rng(0)
    return {f"c{case}": {who: str(random.integers(2)) for who in "xyz"} for case in range(n)}


def predictions():
    return {"M": {case: said["x"] for case, said in labels().items()}}


def outcomes():
    rows = {"system": ["s", "s", "t", "t"], "case": ["p", "q"] * 2, "rater": "ann", "outcome": [1, 1, 0, 1]}
    return pb.systems(pd.DataFrame(rows), people=["ann"], **QUIET)


def of_counts(function, *more, **options):
    return function(worlds.counts().posterior, worlds.counts().predictions, *more, **options)


RESULTS = {
    "agreement": lambda: pb.agreement.choose_distance(labels(), ["nominal"], **QUIET),
    "discrepancy": lambda: pb.agreement.discrepancy_ratio(labels(), predictions(), **QUIET),
    "judge": lambda: pb.agreement.judge(labels(), predictions(), model=None, replicates=50, **QUIET),
    "readers": lambda: pb.agreement.reader_study(labels(), predictions(), metric="accuracy"),
    "reliability": lambda: pb.agreement.weighted_reliability(labels()),
    "systems": outcomes,
    "plan": worlds.plan,
    "conformal": lambda: of_counts(pb.conformal),
    "coverage": lambda: of_counts(pb.conformal_coverage, splits=2, **QUIET),
    "evaluate": worlds.curves_of_two,
    "sweep": worlds.swept_labels,
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_terminal_a_notebook_a_table_and_a_page_say_the_same(kind, tmp_path, monkeypatch):
    result = RESULTS[kind]()
    screen = pb.results.of(result)
    lines = fits(str(screen).splitlines())
    assert lines.split() != []
    assert " ".join(screen.headline.split()[:6]) in " ".join(lines.split())
    if kind != "evaluate":  # xarray has its own
        assert result._repr_html_() == screen._repr_html_()
        assert html.escape(screen.headline) in result._repr_html_()
        cells = pb.summary(result).to_numpy().tolist()
        assert cells == [list(row) for row in (*screen.table.rows, *screen.table.foot)]
    path = tmp_path / "page.html"
    leave_out_figures(monkeypatch)
    pb.report(result, path, **QUIET)
    page = html.unescape(path.read_text())
    assert screen.headline in page
    for note in screen.notes[:1]:
        assert note in page
    for piece in screen.files:
        assert not piece.caption or f"<caption>{piece.caption}" in page or piece.caption in page
    assert all(
        caption in page for caption in re.findall("<caption>(.+?)</caption>", html.unescape(screen._repr_html_()))
    )


def test_classifiers_are_compared_and_files_are_told(tmp_path, monkeypatch):
    compared = pb.results.of(worlds.curves_of_two(), compare="auroc")
    assert "anking by AUROC: " in compared.headline
    assert [piece.file for piece in compared.files] == ["differences.csv", "rankings.csv", "variances.csv"]
    monkeypatch.chdir(worlds.write_study(tmp_path))
    found = pb.doctor(["annotations.json", "predictions-A.csv", "classes.txt"])
    assert str(found) == repr(found) == "\n".join(found.lines())
    assert all(html.escape(command) in found._repr_html_() for command in found.commands)
    assert pb.summary(found)["command"].tolist() == found.commands


def test_what_is_no_result_has_nothing_to_say(tmp_path):
    with pytest.raises(pb.ArgumentError, match="can be put into words, but 3 was given"):
        pb.results.of(3)
    with pytest.raises(pb.ArgumentError, match="of datasets, results of"):
        pb.results.of(pb.diagnose(worlds.counts().posterior))
    with pytest.raises(pb.ArgumentError, match="plan= goes beside a sweep"):
        pb.report(outcomes(), tmp_path / "page.html", plan="later")


def test_the_summary_of_a_posterior_is_its_plausibilities_by_name():
    annotations = pb.Annotations.from_rankings({"cases": {"p": {"ann": [["b"]]}, "q": {"ann": [["a"], ["c"]]}}})
    posterior = pb.aggregate(annotations, "prirn", draws=100, progress=False)
    table = pb.summary(posterior, ci_prob=0.5)
    draws = pb.case_draws(posterior, "q")["plausibility"]
    rows = table[table["case"] == "q"].set_index("class_name")
    assert sorted(rows.index) == sorted(draws["class_name"].values.tolist())
    for name, row in rows.iterrows():
        values = draws.sel(class_name=name).values
        expected = [values.mean(), values.std(), *np.quantile(values, (0.25, 0.75))]
        np.testing.assert_allclose(row[["mean", "sd", "lower", "upper"]].to_numpy(float), expected, rtol=1e-5)
    with pytest.raises(pb.ArgumentError, match="ci_prob must lie between 0 and 1"):
        pb.summary(posterior, ci_prob=2)

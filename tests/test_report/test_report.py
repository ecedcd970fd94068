"""The report: its numbers, its names, and that it needs nothing else."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.errors import FileError
from plausibly.report import headline, render
from plausibly.sweeps import Run, Sweep

EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Text of table cells by table, and all tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self._table, self._cell = {}, [], None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._table = self.tables.setdefault(dict(attrs)["id"], [])
        elif tag == "tr":
            self._table.append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._table[-1].append("".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)


@pytest.fixture(scope="module")
def swept():
    classes = [EVIL, "b", "c & d"]
    rankings = {
        f"{EVIL} {i}": {"ann": [[classes[i % 3]], [classes[(i + 1) % 3]]], "bob": [[classes[(i * i) % 3]]]}
        for i in range(12)
    }
    annotations = pb.Annotations.from_rankings({"classes": classes, "cases": rankings})
    rng = np.random.default_rng(0)
    scores = {name: rng.random((12, 3)) for name in ("A", "B & <b>")}
    return pb.sweep(annotations, scores, {"prirn": (10, 30), "irn": None}, draws=25, seed=1, progress=False)


@pytest.fixture(scope="module")
def text(swept):
    return render(swept, {"annotations": EVIL})


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_all_metrics_are_those_of_the_table(swept, page):
    rows = page.tables["metrics"][1:]
    expected = swept.metrics
    assert len(rows) == len(expected) > 0
    for cells, (_, row) in zip(rows, expected.iterrows(), strict=True):
        assert cells[0] == row["classifier"]
        assert cells[1] == row["model"]
        assert cells[2] == ("" if np.isnan(row["reliability"]) else f"{row['reliability']:g}")
        assert cells[4:] == [f"{row[name]:.4f}" for name in ("mean", "sd", "lower", "upper", "best", "worst", "point")]


def test_the_main_table_is_the_headline(swept, page):
    rows = [row[-6:] for row in page.tables["headline"][1:]]
    table = headline(swept)
    assert len(rows) == 3 * 2
    for cells, row in zip(rows, table.to_dict("records"), strict=True):
        top1 = f"{row['top1_accuracy_mean']:.3f} [{row['top1_accuracy_lower']:.3f}, {row['top1_accuracy_upper']:.3f}]"
        top3 = f"{row['top3_accuracy_mean']:.3f} [{row['top3_accuracy_lower']:.3f}, {row['top3_accuracy_upper']:.3f}]"
        last = "" if np.isnan(row["beats_next"]) else f"{row['beats_next']:.2f}"
        points = [f"{row['top1_accuracy_point']:.3f}", f"{row['top3_accuracy_point']:.3f}"]
        assert cells == [row["classifier"], top1, points[0], top3, points[1], last]


def test_the_headline_puts_the_best_first_and_compares_it_with_the_next(swept):
    table = headline(swept)
    for run in swept.runs:
        own = table[table["run"] == run.label]
        assert own["top1_accuracy_mean"].is_monotonic_decreasing
        best, second = own["classifier"]
        assert own["beats_next"].iloc[0] == pb.probability_better(run.results, "top1_accuracy", best, second)
        summary = pb.summary(run.results).set_index(["classifier", "metric"])
        assert own["top3_accuracy_lower"].iloc[1] == summary.loc[(second, "top3_accuracy"), "lower"]


def test_certainty_is_the_mean_over_cases(swept, page):
    by_run = {row[0]: row[1:] for row in page.tables["certainty"][1:]}
    for run in swept.runs:
        means = [float(run.results[f"annotation_certainty_{size}"].mean()) for size in (1, 2, 3)]
        assert by_run[run.label] == [f"{mean:.3f}" for mean in means]


def test_names_are_escaped(text, page):
    assert "<script" not in text
    assert "<b>" not in text
    assert "B &amp; &lt;b&gt;" in text
    assert ["Annotations", EVIL] in page.tables["data"]


def test_names_in_letters_that_the_font_lacks_warn_nobody():
    annotations = pb.Annotations.from_rankings({"cases": {"病例": {"ann": [["痣"], ["湿疹"]]}}})
    scores = {"模型": np.array([[0.3, 0.7]])}
    text = render(pb.sweep(annotations, scores, {"prirn": [10]}, draws=25, progress=False))
    assert '<td class="text">模型</td>' in text


def test_nothing_is_fetched(text, page):
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "iframe", "object", "base"})
    sources = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert all("onload" not in attrs and "href" not in attrs for _, attrs in page.tags)
    assert not re.search(r"url\(|@import|https?:", text)


def test_every_figure_has_a_caption_and_an_alternative(page):
    tags = [tag for tag, _ in page.tags]
    # Certainty of 3 sizes, 16 metrics by reliability, 2 rankings, 2 histograms, 2 comparisons, least certain cases.
    assert tags.count("figure") == tags.count("figcaption") == 3 + 16 + 2 + 2 + 2 + 1
    assert all(attrs["alt"] for tag, attrs in page.tags if tag == "img")


def test_the_same_sweep_gives_the_same_text(swept, text):
    assert render(swept, {"annotations": EVIL}) == text


def test_what_was_done_is_said(swept, page):
    settings = {row[0]: row[1:] for row in page.tables["settings"][1:]}
    assert settings["prirn"][:2] == ["10, 30", "exact"]
    assert "draws = 25" in settings["prirn"][2]
    assert settings["irn"][:2] == ["none", "point"]
    data = dict(page.tables["data"])
    assert data["Cases"] == "12"
    assert data["Annotations"].startswith(("24", EVIL))
    assert data["Seed"] == "1"
    assert f"plausibly {pb.__version__}" in data["Versions"]


def with_chains(swept, failed):
    """The sweep as if its first run had chains, which failed in some cases."""
    run = swept.runs[0]
    cases = run.convergence["case"].values
    bad = np.isin(np.arange(len(cases)), failed)
    convergence = xr.Dataset(
        {
            "r_hat": ("case", np.where(bad, 1.25, 1.001)),
            "ess_bulk": ("case", np.where(bad, 12.0, 1500.0)),
            "ess_tail": ("case", np.where(bad, 34.0, 1600.0)),
            "n_diverging": ("case", np.where(bad, 7, 0)),
            "converged": ("case", ~bad),
        },
        coords={"case": cases},
    )
    sampled = Run(run.model, run.reliability, run.results, convergence, run.excerpt, run.attrs)
    return Sweep(swept.annotations, (sampled, *swept.runs[1:]))


def test_cases_that_did_not_converge_are_listed(swept):
    failing = with_chains(swept, [2, 5])
    page = Page(render(failing))
    names = [f"{EVIL} 2", f"{EVIL} 5"]
    assert page.tables["failed"][1:] == [[name, "prirn@10", "1.250", "12", "34", "7"] for name in names]
    assert page.tables["convergence"][1:] == [["prirn@10", "1.250", "12", "34", "14", "2"]]
    verdict = [attrs["class"] for tag, attrs in page.tags if attrs.get("id") == "verdict"]
    assert verdict == ["verdict bad"]
    assert "2 of 12 cases" in failing.verdict()


def test_chains_that_converged_leave_no_list(swept):
    page = Page(render(with_chains(swept, [])))
    assert "failed" not in page.tables
    assert page.tables["convergence"][1:] == [["prirn@10", "1.001", "1,500", "1,600", "0", "0"]]


def test_no_chains_no_table(page):
    assert "convergence" not in page.tables


def test_without_classifiers_there_is_still_certainty():
    annotations = pb.Annotations.from_labels([["a", "b"], ["a", "a"]])
    swept = pb.sweep(annotations, {}, {"dirichlet-categorical": (1,)}, draws=10, progress=False)
    page = Page(render(swept))
    assert "headline" not in page.tables
    assert len(page.tables["certainty"]) == 2
    assert headline(swept)["run"].tolist() == ["dirichlet-categorical@1"]


def test_point_estimates_alone():
    annotations = pb.Annotations.from_labels([["a", "b", "b"], ["a", "a", "a"]])
    swept = pb.sweep(annotations, {"A": [[0.2, 0.8]] * 2}, {"majority-vote": None}, progress=False)
    page = Page(render(swept))
    assert page.tables["headline"][1][-1] == ""
    assert pd.isna(headline(swept)["beats_next"]).all()


def test_a_file_that_cannot_be_written(swept, tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        pb.report(swept, tmp_path)

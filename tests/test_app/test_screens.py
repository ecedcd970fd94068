"""First screens: 25 lines of 80 columns, nothing cut, the number that decides first."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
import xarray as xr

import plausibly as pb
from plausibly.app.cli import _output
from plausibly.app.report.of_labels import model_of_panels
from plausibly.app.results import audit, discrepancy, judge
from plausibly.app.results.evaluation import of_labels, of_sweep
from plausibly.app.screen import LINES, WIDTH, Screen, Table, layout, middle
from plausibly.base.errors import Fault, Serious
from tests import worlds
from tests.test_app.test_cli.run import plausibly


def fits(lines, most=LINES):
    """Whether lines fit a terminal, and no cell ends with what was cut."""
    lines = list(lines)
    assert len(lines) <= most, "\n".join(lines)
    assert [line for line in lines if len(line) > WIDTH and not line.startswith("plausibly ")] == []
    assert not re.search(r"\w…( {2,}|$)", "\n".join(lines), re.MULTILINE), lines
    return "\n".join(lines)


def test_long_names_many_rows_and_long_sentences_fit():
    rows = [(f"a-very-long-name-of-the-classifier-number-{i}", *["84.3 (75–90)"] * 4) for i in range(30)]
    foot = [("another expert", *["55.5 (50–61)"] * 4)]
    heads = ("classifier", "as 5 experts decide, %", "agrees with an expert, %", "accuracy, %", "ahead, points")
    notes = [f"{word} " * 40 for word in ("first", "second", "third", "fourth", "fifth")]
    screen = Screen("A is better than B. " * 8, Table(heads, rows, "94 % intervals", foot=foot), notes, "metrics.csv")
    text = fits(layout(screen, where="report.html")[0])
    assert "another expert" in text
    assert re.search(r"\d+ more rows: metrics.csv", text)
    assert "Note: first" in text
    assert re.search(r"\d more notes: report.html", text)
    assert text.index("better than") < text.index("Note:")
    for width in (50, 60, 200):
        assert max(map(len, layout(screen, width)[0])) <= width
    assert middle("abcdefghij", 5) == "ab…ij"
    assert "fifth" not in text


def test_an_annotator_at_random_is_named_first_by_audit_and_evaluate():
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 60)
    said = [np.where(random.random(60) < 0.9, truth, 1 - truth) for _ in range(4)] + [random.integers(0, 2, 60)]
    labels = pb.Annotations.from_labels(np.array(["a", "b"])[np.transpose(said)].tolist(), annotators=list("vwxyz"))
    told = "1 of 5 annotators needs a look: z agrees with the others no better than chance."
    assert audit.screen(pb.audit(labels), labels).headline.endswith(f"checks found nothing. {told}")
    swept = replace(worlds.swept_labels(), annotations=labels)
    first = next(line for line in layout(of_sweep(swept))[0] if line.startswith("Note: "))
    assert first.startswith("Note: 1 of 5 annotators needs a look: z agrees")
    assert of_labels(swept.of_labels, annotations=labels).notes[0] == told
    model = {"m": dict(zip(labels.cases.tolist(), np.array(["a", "b"])[said[0]].tolist(), strict=True))}
    judged = pb.agreement.judge(labels, model, model=None, progress=False)
    for screen in (judge.screen(judged), discrepancy.screen(judged.test.comparison)):
        assert screen.notes[0].startswith(told)
        assert "also try without them" in screen.notes[0]


@pytest.mark.parametrize("name", ["swept_labels", "swept_labels_of_three", "marked"])
@pytest.mark.parametrize("named", [True, False])
def test_panels_come_before_one_expert_and_accuracy_unless_a_model_was_named(name, named):
    swept = getattr(worlds, name)()
    screen = of_sweep(swept, named=named)
    fits(layout(screen, where="report.html")[0])
    heads = [head for head in screen.table.columns[1:] if not head.startswith("lead")]
    places = {part: at for at, head in enumerate(heads) for part in ("experts", "an exp", "accur") if part in head}
    assert places.get("experts", 0) <= places["an exp"]
    assert (places.get("accur") == 0) is named
    assert ("accur" in places) or " other experts" in heads[0]  # of whom panels are drawn
    assert len(screen.table.columns) <= 5
    told = screen.headline
    if not named and "experts" in places:
        assert "experts together would" in told
        assert told.index("experts together would") < told.index("with one expert in") < told.index(" ahead of ")
    if " ahead of " in told:
        assert (
            "By panels, " in told
            if "experts" in places and not named
            else re.search("By (accuracy|one expert), ", told)
        )
    assert "<td>" in screen._repr_html_()


def test_a_metric_of_lists_that_is_asked_for_comes_first():
    swept = worlds.swept_labels_of_three()
    screen = of_sweep(swept, metrics=["top2_accuracy"])
    assert screen.table.columns[1].startswith("top-2 accuracy")
    assert "has top-2 accuracy" in screen.headline
    assert "is better than" in screen.headline


def screen_of(*words, most=LINES, status=0):
    """What a command prints on a terminal of 80 columns, where it fits."""
    found = plausibly(*words, width=WIDTH)
    assert found.exit_code == status, found.output
    return fits(found.stdout.splitlines(), most)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Files of a simulated study, in a folder of their own."""
    worlds.write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    return ["--predictions", "A=predictions-A.csv", "--predictions", "B=predictions-B.csv"]


def test_notes_before_the_screen_count_and_all_are_in_a_file(study):
    Path("sheet.csv").write_text("case,r1,r2,r3\n" + "".join(f"c{i},{i % 2},{i % 2},{i % 3 % 2}\n" for i in range(12)))
    for name in "ABC":
        Path(f"{name}.csv").write_text("case,p\n" + "".join(f"c{i},{(i % 5) / 5 + 0.1}\n" for i in range(12)))
    given = [word for name in "ABC" for word in ("--predictions", f"{name}={name}.csv")]
    found = plausibly("evaluate", "sheet.csv", *given, "--positive", 1, "--quick", "--truth", "annotator", width=WIDTH)
    assert found.exit_code == 0, found.output
    text = fits(found.output.splitlines())
    assert text.count("Note: ") <= 3
    (n,) = re.findall(r"(\d+) more notes: results/notes.txt", text)
    notes = Path("results/notes.txt").read_text().splitlines()
    assert len(notes) == int(n) + text.count("Note: ")
    assert any("C.csv: took the column 'p'" in note for note in notes)
    assert "notes.txt" in text.splitlines()[-1]


def test_faults_of_the_data_come_before_all_other_notes(capsys):
    with _output.notes():
        _output.note("Labels are of three people.")
        assert capsys.readouterr().err.splitlines() == ["Note: Labels are of three people."]
        _output.note(Fault("2 rows are doubled."))
        _output.note(Serious("the data have exchanged classes: run plausibly audit."))  # waits for no screen
        assert "exchanged classes" in capsys.readouterr().err
        _output.note(Fault("the names are alike."))
        _output.show(Screen("A is ahead.", None, ["Intervals are wide.", "Cases are few."]), "report.html")
    told = capsys.readouterr()
    assert told.out.splitlines()[1:] == ["Note: 2 rows are doubled.", "3 more notes: report.html."]
    screen = Screen("A is ahead.", None, ["Wide.", Fault("Doubled."), Serious("Exchanged.")])
    assert layout(screen)[0][1:] == ["Note: Exchanged.", "Note: Doubled.", "Note: Wide."]


def test_answers_to_requirements_have_the_lines_that_are_left_and_those_that_are_not_met_come_first(capsys):
    told = [f"{name}: P(accuracy >= 0.7) = 0.99, at least the 0.95 required: met" for name in "ABCDEF"]
    with _output.notes():
        for _ in range(21):
            _output.say("A line.")
        with pytest.raises(typer.Exit) as left:
            _output.check_answers(
                [*told, "G: P(accuracy >= 0.7) = 0.2, below the 0.95 required: not met"], Path("r.csv")
            )
    assert left.value.exit_code == _output.UNMET
    lines = fits(capsys.readouterr().out.splitlines()).splitlines()[21:]
    assert lines == ["G: P(accuracy >= 0.7) = 0.2, below the 0.95 required: not met", *told[:2], "4 more: r.csv."]


def test_panels_under_a_model_say_which_cases_lack_labels():
    attrs = {"truth": "panel", "strictness": 0.0, "skill": 0.0, "model": "m", "readers": "these", "panel": 2}
    annotations = pb.Annotations.from_labels([["x", "y"], ["x"], ["y", "y"]])
    told = model_of_panels(xr.Dataset(attrs=attrs), annotations)
    assert told.startswith("1 of 3 cases has fewer than 2 labels: the further ones are drawn under")


def test_evaluate(study):
    given = ["evaluate", "annotations.json", *study, "--quick"]
    model = [*given, "--risks", "risks.txt", "--k", 1, "--draws", 20]
    text = screen_of(*model, "--model", "prirn@10", "--model", "irn")
    assert "report.html" not in text
    screen_of(*model, "--model", "prirn@10", "--require", "top1_accuracy<=0.999@0.01")
    assert "Wrote metrics.csv" in text
    text = screen_of(*given, "--truth", "annotator", "--metrics", "accuracy")
    assert text.index("accuracy") < text.index("Wrote")


@pytest.mark.slow
def test_one_label_a_case_says_nothing_of_the_order_under_other_models(tmp_path, monkeypatch, no_report):
    monkeypatch.chdir(tmp_path)
    rows = [(f"c{at}", at % 2, 0.1 + 0.8 * (at % 3 > 0)) for at in range(30)]
    Path("labels.csv").write_text("case,annotator,label\n" + "".join(f"{case},x,k{one}\n" for case, one, _ in rows))
    for name, sign in (("A", 1), ("B", -1)):
        table = "".join(f"{case},{0.5 - sign * (p - 0.5)},{0.5 + sign * (p - 0.5)}\n" for case, _, p in rows)
        Path(f"{name}.csv").write_text(f"case,k0,k1\n{table}")
    given = ["--predictions", "A=A.csv", "--predictions", "B=B.csv", "--draws", 20]
    assert "2 settings" not in screen_of("evaluate", "labels.csv", *given)


@pytest.fixture
def labels(tmp_path, monkeypatch):
    """Labels by three annotators, what two models say of the cases, and outcomes of systems."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    truth = random.integers(1, 6, 40)
    noisy = {name: np.clip(truth + random.integers(-1, 2, 40), 1, 5) for name in ("ann", "bob", "cy", "A", "B")}
    rows = [f"case {i},{who},{noisy[who][i]},{'ns'[i % 2]}" for i in range(40) for who in ("ann", "bob", "cy")]
    Path("labels.csv").write_text("\n".join(["case,annotator,label,site", *rows]))
    for name in "AB":
        Path(f"{name}.csv").write_text("\n".join(["case,label", *(f"case {i},{noisy[name][i]}" for i in range(40))]))
    outcomes = [
        f"s{s},q{i},{who},{random.random() < 0.5 + s / 10:d}" for s in range(3) for i in range(40) for who in "pj"
    ]
    Path("outcomes.csv").write_text("\n".join(["system,case,rater,outcome", *outcomes]))
    return ["--predictions", "A=A.csv", "--predictions", "B=B.csv"]


def test_commands_on_labels(labels):
    text = screen_of("judge", "labels.csv", *labels, "--model", "none", "--replicates", 50)
    assert text.index("closeness") < text.index("stand in for")
    screen_of("judge", "labels.csv", *labels[:2], "--model", "none", "--replicates", 50, "--by", "site", "--out", "out")
    text = screen_of("discrepancy", "labels.csv", *labels, "--replicates", 50, "--by", "site")
    assert "A is at Δ = " in text
    text = screen_of("agreement", "labels.csv", "--replicates", 20)
    assert "ordinal" in text
    screen_of("reliability", "labels.csv", "--replicates", 20, "--out", "out")
    text = screen_of("systems", "outcomes.csv", "--people", "p", "--replicates", 200, "--out", "out")
    assert "has the highest" in text


@pytest.mark.slow
def test_commands_on_posteriors(study):
    screen_of("aggregate", "annotations.json", "--model", "prirn@30", "--draws", 20, "--out", "p.nc")
    text = screen_of("compare", "p.nc", *study, "--replicates", 50, "--k", 1)
    assert text.index("P(better)") < text.index("Most probable ranking" if "Most" in text else "anking by")
    screen_of("check", "p.nc", "--replicates", 20)
    assert ".csv" not in screen_of("diagnose", "p.nc")  # no folder was given
    screen_of("plan", "p.nc", *study[:2], "--budget", 10)
    given = ["annotations.json", *study, "--draws", 20, "--model"]
    screen_of("conformal", *given, "prirn@30", "--splits", 2)
    screen_of("sweep", *given, "prirn@10,30", "--risks", "risks.txt", "--k", 1)
    screen_of("audit", "annotations.json", *study)
    screen_of("simulate", "--cases", 12, "--classes", 6, "--out", "sim", most=12)

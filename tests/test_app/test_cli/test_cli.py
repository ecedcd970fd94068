"""The commands: their files, their last lines, their exit statuses."""

import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.app.cli import _demo
from plausibly.app.cli import _evaluate as evaluating
from plausibly.app.cli._app import COMMANDS, HIDDEN, WITHIN, load_command
from plausibly.app.cli._output import TablesInParts
from tests.test_app.test_cli.run import plausibly, refuse, succeed
from tests.test_app.test_report.page import leave_out_figures

METRICS = ["classifier", "model", "reliability", "metric", "class", "mean", "sd", "lower", "upper", "best", "worst"]
METRICS += ["point", "total_lower", "total_upper", "sampling_sd", "undefined", "infinite"]


@pytest.fixture(scope="module")
def given(data, predictions):
    """What most evaluations here are given, so that they share their programs."""
    return [*predictions, "--risks", data / "risks.txt", "--k", 1]


@pytest.fixture(scope="module")
def no_figures():
    """Reports without figures, sets and plans, which other tests look at."""
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        for name in ("measure_sets", "plan_labels"):
            patch.setattr(evaluating, name, lambda *given, **options: None)
        yield


@pytest.fixture(scope="module")
def evaluated(data, given, no_figures, tmp_path_factory):
    """A result, its folder, and the words that gave it."""
    out = tmp_path_factory.mktemp("above") / "made" / "results"
    words = ["evaluate", data / "annotations.json", *given]
    words += ["--model", "prirn@10,30.5", "--model", "irn", "--draws", 20, "--ties", "full", "--seed", 4]
    result = succeed(*words, "--out", out)
    return result, out, words


def test_evaluate_writes_and_prints_the_tables_of_the_library(evaluated, data):
    _, out, _ = evaluated
    posteriors = {"posterior-prirn-10.nc", "posterior-prirn-30.5.nc", "posterior-irn.nc"}
    tables = {"metrics.csv", "certainty.csv", "differences.csv", "rankings.csv"}
    assert {path.name for path in out.glob("[!.]*")} == {*tables, "report.html"} | posteriors
    annotations = pb.read_annotations(data / "annotations.json")
    scores = {name: data / f"predictions-{name}.csv" for name in "AB"}
    models = {"prirn": (10, 30.5), "irn": None}
    risks = data / "risks.txt"
    swept = pb.sweep(annotations, scores, models, risks=risks, k=1, draws=20, ties="full", seed=4, progress=False)
    metrics = pd.read_csv(out / "metrics.csv")
    assert list(metrics.columns) == METRICS
    metrics["class"] = metrics["class"].fillna("")
    pd.testing.assert_frame_equal(metrics, swept.metrics, check_exact=True)
    certainty = pd.read_csv(out / "certainty.csv")
    assert list(certainty.columns) == list(swept.certainty.columns)
    assert len(certainty) == 3 * 12
    for name in ("case", "model", "converged"):
        assert certainty[name].tolist() == swept.certainty[name].tolist()
    np.testing.assert_allclose(certainty["annotation_certainty_1"], swept.certainty["annotation_certainty_1"], 1e-6)
    rankings, differences = (pd.read_csv(out / f"{name}.csv") for name in ("rankings", "differences"))
    expected = swept.rankings("top1_accuracy").assign(metric="top1_accuracy")
    assert rankings["ranking"].tolist() == expected["ranking"].tolist()
    assert rankings["metric"].unique() == ["top1_accuracy"]
    of_runs = [pb.comparison.differences(run.results, "top1_accuracy") for run in swept.runs]
    np.testing.assert_allclose(differences["mean"], [float(one["mean"].iloc[0]) for one in of_runs])
    assert differences[["classifier", "versus", "model"]].values.tolist() == [
        ["A", "B", run.model] for run in swept.runs
    ]
    posterior = pb.load(out / "posterior-prirn-30.5.nc")
    assert posterior.attrs["reliability"] == 30.5
    assert posterior["posterior"]["plausibility"].sizes["draw"] == 20
    result, out, _ = evaluated
    metrics = pd.read_csv(out / "metrics.csv").set_index(["model", "reliability", "classifier", "metric"])
    row = metrics.loc[("prirn", 10.0, "A", "top1_accuracy")]
    assert f"{100 * row['mean']:.1f} ({100 * row['total_lower']:.0f}–{100 * row['total_upper']:.0f})" in result.stdout
    assert "onverge" not in result.stdout  # draws are exact
    assert "[1 of 3] prirn@10" in result.stderr
    assert result.output.index("another expert") < result.output.index("Wrote metrics.csv")


def test_quick_stops_at_the_numbers(evaluated, given, data, tmp_path):
    _, full, _ = evaluated
    words = ["--model", "irn", "--ties", "full", "--seed", 4, "--quick", "--out", tmp_path / "quick"]
    result = succeed("evaluate", data / "annotations.json", *given, *words)
    assert {path.name for path in (tmp_path / "quick").glob("[!.]*")} == {
        "metrics.csv",
        "certainty.csv",
        "posterior-irn.nc",
    }
    assert f"Wrote metrics.csv, certainty.csv, 1 posterior to {tmp_path / 'quick'}" in " ".join(result.stdout.split())
    metrics = pd.read_csv(full / "metrics.csv")
    expected = metrics[metrics["model"] == "irn"].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "quick" / "metrics.csv"), expected, check_exact=True)


@pytest.mark.slow
def test_quick_computes_what_is_printed_or_required(given, data, tmp_path):
    words = ["--model", "irn", "--ties", "full", "--seed", 4, "--quick", "--out", tmp_path / "quick"]
    for more, listed in (([], {"accuracy"}), (["--require", "top1_overlap>=0"], set(pb.metrics.METRICS))):
        found = plausibly("evaluate", data / "annotations.json", *given[:-2], *words, *more)  # without --k
        assert found.exit_code == (3 if more else 0), found.output  # of a point estimate, totals are unknown
        names = pd.read_csv(tmp_path / "quick" / "metrics.csv")["metric"].str.extract(r"^top\d_(.*)")[0]
        assert set(names.dropna()) == listed
        sizes = pd.read_csv(tmp_path / "quick" / "certainty.csv").filter(like="annotation_certainty").columns
        assert len(sizes) == (3 if more else 1)


@pytest.mark.slow
def test_a_second_run_reuses_posteriors_and_spares_what_is_not_ours(evaluated, tmp_path):
    _, out, words = evaluated
    again = tmp_path / "again"
    shutil.copytree(out, again)
    kept = {path.name: path.read_bytes() for path in again.glob("[!.]*")} | {"notes.txt": b"mine"}
    (again / "notes.txt").write_bytes(b"mine")
    (again / "metrics.csv").write_text("of an older run, and longer\n" * 10_000)
    (again / "posterior-irn.nc").write_bytes(kept["posterior-irn.nc"][:1000])
    result = succeed(*words, "--out", again)
    assert "(posterior reused)" in result.stderr
    assert {path.name: path.read_bytes() for path in again.glob("[!.]*")} == kept


def test_a_refusal_leaves_the_folder_as_it_was(evaluated, tmp_path):
    _, out, words = evaluated
    again = shutil.copytree(out, tmp_path / "again")
    (again / "posterior-prirn-10.zarr").mkdir()
    (again / "posterior-prirn-10.zarr" / "thesis.tex").write_text("mine")
    kept = {path: path.read_bytes() for path in again.rglob("[!.]*.*") if path.is_file()}
    result = refuse(*words, "--resume", "--out", again)
    assert "holds something other" in result.stderr
    assert {path: path.read_bytes() for path in again.rglob("[!.]*.*") if path.is_file()} == kept


@pytest.mark.slow
def test_an_audit_stands_in_the_report_and_serious_findings_on_the_screen(data, tmp_path):
    words = ["evaluate", data / "annotations.json", "--model", "irn", "--out", tmp_path]
    for name in "AB":
        words += ["--predictions", f"{name}={data / 'predictions-A.csv'}"]
    words += ["--risks", data / "risks.txt"]
    (tmp_path / "a.csv").write_text("case,annotator,class\np,ann,wart\np,bob,Wart\n")
    result = plausibly(*words)
    assert "the data have" not in result.stderr
    assert "identical classifiers" in (tmp_path / "report.html").read_text()
    result = plausibly("evaluate", tmp_path / "a.csv", "--model", "irn", "--out", tmp_path / "similar")
    assert "the data have" not in result.stderr
    assert "the classes 'Wart' and 'wart' differ only in capitals" in " ".join(result.stderr.split())
    assert "Wart = wart" in (tmp_path / "similar" / "report.html").read_text()


@pytest.mark.slow
def test_quiet_prints_one_line_and_names_are_printed_as_they_are(data, given, tmp_path, no_report):
    words = [*given, "--model", "irn", "--out", tmp_path, "--quiet"]
    result = plausibly("evaluate", data / "annotations.json", *words)
    (line,) = result.stdout.splitlines()
    accuracy = pd.read_csv(tmp_path / "metrics.csv").set_index("metric").loc["top1_accuracy", "mean"].max()
    assert f"'s first choice is the most plausible class in {100 * accuracy:.1f} % of cases" in line
    assert "No convergence check is needed: the draws are exact or the models are point estimates." in line
    assert line.endswith(f" Results: {tmp_path}.")
    assert result.stderr == ""
    words = ["--predictions", f"[bold]A[/]={data / 'predictions-A.csv'}", *given[2:]]
    words += ["--model", "irn", "--out", tmp_path]
    assert "[bold]A[/]" in plausibly("evaluate", data / "annotations.json", *words).stdout


@pytest.mark.slow
def test_lengths_of_lists_and_tables_as_parquet(data, predictions, tmp_path, no_report):
    words = ["--model", "irn", "--k", "2,5", "--format", "parquet", "--out", tmp_path]
    result = succeed("evaluate", data / "annotations.json", *predictions, *words)
    assert "metrics.parquet, certainty.parquet" in result.output
    metrics, certainty = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("metrics", "certainty"))
    assert list(metrics.columns) == METRICS
    assert {name.split("_")[0] for name in metrics["metric"] if name.startswith("top")} == {"top2", "top5"}
    assert len(certainty) == 12
    assert not list(tmp_path.glob("*.csv"))


def spoilt(posterior):
    """The convergence of a posterior as if two cases had failed."""
    cases = posterior["observed_data"]["case"].values
    columns = {"r_hat": 1.3, "ess_bulk": 9.0, "ess_tail": 9.0, "n_diverging": 2}
    variables = {name: ("case", np.full(len(cases), value)) for name, value in columns.items()}
    return xr.Dataset(variables | {"converged": ("case", np.arange(len(cases)) >= 2)}, {"case": cases})


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 1)])
def test_chains_that_did_not_converge(data, given, tmp_path, monkeypatch, no_report, strict, code):
    monkeypatch.setattr("plausibly.aggregation.sweeps._make.diagnose", spoilt)
    words = [*given, "--model", "prirn@10", "--draws", 20, "--out", tmp_path, *strict]
    result = plausibly("evaluate", data / "annotations.json", *words)
    assert result.exit_code == code
    last = result.stdout.splitlines()[-1]
    assert last.startswith("Chains did not converge in 2 of 12 cases (prirn@10: 2): 'case 000000', 'case 000001'. ")
    assert last.endswith(f"{tmp_path / 'certainty.csv'} lists all of them.")
    assert pd.read_csv(tmp_path / "certainty.csv")["n_diverging"].tolist() == [2] * 12


def test_no_folder_and_no_memory_are_a_line(data, tmp_path):
    (tmp_path / "file").write_text("")
    result = refuse("evaluate", data / "annotations.json", "--out", tmp_path / "file")
    assert "file cannot be written (File exists): choose another place." in result.stderr
    words = ["--model", "prirn@1", "--draws", 10**13, "--out", tmp_path]
    result = refuse("evaluate", data / "annotations.json", *words)
    assert result.stderr.splitlines()[-1].startswith("Error: out of memory (")
    assert result.stderr.endswith("): use fewer draws or chains, or fewer cases at a time.\n")


def test_what_was_computed_before_a_failure_is_kept_and_an_interrupt_is_a_line(data, given, tmp_path, monkeypatch):
    aggregate = pb.aggregate

    def failing(annotations, model, **arguments):
        if arguments.get("reliability") == 30:
            raise pb.PlausiblyError("out of luck: try again.")
        return aggregate(annotations, model, **arguments)

    monkeypatch.setattr("plausibly.aggregation.sweeps._plan.aggregate", failing)
    words = [*given, "--model", "prirn@10,30,100", "--draws", 20, "--out", tmp_path]
    result = plausibly("evaluate", data / "annotations.json", *words)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, "Error: out of luck: try again.")
    assert {path.name for path in tmp_path.glob("[!.]*")} == {"metrics.csv", "certainty.csv", "posterior-prirn-10.nc"}
    assert pd.read_csv(tmp_path / "certainty.csv")["reliability"].tolist() == [10] * 12

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("plausibly.aggregation.sweeps._plan.aggregate", interrupted)
    result = plausibly("evaluate", data / "annotations.json", "--model", "irn", "--out", tmp_path)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1].startswith("Stopped: ")


def test_aggregate_writes_the_posterior_of_the_library(data, tmp_path):
    out = tmp_path / "made" / "posterior.nc"
    words = ["--model", "prirn@12", "--draws", 20, "--chains", 2, "--seed", 3, "--out", out]
    result = succeed("aggregate", data / "annotations.json", *words)
    assert result.stdout.splitlines() == [
        *result.stdout.splitlines()[:1],  # what was read
        f"Wrote 2 × 20 draws of 12 cases to {out}",
        "No convergence check is needed: the draws are exact or the models are point estimates.",
    ]
    annotations = pb.read_annotations(data / "annotations.json")
    expected = pb.aggregate(annotations, "prirn", reliability=12, draws=20, chains=2, seed=3, progress=False)
    xr.testing.assert_equal(
        pb.load(out)["posterior"]["plausibility"].drop_vars(["chain", "draw"]),
        expected["posterior"]["plausibility"].drop_vars(["chain", "draw"]),
    )


@pytest.mark.slow
def test_aggregate_infers_reliability(tmp_path):
    """The shapes are those of another test, which has compiled for them."""
    simulated = pb.datasets.simulate_annotators(8, [2.0] * 4, n_classes=3)
    simulated.annotations.to_table().to_csv(tmp_path / "annotations.csv", index=False)
    words = ["aggregate", tmp_path / "annotations.csv", "--draws", 4, "--chains", 1, "--warmup", 0]
    out = tmp_path / "p.nc"
    result = succeed(*words, "--infer-reliability", "annotator", "--out", out)
    assert re.search(r"Reliability \d+\.\d\d, between \d+\.\d\d and \d+\.\d\d with 94 % probability", result.output)
    assert re.search(r"annotator +annotations +reliability +shrinkage", result.output)
    assert pb.load(out)["posterior"]["annotator_reliability"].sizes["annotator"] == 4


@pytest.mark.slow
def test_sweep_writes_tables_arrays_and_a_figure(data, predictions, tmp_path):
    words = ["sweep", data / "annotations.json", *predictions, "--model", "prirn@1,30", "--model", "irn", "--draws", 20]
    out = tmp_path / "out"
    result = succeed(*words, "--metric", "top2_kendall_tau", "--k", "1,2", "--out", out)
    posteriors = {"posterior-prirn-1.nc", "posterior-prirn-30.nc", "posterior-irn.nc"}
    assert {path.name for path in out.glob("[!.]*")} == posteriors | {
        *("sweep.csv", "sweep.nc", "rankings.csv", "rankings.svg")
    }
    annotations = pb.read_annotations(data / "annotations.json")
    scores = {name: str(data / f"predictions-{name}.csv") for name in "AB"}
    swept = pb.sweep(annotations, scores, {"prirn": (1, 30), "irn": None}, k=(1, 2), draws=20, progress=False)
    written = pd.read_csv(out / "sweep.csv").fillna({"class": ""})
    pd.testing.assert_frame_equal(written, swept.metrics, check_dtype=False)
    found = pd.read_csv(out / "rankings.csv").drop(columns="metric")
    pd.testing.assert_frame_equal(found, swept.rankings("top2_kendall_tau"), check_dtype=False)
    xr.testing.assert_equal(xr.load_dataset(out / "sweep.nc", engine="h5netcdf"), swept.dataset)
    assert "The ranking by top-2 Kendall's tau" in result.stdout
    assert (out / "rankings.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_simulate_writes_what_the_simulators_give_and_says_how_to_go_on(data, tmp_path):
    simulated = pb.datasets.simulate_differentials(12, 6, 1.0, 0)
    assert pb.read_annotations(data / "annotations.json") == simulated.annotations
    np.testing.assert_array_equal(np.load(data / "truth.npy"), simulated.plausibilities)
    expected = pb.datasets.simulate_classifiers(simulated.plausibilities, [0.9, 0.5], 0)
    for name, scores in expected.items():
        read = pb.read_predictions(data / f"predictions-{name}.csv", simulated.annotations)
        np.testing.assert_array_equal(read.astype(np.float32), scores)
    assert pb.read_classes(data / "classes.txt").tolist() == simulated.annotations.classes.tolist()
    risks = pb.read_risks(data / "risks.txt", simulated.annotations.classes)
    assert risks.tolist() == pb.datasets.simulate_risks(6, 0).tolist()
    result = plausibly("simulate", "--cases", 12, "--classes", 6, "--qualities", "0.9,0.5", "--out", tmp_path)
    for path in data.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name
    assert result.stdout.splitlines()[-1] == (
        f"plausibly evaluate {tmp_path}/annotations.json --classes {tmp_path}/classes.txt --risks {tmp_path}/risks.txt "
        f"--predictions A={tmp_path}/predictions-A.csv --predictions B={tmp_path}/predictions-B.csv"
    )


@pytest.mark.slow
def test_the_command_that_demo_prints_repeats_it(tmp_path, monkeypatch):
    for name, value in {"CASES": 8, "CLASSES": 6, "QUALITIES": [0.9, 0.6]}.items():
        monkeypatch.setattr(_demo, name, value)
    monkeypatch.setattr(_demo, "MODELS", ("prirn@10,30", "majority-vote"))
    monkeypatch.chdir(tmp_path)
    succeed("demo", "--out", "a folder")
    command = (tmp_path / "a folder" / "evaluate.sh").read_text().removeprefix("plausibly ")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "a folder").glob("[!.]*")}
    for name in (evaluating.METRICS, evaluating.CERTAINTY, evaluating.REPORT):
        (tmp_path / "a folder" / name).unlink()
    assert plausibly(*shlex.split(command)).exit_code == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "a folder").glob("[!.]*")} == kept


@pytest.mark.parametrize("command", [*COMMANDS, *sorted({*HIDDEN} - {"model"})])
def test_help_shows_a_worked_example_and_at_most_30_options(command):
    shown = succeed(command, "--help").stdout
    within = next((f"models {one}" for one, other in WITHIN["models"].items() if other == command), command)
    assert re.search(rf"^ *Example:\s*\n +plausibly {within} ", shown, flags=re.MULTILINE)
    options, most = re.compile(r"^│[* ]+(--[\w-]+)", re.MULTILINE), 30
    listed = options.findall(shown)
    assert len(listed) <= most
    params = [one for one in getattr(load_command(command), "params", ()) if one.opts[0].startswith("--")]
    everything = {"--help", *(one.opts[0] for one in params)}
    if "--help-all" in everything:
        assert f"Show {len(everything) - len(listed)} more options" in " ".join(shown.split())
        listed = options.findall(succeed(command, "--help-all").stdout)
    assert set(listed) == everything
    assert all(one.help for one in params)


def test_at_most_15_commands_are_listed_and_old_names_still_work(tmp_path):
    listed = plausibly("--help").stdout
    places = [listed.index(f"│ {name} ") for name in COMMANDS]  # not in the example above the list
    assert places == sorted(places)
    assert len(COMMANDS) <= 15
    assert not [name for name in HIDDEN if f"│ {name} " in listed]
    for words in (["models", "new"], ["model", "new"]):
        assert succeed(*words, "irn", tmp_path / f"mine-{words[0]}.py").stdout.startswith("Wrote a copy of irn")
    for new, old in WITHIN["models"].items():
        if old in HIDDEN:
            assert f" models {new} [OPTIONS]" in succeed("models", new, "--help").stdout
            assert f" {old} [OPTIONS]" in succeed(old, "--help").stdout


def test_a_process_has_a_status(tmp_path):
    assert plausibly("--version").stdout == f"plausibly {pb.__version__}\n"
    # Exit status and streams as a shell sees them.
    (tmp_path / "broken.json").write_text("[[[[0]")
    program = "from plausibly.cli import main; main()"
    words = [sys.executable, "-c", program, "audit", "broken.json"]
    bad = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("Error: broken.json: ")
    assert len(bad.stderr.splitlines()) == 1


def test_parts_of_a_table_keep_their_columns(tmp_path):
    """Values of a model without one of the columns of the first stood one column to the left."""
    parts = TablesInParts(tmp_path)
    for row in ({"a": 0.1, "b": "x", "c": 2}, {"a": 1 / 3, "c": 3}, {"a": 0.5, "d": "=1+1", "c": 4}):
        parts.write("t.csv", pd.DataFrame([row]))
    assert (tmp_path / "t.csv").read_text() == f"a,b,c,d\n0.1,x,2,\n{1 / 3},,3,\n0.5,,4,'=1+1\n"
    assert parts.names == ["t.csv"]

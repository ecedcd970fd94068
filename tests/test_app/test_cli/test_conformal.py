"""The command ``conformal``."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from tests.test_app.test_cli.run import refuse, succeed
from tests.test_app.test_report.page import leave_out_figures

N, CLASSES = 40, ("a", "b", "c")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of annotations, predictions, risks, groups and new cases."""
    folder = tmp_path_factory.mktemp("conformal")
    random = np.random.default_rng(0)
    truth = random.dirichlet(np.full(3, 0.4), N)
    labels = [[CLASSES[k] for k in random.choice(3, 3, p=p)] for p in truth]
    cases = [f"p{i}" for i in range(N)]
    rankings = {name: [[[label]] for label in own] for name, own in zip(cases, labels, strict=True)}
    annotations = pb.Annotations.from_rankings({"cases": rankings}, classes=CLASSES)
    pb.write_annotations(annotations, folder / "annotations.json")
    for name, size, prefix in (("A", N, "p"), ("B", N, "p"), ("new", 6, "n")):
        table = pd.DataFrame(np.array([random.dirichlet(9 * p + 0.2) for p in truth[:size]]), columns=list(CLASSES))
        table.insert(0, "case", [f"{prefix}{i}" for i in range(size)])
        table.to_csv(folder / f"{name}.csv", index=False)
    (folder / "risks.txt").write_text("0\n1\n2\n")
    for prefix, size in (("p", N), ("n", 6)):
        table = pd.DataFrame({"case": [f"{prefix}{i}" for i in range(size)], "group": ["x", "y"] * (size // 2)})
        table[::-1].to_csv(folder / f"groups-{prefix}.csv", index=False)
    return folder


def run(files, *words, command=succeed):
    predictions = ["--predictions", f"A={files / 'A.csv'}"]
    return command("conformal", files / "annotations.json", *predictions, *words)


@pytest.mark.slow
def test_conformal_writes_what_the_library_computes(files, tmp_path):
    words = ["--alpha", "0.1,0.25", "--score", "lac", "--new", f"A={files / 'new.csv'}", "--splits", 3]
    words += ["--model", "prirn@30", "--draws", 20, "--seed", 2]
    result = run(files, *words, "--out", tmp_path)
    annotations = pb.read_annotations(files / "annotations.json")
    posterior = pb.aggregate(annotations, "prirn", reliability=30, draws=20, seed=2, progress=False)
    thresholds = pd.read_csv(tmp_path / "thresholds.csv")
    sets = pd.read_csv(tmp_path / "sets.csv", keep_default_na=False)
    for alpha in (0.1, 0.25):
        found = pb.conformal(posterior, {"A": files / "A.csv"}, alpha=alpha, score="lac", seed=2)
        own = thresholds[thresholds["alpha"] == alpha]
        np.testing.assert_allclose(
            own[["threshold", "lower", "upper"]], found.summary()[["threshold", "lower", "upper"]]
        )
        expected = found.table({"A": files / "new.csv"})
        assert sets.loc[sets["alpha"] == alpha, "classes"].tolist() == [" | ".join(one) for one in expected["classes"]]
    measured = pb.conformal_coverage(
        posterior, {"A": files / "A.csv"}, alpha=(0.1, 0.25), score="lac", splits=3, seed=2, progress=False
    )
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "coverage.csv"), measured.table)
    assert len(pd.read_csv(tmp_path / "model-fit.csv")) == 6
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "thresholds-0.1.png",
        "thresholds-0.25.png",
        "coverage.png",
    }
    assert found.guarantee() in result.stdout
    assert run(files, *words, "--quiet").stdout.count("\n") == 1


def test_sets_of_the_next_annotator_and_under_every_model(files, tmp_path):
    words = ["--target", "annotator", "--by", files / "groups-p.csv", "--new-by", files / "groups-n.csv"]
    words += ["--new", f"A={files / 'new.csv'}", "--splits", 0, "--risks", files / "risks.txt", "--randomise"]
    result = run(files, *words, "--out", tmp_path)
    thresholds = pd.read_csv(tmp_path / "thresholds.csv")
    assert thresholds[["run", "group", "n"]].values.tolist() == [["annotations", "x", 20], ["annotations", "y", 20]]
    assert pd.read_csv(tmp_path / "sets.csv")["group"].tolist() == ["x", "y"] * 3
    assert "first choice of the next annotator" in result.stdout
    words = ["--model", "prirn@5,50", "--draws", 20, "--score", "lac", "--splits", 0, "--new", f"A={files / 'new.csv'}"]
    run(files, *words, "--out", tmp_path)
    thresholds = pd.read_csv(tmp_path / "thresholds.csv").set_index("run")["threshold"]
    new = pd.read_csv(files / "new.csv", index_col="case")
    sizes = pd.read_csv(tmp_path / "sets.csv").set_index("case")["size"]
    np.testing.assert_array_equal(sizes.loc[new.index], (new >= thresholds.min()).sum(axis=1))
    refused = run(files, "--new", f"B={files / 'new.csv'}", command=refuse)
    assert "--new B=… has no match in --predictions (A)" in " ".join(refused.output.split())
    assert "Aggregating" not in refused.output


@pytest.mark.slow
def test_the_report_has_a_section(files, tmp_path, monkeypatch):
    leave_out_figures(monkeypatch)
    words = ["evaluate", files / "annotations.json", "--predictions", f"A={files / 'A.csv'}", "--model", "irn"]
    succeed(*words, "--out", tmp_path, "--quiet")
    text = (tmp_path / "report.html").read_text()
    assert 'id="sets"' in text
    assert "contain an annotator" in text

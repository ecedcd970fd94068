"""``plausibly agreement``, ``discrepancy`` and ``reliability``: files, tables, last lines, exit statuses."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from tests.test_agreement.test_panel_and_kappa import ICCS, SHROUT
from tests.test_app.test_cli.run import plausibly, refuse, succeed


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    noise = pb.datasets.simulate_label_noise(60, 4, swap=0.3, models=(0.9, 0.7), n_classes=2)
    sure = np.random.default_rng(0).integers(1, 6, 240)
    labels = noise.labels.assign(patient=noise.labels["case"] // 3, kind=noise.labels["case"] % 2, confidence=sure)
    labels.to_csv(folder / "labels.csv", index=False)
    for name, table in noise.predictions.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    scores = noise.predictions["0.9"].assign(score=lambda t: t["label"] + np.arange(60) / 50)[["case", "score"]]
    scores.to_csv(folder / "scores.csv", index=False)
    pd.DataFrame({"case": np.arange(60), "label": noise.truth}).to_csv(folder / "truth.csv", index=False)
    return folder


def test_discrepancy_writes_what_the_library_gives(data, tmp_path):
    words = [data / "labels.csv", "--predictions", f"A={data / '0.9.csv'}", "--predictions", f"B={data / '0.7.csv'}"]
    words += ["--clusters", "patient", "--by", "kind", "--margin", 0.2, "--replicates", 200]
    words += ["--ci-prob", 0.9, "--seed", 3]
    result = succeed("discrepancy", *words, "--out", tmp_path / "out")
    names = [
        "annotators.csv",
        "cases.csv",
        "discrepancy.csv",
        "discrepancy.png",
        "groups.csv",
        "notes.txt",
        "without_annotators.csv",
    ]
    assert sorted(path.name for path in (tmp_path / "out").glob("[!.]*")) == names
    models = {"A": data / "0.9.csv", "B": data / "0.7.csv"}
    expected = pb.agreement.discrepancy_ratio(data / "labels.csv", models, clusters="patient", by="kind")
    written = pd.read_csv(tmp_path / "out" / "discrepancy.csv", index_col="model")
    frame = expected.to_frame(0.9, 200, 3, progress=False)
    pd.testing.assert_frame_equal(written[frame.columns], frame)
    assert written["mean_per_class"].tolist() == pytest.approx(expected.mean_per_class.tolist())
    assert written["non_inferior"].tolist() == expected.non_inferiority(0.2, 0.05, 200, 3)["non_inferior"].tolist()
    row = frame.loc["A"]
    assert f"{row['ratio']:.3f} ({row['lower']:.3f}–{row['upper']:.3f})" in result.stdout
    assert "below 1.2 at the 5 % level" in result.stdout
    assert not written["non_inferior"].all()
    assert "not shown" in result.stdout  # a test that finds nothing shows no inferiority
    relative = expected.annotators()["relative"]
    assert f"from {relative.min():.2f} ({relative.idxmin()}) to" in result.stdout
    first = expected.without_annotators().iloc[0]
    assert f"without {first['annotator']}, {first['model']} is at {first['ratio']:.3f}" in result.stdout
    assert len(pd.read_csv(tmp_path / "out" / "annotators.csv")) == 4
    succeed("discrepancy", *words, "--out", tmp_path / "again")
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_judge_leaves_out_other_cases_on_request_and_reads_one_question(data, tmp_path):
    more = pd.concat([pd.read_csv(data / "0.9.csv"), pd.DataFrame({"case": ["new"], "label": [1]})])
    more.to_csv(tmp_path / "more.csv", index=False)
    words = ["--predictions", f"A={tmp_path / 'more.csv'}", "--model", "none", "--replicates", 100]
    assert "leave such rows out with" in " ".join(refuse("judge", data / "labels.csv", *words).output.split())
    result = succeed("judge", data / "labels.csv", *words, "--extra", "ignore")
    assert "ignored predictions of 1 case, not annotated or left out" in result.output
    fewer = (
        more.iloc[2:]
        .rename(columns={"label": "prediction"})
        .assign(prediction=lambda table: table["prediction"].astype(str))
    )
    fewer.iloc[0, 1] = ""
    fewer.to_csv(tmp_path / "fewer.csv", index=False)
    words[1] = f"A={tmp_path / 'fewer.csv'}"
    assert "--unpredicted leave-out" in " ".join(refuse("judge", data / "labels.csv", *words).output.split())
    output = " ".join(succeed("judge", data / "labels.csv", *words, "--unpredicted", "leave-out").output.split())
    assert "Note: 3 of 60 cases have no prediction of some classifier and are left out" in output
    words[1] = f"A={tmp_path / 'more.csv'}"
    table = pd.read_csv(data / "labels.csv").astype({"case": str})
    people = table.rename(columns={"case": "traceId", "annotator": "authorUserId", "label": "value"})
    people = people[["traceId", "authorUserId", "value"]].assign(dataType="NUMERIC", source="ANNOTATION", name="tone")
    pd.concat([people, people.head(9).assign(name="length")]).to_csv(tmp_path / "scores.csv", index=False)
    asked = ["--extra", "ignore", "--control", "tone"]
    of_export = succeed("judge", tmp_path / "scores.csv", *words, *asked)
    assert of_export.stdout.splitlines()[-3:] == result.stdout.splitlines()[-3:]
    assert "no question 'mood'" in refuse("judge", tmp_path / "scores.csv", *words, "--control", "mood").output
    assert "a control is for exports" in refuse("judge", data / "labels.csv", *words, "--control", "tone").output


def test_judge_writes_what_the_library_gives(data, tmp_path):
    words = [data / "labels.csv", "--predictions", f"A={data / '0.9.csv'}", "--clusters", "patient", "--by", "kind"]
    result = succeed("judge", *words, "--model", "none", "--replicates", 100, "--out", tmp_path / "out")
    names = ["annotators.csv", "groups.csv", "judge-1.png", "judge.csv", "judge.html"]
    assert sorted(path.name for path in (tmp_path / "out").glob("[!.]*")) == names
    found = pb.agreement.judge(
        data / "labels.csv", {"A": data / "0.9.csv"}, clusters="patient", by="kind", model=None, replicates=100
    )
    written = pd.read_csv(tmp_path / "out" / "judge.csv", index_col="model")
    pd.testing.assert_frame_equal(written, found.table.astype({"constant": int}))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out" / "groups.csv"), found.by.astype({"group": int}))
    page = (tmp_path / "out" / "judge.html").read_text()
    verdict = f"{'. '.join(one for one in found.sentences('A') if not one.startswith('Answers'))}."
    assert verdict in page
    assert verdict in " ".join(result.output.split())
    assert page.count("<script") == 1


def test_predictions_may_call_their_columns_as_the_annotators_do(tmp_path):
    rows = [f"{case},{who},{'xyz'[case % 3]}" for case in range(9) for who in "abc"]
    (tmp_path / "said.csv").write_text("\n".join(["photo,annotator,finding", *rows]))
    (tmp_path / "m.csv").write_text("\n".join(["photo,finding", *(f"{case},x" for case in range(9))]))
    words = ["discrepancy", tmp_path / "said.csv", "--predictions", f"m={tmp_path / 'm.csv'}"]
    assert "m" in succeed(*words, "--case", "photo", "--label", "finding", "--replicates", 20).output
    scores = [f"{case},0.2,0.5,0.3" for case in range(9)]  # cases that are numbers tell nobody that they are names
    (tmp_path / "p.csv").write_text("\n".join(["photo,x,y,z", *scores]))
    for name in ("m.csv", "p.csv"):
        more = ["--predictions", f"m={tmp_path / name}", "--case", "photo", "--label", "finding"]
        assert "mismatched" not in succeed("audit", words[1], *more).output
    (tmp_path / "usual.csv").write_text("\n".join(["case,annotator,label", *rows]))
    assert "m.csv" in refuse("discrepancy", tmp_path / "usual.csv", *words[2:]).output  # names end with a command


def test_answers_that_look_at_no_case_meet_no_requirement(data, tmp_path):
    """Always 3 on random ratings was "non-inferior: yes", and both answers of the judgement were yes, with status 0."""
    random = np.random.default_rng(0)
    rows = [f"{case},{who},{random.integers(1, 6)}" for case in range(60) for who in "abc"]
    (tmp_path / "noise.csv").write_text("\n".join(["case,annotator,label", *rows]))
    (tmp_path / "3.csv").write_text("\n".join(["case,label", *(f"{case},3" for case in range(60))]))
    words = [tmp_path / "noise.csv", "--predictions", f"m={tmp_path / '3.csv'}", "--distance", "squared"]
    result = plausibly("discrepancy", *words, "--require", "non-inferior", "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "These annotators cannot tell whether m is as close to them as they are to each" in result.stdout
    assert "m: non-inferior is required: 'cannot tell', not met." in result.stdout
    written = pd.read_csv(tmp_path / "out" / "discrepancy.csv").iloc[0]
    assert (written["answer"], written["non_inferior"]) == ("cannot tell", False)
    assert written["constant_ratio"] <= written["ratio"] == pytest.approx(written["shuffled_ratio"])
    result = plausibly("judge", *words, "--model", "none", "--require", "2", "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "These annotators cannot tell whether m can stand in for one of them" in " ".join(result.stdout.split())
    page = (tmp_path / "out" / "judge.html").read_text()
    assert page.count(">cannot tell<") == 4  # in short, and with all evidence
    assert "best constant answer" in page
    assert "Not passed: 1 of 1 requirements not met" in page.split(">In short<")[0]
    assert "--require names questions, closeness" in refuse("judge", *words, "--require", "5").output
    words = [data / "labels.csv", "--predictions", f"A={data / '0.9.csv'}", "--model", "none", "--replicates", 100]
    asked = succeed("judge", *words, "--require", "closeness,2").stdout
    for question, allowed in (("closeness", "Δ up to 1.10"), ("replacement", "it to be up to 0.20 worse")):
        assert f"A: {question} is required: met, if the annotators are right, allowing {allowed}." in asked


@pytest.mark.parametrize("several", [False, True])
def test_the_first_screen_has_25_lines_and_a_message_names_options(data, several):
    words = [data / "labels.csv", "--predictions", f"A={data / '0.9.csv'}"]
    words += ["--predictions", f"B={data / '0.7.csv'}"] * several
    for command, further in (("judge", ("--model", "none")), ("discrepancy", ())):
        lines = plausibly(command, *words, *further, width=80).output.splitlines()
        assert sum(-(-max(len(line), 1) // 80) for line in lines) <= 25
    assert "--epsilon must lie between" in refuse("judge", *words, "--epsilon", 3).output


def test_discrepancy_of_scores_by_group_and_what_did_not_count(data, tmp_path):
    result = succeed("discrepancy", data / "labels.csv", "--scores", f"S={data / 'scores.csv'}", "--positive", "1")
    curve = pb.agreement.threshold_curve(data / "labels.csv", data / "scores.csv")
    assert f"{curve.cross_fitted().ratio:.3f} (" in result.stdout
    # Both groups have α = 1/2; the scores, cut on other cases, are as right in one as in the other.
    label = {"a": lambda c: c % 2, "b": lambda c: c % 2, "c": lambda c: c // 2 % 2}
    rows = [f"{c},{who},{label[who](c)},{'old' if c < 16 else 'young'}" for c in range(32) for who in "abc"]
    (tmp_path / "a.csv").write_text("\n".join(["case,annotator,label,age", *rows]))
    (tmp_path / "s.csv").write_text("\n".join(["case,score", *(f"{c},{c % 2 + c / 100}" for c in range(32))]))
    words = [tmp_path / "a.csv", "--scores", f"S={tmp_path / 's.csv'}", "--by", "age", "--out", tmp_path]
    result = succeed("discrepancy", *words)
    written = pd.read_csv(tmp_path / "groups.csv")
    assert written["group"].tolist() == ["old", "young"]
    assert written["ratio"].tolist() == pytest.approx([0.5, 0.5])
    assert "mean per class" in result.stdout
    (tmp_path / "a.csv").write_text("case,annotator,label\np,a,x\np,b,y\nq,a,x\nq,b,\n")
    (tmp_path / "m.csv").write_text("case,label\np,x\n")
    result = plausibly("discrepancy", tmp_path / "a.csv", "--predictions", f"A={tmp_path / 'm.csv'}", "--quiet")
    assert len(result.stdout.splitlines()) == 1
    result = plausibly("discrepancy", tmp_path / "a.csv", "--predictions", f"A={tmp_path / 'm.csv'}")
    left_out = "Left out: 1 case with fewer than two annotators ('q') and 1 row without a label."
    assert left_out in " ".join(result.stdout.split())


def test_reliability_writes_what_the_library_gives(data, tmp_path):
    words = [data / "labels.csv", "--scale", "1,5", "--competence", "leave-one-out", "--measured", 0.98]
    result = succeed("reliability", *words, "--majority", 3, "--out", tmp_path)
    names = ["annotators.csv", "cases.csv", "nomogram.png", "reliability.csv", "reliability.png"]
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == names
    expected = pb.agreement.weighted_reliability(data / "labels.csv", None, "leave-one-out", scale=(1, 5))
    written = pd.read_csv(tmp_path / "reliability.csv").iloc[0]
    assert written["reliability"] == pytest.approx(expected.reliability)
    assert written["concordance"] == pytest.approx(expected.concordance)
    truth = pb.agreement.ground_truth_accuracy(expected.reliability, 3)
    assert written["actual_accuracy"] == pytest.approx(0.98 * truth)
    assert f"{expected.reliability:.3f}" in result.stdout
    assert "60 cases used." in result.stdout


def test_reliability_sets_others_beside_and_says_how_far_it_is_off(tmp_path):
    """Krippendorff (2011), section B: two observers, ten binary units, alpha 0.095; the kappas by their definitions.

    6 of 10 units agree. Observers say 1 in 4 and in 2 units: Cohen's chance is 0.4·0.2 + 0.6·0.8 = 0.56; Fleiss's, of 6
    ones among 20 labels, 0.09 + 0.49 = 0.58.
    """
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    rows = [f"{case},{who},{label}" for who, said in (("a", first), ("b", second)) for case, label in enumerate(said)]
    (tmp_path / "labels.csv").write_text("\n".join(["case,annotator,label", *rows]))
    result = plausibly("reliability", tmp_path / "labels.csv", "--competence", 0.9, "--out", tmp_path / "out")
    written = pd.read_csv(tmp_path / "out" / "reliability.csv").iloc[0]
    assert written["krippendorff_alpha"] == pytest.approx(1 - 0.4 / (2 * 6 * 14 / (20 * 19)))
    assert written["cohen_kappa"] == pytest.approx((0.6 - 0.56) / 0.44)
    assert written["fleiss_kappa"] == pytest.approx((0.6 - 0.58) / 0.42)
    assert re.search(r"Krippendorff's alpha +0\.095", result.stdout)
    noise = pb.datasets.simulate_label_noise(80, 4, swap=0.2, n_classes=3)
    noise.labels.to_csv(tmp_path / "labels.csv", index=False)
    words = ["reliability", tmp_path / "labels.csv", "--replicates", 50, "--competence"]
    found = pb.agreement.weighted_reliability(tmp_path / "labels.csv", competence="one-coin", progress=False)
    said = plausibly(*words, "one-coin").output
    assert f"gives {found.published:.3f}." in said
    assert "too small" not in said
    assert (
        f"--competence one-coin corrects this and gives {found.reliability:.3f}."
        in plausibly(*words, "leave-one-out").output
    )
    published = plausibly(*words, "one-coin", "--wrong-labels", "published").output
    assert "agree, but there are 3 labels. --wrong-labels spread corrects this." in " ".join(published.split())
    assert f"{found.published:.3f}" in published
    assert plausibly(*words[:-1]).output == plausibly(*words, "one-coin").output


@pytest.mark.parametrize("rows", ["p,a,1\np,b,0", "p,a,1\np,b,1\nq,a,1\nq,b,1"])
def test_reliability_leaves_out_an_alpha_that_is_undefined(tmp_path, rows):
    (tmp_path / "labels.csv").write_text(f"case,annotator,label\n{rows}\n")
    result = succeed("reliability", tmp_path / "labels.csv", "--competence", 0.9)
    assert "Cohen's kappa" in result.stdout
    assert "alpha" not in result.stdout
    assert "nan" not in result.stdout


@pytest.mark.slow
def test_reliability_by_a_rasch_model(data, tmp_path):
    words = [data / "labels.csv", "--scale", "1,5", "--truth", data / "truth.csv", "--out", tmp_path, "--strict"]
    result = plausibly("reliability", *words, "--draws", 50, "--warmup", 100, "--chains", 2)
    last = result.stdout
    posterior = pb.load(tmp_path / "posterior-rasch.nc")
    assert posterior["posterior"]["ability"].sizes == {"chain": 2, "draw": 50, "annotator": 4}
    failed = (~pb.diagnose(posterior)["converged"].values).sum()
    assert result.exit_code == (failed > 0), last
    assert "in all 67 quantities (rasch); 60" in last if not failed else f" in {failed} of 67 quantities: '" in last
    assert (tmp_path / "abilities.png").stat().st_size > 4000


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    table = pb.datasets.simulate_labels("boxes", noise=0.2, n_cases=12, n_annotators=3)
    path = tmp_path_factory.mktemp("data") / "boxes.csv"
    table.assign(label=table["label"].map(json.dumps)).to_csv(path, index=False)
    return path


def test_agreement_writes_what_the_library_gives(boxes, tmp_path):
    result = succeed("agreement", boxes, "--distance", "boxes", "--replicates", 20, "--out", tmp_path / "made")
    files = {
        "agreement.csv",
        "cases.csv",
        "annotators.csv",
        "histograms.png",
        "heatmap.png",
        "annotators.png",
        "notes.txt",
    }
    assert {one.name for one in (tmp_path / "made").glob("[!.]*")} == files
    table = pd.read_csv(tmp_path / "made" / "agreement.csv").set_index("distance")
    found = pb.agreement.agreement(pb.agreement.read_labels(boxes), "box_giou")
    row = table.loc["box_giou"]
    assert (row["alpha"], row["ks_superiority"], row["sigma"]) == (found.alpha, found.ks.superiority, found.sigma)
    assert row["alpha_lower"] == found.interval(replicates=20, progress=False).loc["alpha", "lower"]
    cases = pd.read_csv(tmp_path / "made" / "cases.csv")
    assert len(cases) == 4 * 12
    assert list(cases.columns) == ["distance_name", "case", "labels", "pairs", "distance", "alpha"]
    who = pd.read_csv(tmp_path / "made" / "annotators.csv")
    assert (
        who["annotator"].tolist()
        == pb.agreement.agreement(pb.agreement.read_labels(boxes), table.index[0]).annotators()["annotator"].tolist()
    )
    assert "Nothing is odd about 3 annotators" in result.output
    assert result.output.count("box_iou") >= 1
    assert f"By {table.index[0]}: alpha (pairs weighted equally) " in result.output
    words = ["--distance", "iou", "--distance", "box_iou", "--distance", "box-iou", "--replicates", 0]
    result = succeed("agreement", boxes, *words)
    assert result.output.count("\nbox_iou ") == 1


def test_one_file_per_annotator(tmp_path):
    for name, line in (("ann", "the dog\na cat\n"), ("bob", "the dog\nthe cat\n")):
        (tmp_path / f"{name}.txt").write_text(line)
    words = [f"ann={tmp_path / 'ann.txt'}", "--labels", f"bob={tmp_path / 'bob.txt'}", "--kind", "text"]
    words += ["--distance", "levenshtein", "--replicates", 0]
    result = succeed("agreement", *words, "--quiet")
    start = "By levenshtein: alpha (pairs weighted equally) 0.667, where 0 is chance and 1 perfect agreement. "
    assert result.output.startswith(start)
    assert len(result.output.splitlines()) == 1
    result = plausibly("agreement", *words, "--weighting", "units")
    assert "By levenshtein: Krippendorff's alpha " in result.output
    assert "equally" not in result.output


def test_coefficients_stand_beside_alpha(tmp_path):
    rows = [(target, judge, value) for target, row in enumerate(SHROUT) for judge, value in enumerate(row)]
    pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(tmp_path / "a.csv", index=False)
    made = tmp_path / "made"
    result = succeed("agreement", tmp_path / "a.csv", "--distance", "absolute", "--replicates", 20, "--out", made)
    written = pd.read_csv(made / "coefficients.csv").set_index("coefficient")
    assert written.loc["ICC2", "value"] == pytest.approx(ICCS["ICC2"][0], abs=1e-6)
    assert written.loc["Gwet's AC2", "meaning"] == "linear weights"
    assert "ICC2k" in result.output


def test_awkward_labels_make_sentences_and_no_warnings(tmp_path, recwarn):
    """Constants, perfect agreement, three cases: what is not defined is said, and nothing is divided by zero."""
    rng = np.random.default_rng(0)
    told = {"constant": np.zeros((9, 3), int), "perfect": np.arange(9)[:, None] % 2 + np.zeros((1, 3), int)}
    told["three"] = rng.integers(0, 2, (3, 3))
    for name, labels in told.items():
        rows = [(f"c{i}", f"r{j}", "ab"[label]) for (i, j), label in np.ndenumerate(labels)]
        pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(tmp_path / "a.csv", index=False)
        pd.DataFrame(rows[::3], columns=["case", "annotator", "label"]).to_csv(tmp_path / "p.csv", index=False)
        model = ("--predictions", f"A={tmp_path / 'p.csv'}")
        outputs = [
            succeed("agreement", tmp_path / "a.csv", "--replicates", 20).output,
            succeed("reliability", tmp_path / "a.csv").output,
            succeed("discrepancy", tmp_path / "a.csv", *model).output,
            succeed("judge", tmp_path / "a.csv", *model, "--model", "none").output,
        ]
        assert ("alpha (pairs weighted equally) not defined" in outputs[0]) == (name == "constant")
        assert not [one for one in outputs if "Warning" in one]
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]


def test_readings_of_one_annotator_are_compared_beside_those_of_several(tmp_path):
    rows = "p,ann,x\np,ann,x\np,bob,y\nq,ann,y\nq,ann,x\nq,bob,y\nr,ann,z\nr,bob,z\n"
    (tmp_path / "a.csv").write_text(f"case,annotator,label\n{rows}")
    assert "a second answer, 'x' after 'y'" in refuse("agreement", tmp_path / "a.csv").output
    told = succeed("agreement", tmp_path / "a.csv", "--repeats", "readings", "--replicates", 0).output
    # Of 21 pairs of labels of different cases, 17 differ; of two pairs within annotators, one.
    assert f"Within annotators: alpha {1 - 0.5 / (17 / 21):.4f}, of 2 pairs of readings" in told
    once = succeed("agreement", tmp_path / "a.csv", "--repeats", "last", "--replicates", 0).output
    assert "6 labels, of 3 classes (x, y, z), by 2 annotators of 3 cases" in once

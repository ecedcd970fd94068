"""The audit: each check finds what was put in, and nothing where nothing was."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning
from plausibly.data.audit import COLUMNS, SERIOUS, serious, tell_doubts
from tests.test_app.test_cli.run import plausibly, refuse, succeed

CLASSES = ["corn", "melanoma", "nevus", "wart"]
RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.integers(4, size=40)


def opinion(case: int) -> str:
    """Say the truth three times of four."""
    return CLASSES[TRUTH[case] if RANDOM.random() < 0.75 else RANDOM.integers(4)]


@pytest.fixture
def cases():
    """Forty cases of four honest annotators, with nothing odd about them but that some come out alike."""
    return {f"p{i}": {who: [[opinion(i)], ["nevus or so"]] for who in ("ann", "bob", "cyd", "dan")} for i in range(40)}


def look(cases, predictions=None, classes=(*CLASSES, "nevus or so")):
    found = pb.audit(pb.Annotations.from_rankings({"cases": cases}, classes=classes), predictions)
    assert tuple(found.columns) == COLUMNS
    assert (found["count"] <= found["of"]).all()
    assert found["meaning"].str.endswith(".").all()
    assert ((found["count"] > 0) == (found["examples"] != "")).all(), found
    return found.set_index("check")


def found(table) -> set[str]:
    """The checks that found something."""
    return set(table.index[table["count"] > 0])


def test_every_check_is_a_row_and_finds_nothing_where_nothing_is_odd(cases):
    table = look(cases)
    assert found(table) == set()
    assert len(table) == 23
    table = look(cases, {"A": np.eye(5)[TRUTH]})
    assert set(SERIOUS) - {"repeated rows"} <= set(table.index)  # of tables
    assert len(set(table.index)) == len(table) == 31
    cases["p4"] = {"ann": [["wart"]]}
    assert look(cases).loc["one-annotator cases"].tolist()[:3] == [1, 40, "'p4'"]


def test_names_that_look_alike(cases):
    cases["P7 "[:2]] = cases["p7"]
    for said in cases.values():
        said["Dan"] = [[opinion(0)]]
    table = look(cases, classes=("nevus or so", "Nevus-or  so", *CLASSES, "A+", "A-", "1.5", "15", "C", "C#"))
    assert table.loc["similar case names"].tolist()[:3] == [1, 41, "'p7 = P7'"]
    assert table.loc["similar class names"].tolist()[:3] == [1, 12, "'nevus or so = Nevus-or  so'"]
    assert table.loc["similar annotator names"].tolist()[:3] == [1, 5, "'dan = Dan'"]


@pytest.mark.parametrize("odd", ["85%", "9", "unsure", None])
def test_rare_classes_that_are_no_grades(odd, tmp_path):
    grades = [str(1 + (7 * i + 3 * j) % 5) for i in range(150) for j in range(2)]
    grades[4] = odd or grades[4]
    table = pd.DataFrame({"case": np.repeat(np.arange(150), 2), "annotator": ["ann", "bob"] * 150, "label": grades})
    annotations = pb.Annotations.from_table(table.rename(columns={"label": "class"}), sorted({*grades}))
    row = pb.audit(annotations).set_index("check").loc["odd classes among numbers"]
    assert row.tolist()[:3] == ([1, 6, f"'{odd} (1 of 300)'"] if odd else [0, 5, ""])
    table.to_csv(tmp_path / "a.csv", index=False)
    if odd in ("85%", "unsure"):
        assert f"labels are numbers but for {odd} (1 of 300)" in refuse("agreement", tmp_path / "a.csv").output
        assert "nominal" in succeed("agreement", tmp_path / "a.csv", "--distance", "nominal").output
    else:
        assert "Distance: ordinal" in succeed("agreement", tmp_path / "a.csv").output


def test_a_second_opinion_under_a_numbered_name(cases):
    cases["p3"]["ann (2)"] = cases["p3"]["ann"]
    cases["p5"]["bob_2"] = [["wart"]]
    cases["p6"].pop("cyd")
    cases["p6"]["cyd 2"] = [["wart"]]  # who did not annotate p6 before
    cases["p7"]["reader 1"], cases["p7"]["reader 2"] = [["wart"]], [["corn"]]  # two persons
    row = look(cases).loc["repeated annotations"]
    assert row["count"] == 2
    assert row["examples"] == "'p3 / ann (2)', 'p5 / bob_2'"
    assert "1 of them give the same answer" in row["meaning"]


def test_identical_cases_are_named_and_agreement_alone_makes_no_identical_annotators():
    rng = np.random.default_rng(0)
    drawn = [[[name] for name in rng.permutation(CLASSES).tolist()] for _ in range(90)]
    cases = {f"p{i}": dict(zip(("ann", "bob", "cyd"), drawn[3 * i : 3 * i + 3], strict=True)) for i in range(30)}
    cases["copy"] = dict(reversed(cases["p7"].items()))
    cases["swapped"] = dict(zip(("bob", "ann", "cyd"), cases["p3"].values(), strict=True))
    row = look(cases).loc["identical cases"]
    assert (row["count"], row["examples"]) == (1, "'p7 = copy'")
    anonymous = {case: list(blocks.values()) for case, blocks in cases.items()}
    assert look(anonymous).loc["identical cases", "examples"] == "'p7 = copy', 'p3 = swapped'"
    cases = {f"p{i}": {"ann": [["wart"]], "bob": [["wart"]], "cyd": [["wart" if i else "corn"]]} for i in range(30)}
    assert look(cases).loc["constant annotators", "count"] == 0
    # Where pairs agree on nine cases of ten, agreeing on six proves nothing.
    cases = {}
    for i in range(60):
        truth = CLASSES[i % 4]
        ann, bob = f"ann{i // 6}", f"bob{i // 6}"
        cases[f"p{i}"] = {ann: [[truth]], bob: [[truth if i % 10 else "nevus or so"]]}
    assert look(cases).loc["identical annotators", "count"] == 0
    cases = {f"p{i}": {who: [[CLASSES[i % 4]]] for who in ("ann", "bob", "cyd")} for i in range(60)}
    assert look(cases).loc["identical annotators", "count"] == 3
    # Good annotators of two classes agree on a dozen cases, and so do their cases with each other.
    cases = {f"p{i}": {who: [[CLASSES[i * i % 2]]] for who in ("ann", "bob", "cyd")} for i in range(12)}
    assert look(cases).loc["identical annotators", "count"] == 0
    said = np.random.default_rng(0).random((123, 3)) < 0.3
    cases = {f"p{i}": {"abc"[j]: [["corn" if row[j] else "wart"]] for j in range(3)} for i, row in enumerate(said)}
    assert look(cases).loc["identical cases", ["count", "examples"]].tolist() == [0, ""]
    copies = cases | {f"q{i}": said for i, said in enumerate(cases.values())}
    row = look(copies).loc["cases pasted twice"]
    assert "The 123 cases q0 to q122 repeat the cases p0 to p122" in row["examples"]
    for i, said in enumerate(cases.values()):  # sorted by class, as tables often are
        said |= {who: [["corn" if i < 60 else "wart"]] for who in "abc"}
    assert look(cases).loc["cases pasted twice", "count"] == 0


def test_a_weak_classifier_is_not_called_unrelated():
    rng = np.random.default_rng(3)
    sick = rng.random(300) < 0.2
    cases = {f"p{i}": {"ann": [["corn" if yes else "wart"]]} for i, yes in enumerate(sick)}
    score = 1 / (1 + np.exp(-0.5 * sick - rng.normal(size=300) + 1.5))  # above one half hardly ever
    both = {"weak": np.column_stack([score, 1 - score])}
    both["shuffled"] = both["weak"][rng.permutation(300)]
    row = look(cases, both, classes=("corn", "wart")).loc["unrelated predictions"]
    assert row["examples"] == "'shuffled'"


def test_annotators_of_few_cases_of_one_answer_and_apart(cases):
    for i in range(4):
        cases[f"q{i}"] = {"eve": [["corn"], ["wart"]] if i else [["wart"]], "fay": [["wart"]]}
    for i in range(40):
        cases[f"p{i}"]["gus"] = [["corn"]]
    table = look(cases)
    assert table.loc["annotators of few cases"].tolist()[:3] == [2, 7, "'eve', 'fay'"]
    assert "gus" in table.loc["constant annotators", "examples"]
    assert table.loc["disconnected annotators"].tolist()[:3] == [2, 7, "'eve', 'fay'"]


def test_identical_annotators_whatever_the_slices_of_pairs(cases, monkeypatch):
    for said in list(cases.values())[:12]:
        said["eve"] = said["bob"]
    whole = look(cases)
    row = whole.loc["identical annotators"]
    assert (row["count"], row["of"], row["examples"]) == (1, 10, "'bob = eve'")
    monkeypatch.setattr(sys.modules["plausibly.data.audit._annotations"], "_PAIRS", 1)
    pd.testing.assert_frame_equal(look(cases), whole)


def test_ties_and_classes_without_a_name(cases):
    cases["p1"]["ann"] = [[*CLASSES, "nevus or so", "x"]]
    cases["p2"]["bob"] = [["wart"], ["corn", "melanoma", "nevus", "nevus or so"]]
    table = look(cases, classes=(*CLASSES, "nevus or so", "x"))
    assert table.loc["empty annotations"].tolist()[:3] == [1, 160, "'p1 / ann'"]
    assert table.loc["extreme ties"].tolist()[:3] == [1, 160, "'p2 / bob'"]
    assert look(cases, classes=(*CLASSES, "nevus or so", "x", "y")).loc["classes never named", "examples"] == "'y'"


def labels_of(say):
    """What each of three annotators says of forty cases, two thirds of which are clear."""
    random = np.random.default_rng(2)
    truth = random.integers(0, 3, 40)
    rows = [(f"p{at}", who, say(who, k, random)) for at, k in enumerate(truth) for who in ("ann", "bob", "cal")]
    return pd.DataFrame(rows, columns=["case", "annotator", "label"])


def noisy(_, k, random):
    return "abc"[k if random.random() < 0.8 else random.integers(3)]


DOUBTS = {
    "copies": (lambda who, k, random: "abc"[k], "All 3 annotators say the same of each case"),
    "a copy": (
        lambda who, k, random: "abc"[k] if who != "cal" else noisy(who, k, random),
        "ann and bob say the same of each case",
    ),
    "capitals": (
        lambda who, k, random: noisy(who, k, random).upper() if who == "bob" else noisy(who, k, random),
        "(and 2 further groups) differ only in capitals",
    ),
    "neither": (noisy, None),
}


@pytest.mark.parametrize("form", ["label", "class"])
@pytest.mark.parametrize("what", DOUBTS)
def test_copies_and_similar_names_are_told_of_labels_as_of_annotations(what, form):
    say, told = DOUBTS[what]
    table = labels_of(say)
    read = pb.agreement.Labels.of(table)
    if form == "class":
        read = pb.Annotations.from_table(table.rename(columns={"label": "class"}))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tell_doubts(read)
    assert len(found) == (told is not None)
    assert told is None or told in str(found[0].message)
    if form == "label":
        flags = pb.agreement.agreement(table, progress=False).annotators()["flag"]
        assert flags.str.startswith(("says the same", "copies")).sum() == {"copies": 3, "a copy": 1}.get(what, 0)


@pytest.mark.parametrize("command", ["agreement", "discrepancy", "judge", "reliability", "aggregate"])
def test_every_command_tells_them(tmp_path, command):
    table = labels_of(DOUBTS["a copy"][0])
    labels, model = tmp_path / "a.csv", tmp_path / "m.csv"
    table.to_csv(labels, index=False)
    table[table["annotator"] == "ann"][["case", "label"]].to_csv(model, index=False)
    words = {
        "agreement": ["--replicates", 0],
        "discrepancy": ["--predictions", f"m={model}", "--replicates", 20],
        "judge": ["--predictions", f"m={model}", "--model", "none", "--replicates", 20],
        "reliability": ["--replicates", 9],
        "aggregate": ["--model", "majority-vote", "--out", tmp_path / "out.nc"],
    }[command]
    said = " ".join(succeed(command, labels, *words, "--quiet").stderr.split())
    assert "ann and bob say the same of each case" in said


@pytest.mark.slow
def test_rows_that_repeat_others_count_once_in_every_command(tmp_path):
    once, labels, model = labels_of(noisy), tmp_path / "a.csv", tmp_path / "m.csv"
    once[once["annotator"] == "ann"][["case", "label"]].to_csv(model, index=False)
    pd.concat([once, once]).to_csv(labels, index=False)
    words = ["--predictions", f"m={model}", "--replicates", 20, "--quiet"]
    for command, more in {
        "agreement": ["--replicates", 0],
        "discrepancy": words,
        "judge": [*words, "--model", "one-coin", "--draws", 20, "--chains", 1, "--warmup", 20],
        "reliability": ["--replicates", 9, "--quiet"],
    }.items():
        doubled = succeed(command, labels, *more)
        once.to_csv(tmp_path / "once.csv", index=False)
        assert doubled.stdout == succeed(command, tmp_path / "once.csv", *more).stdout, command
        assert "120 of 240 rows repeat another" in " ".join(doubled.stderr.split()), command
    told = succeed("evaluate", labels, "--quick", "--out", tmp_path / "out").stderr
    assert "120 of 240 rows repeat another" in " ".join(told.split())


def test_predictions(cases):
    good = np.eye(5)[TRUTH] + RANDOM.random((40, 5)) / 2
    flat, double = good.copy(), good.copy()
    flat[3], double[7] = 0.2, double[6]
    scores = {"good": good, "flat": flat, "double": double, "short": good[:9], "shuffled": np.roll(good, 1, axis=0)}
    scores |= {"copy": good, "constant": np.tile([0.5, 0.2, 0.1, 0.1, 0.1], (40, 1))}
    table = look(cases, scores)
    assert table.loc["mismatched predictions", "count"] == 1
    assert "short: predictions: there are 9 rows for 40 cases" in table.loc["mismatched predictions", "examples"]
    assert table.loc["unrelated predictions"].tolist()[:3] == [1, 6, "'shuffled'"]
    assert table.loc["identical classifiers", "examples"] == "'good = copy'"
    assert table.loc["flat predictions"].tolist()[:3] == [1, 240, "'flat / p3'"]
    assert table.loc["identical predictions", "count"] == 1 + 39
    assert table.loc["identical predictions", "examples"].startswith("'double / p6 = p7', 'constant / p0 = p1'")
    names = {"names": np.eye(5)[TRUTH]}  # many cases have the same
    assert look(cases, names).loc["identical predictions", "count"] == 0


def test_predictions_that_are_those_of_an_annotator():
    random = np.random.default_rng(5)
    truth = random.integers(2, size=40)
    named = {who: np.where(random.random(40) < 0.8, truth, 1 - truth) for who in ("ann", "bob", "gpt")}
    rows = [(f"p{i}", who, "ab"[one[i]]) for i in range(40) for who, one in named.items()]
    table = pd.DataFrame(rows, columns=["case", "annotator", "class"])
    annotations = pb.Annotations.from_table(table)
    given = {"gpt": np.eye(2)[named["gpt"]], "truth": np.eye(2)[truth], "always": np.eye(2)[np.zeros(40, int)]}
    row = pb.audit(annotations, given).set_index("check").loc["predictions by an annotator"]
    assert row.tolist()[:3] == [1, 3, "'gpt = gpt'"]
    alike = pb.Annotations.from_table(table.assign(**{"class": "a"}), classes=["a", "b"])
    assert pb.audit(alike, given).set_index("check").loc["predictions by an annotator", "count"] == 0


def test_exchanged_columns_of_predictions():
    random = np.random.default_rng(0)
    truth = random.integers(10, size=400)
    labels = [[int(k if random.random() < 0.8 else random.integers(10)) for _ in range(3)] for k in truth]
    annotations = pb.Annotations.from_labels(labels, classes=[f"c{k}" for k in range(10)])
    chosen = np.where(random.random(400) < 0.7, truth, random.integers(10, size=400))
    scores = np.eye(10)[chosen] + random.random((400, 10)) / 3
    swapped = scores[:, [0, 1, 5, 3, 4, 2, 6, 7, 8, 9]]
    given = {
        "good": scores,
        "swapped": swapped,
        "rolled": np.roll(scores, 1, axis=1),
        "random": random.random((400, 10)),
    }
    given["one class"] = np.eye(10)[np.zeros(400, int)]
    given["blind"] = np.where(np.arange(10) == 5, 0, scores + np.where(np.arange(10) == 2, scores[:, [5]], 0))
    table = pb.audit(annotations, given).set_index("check")
    assert table.loc["unrelated predictions", "count"] <= 3
    assert table.loc["exchanged classes"].tolist()[:2] == [12, 60]
    assert "'swapped: c" in table.loc["exchanged classes", "examples"]
    for name in ("swapped", "rolled"):
        row = pb.audit(annotations, {name: given[name]}).set_index("check").loc["exchanged classes"]
        assert row["count"] == {"swapped": 2, "rolled": 10}[name]
    assert "exchanged classes" in SERIOUS


def test_repeated_rows_on_the_command_line(tmp_path):
    rows = pd.DataFrame({"case": [f"p{i % 20}" for i in range(32)], "annotator": "ann", "class": "x"})
    rows.to_csv(tmp_path / "a.csv", index=False)
    done = plausibly("audit", tmp_path / "a.csv", "--out", tmp_path / "out.csv")
    assert "serious: repeated rows" in " ".join(done.output.split())
    row = pd.read_csv(tmp_path / "out.csv").set_index("check").loc["repeated rows"]
    assert (row["count"], row["of"]) == (12, 32)
    assert "another row, 37.5 % of all. Each is counted once" in row["meaning"]


def test_predictions_in_percent(cases):
    shares = np.eye(5)[TRUTH] * 0.6 + 0.08
    few, many = shares.copy(), shares * 100
    few[[3, 5]] *= 100
    many[3] /= 100
    table = look(cases, {"all": shares, "few": few, "many": many})
    assert table.loc["predictions on another scale"].tolist()[:3] == [2, 120, "'few / p3', 'few / p5'"]


def test_anonymous_annotators_are_not_compared_nor_one_with_none():
    annotations = pb.Annotations.from_counts(np.full((6, 2), 3))
    table = pb.audit(annotations).set_index("check")
    checks = ["repeated annotations", "annotators of few cases", "constant annotators", "identical annotators"]
    assert (table.loc[[*checks, "disconnected annotators", "similar annotator names"], "of"] == 0).all()
    table = pb.audit(pb.Annotations.from_rankings([[[["x"]]]])).set_index("check")
    assert found(table) == {"one-annotator cases"}
    assert serious(table.reset_index()) == []
    table = pb.audit(pd.DataFrame({"x": [11, 0], "y": [0, 13]})).set_index("check")  # of counts
    assert table.loc["one-annotator cases", "of"] == 2


@pytest.mark.parametrize("suffix", [".csv", ".parquet", None])
def test_a_table_with_repeats_is_read_without_them(tmp_path, suffix):
    rows = [("p", "ann", "x", 2), ("p", "ann", "x", 1), ("p", "ann", "y", 1.5), ("p", "bob", "y", 1)]
    source = pd.DataFrame(rows, columns=["case", "annotator", "class", "rank"])
    if suffix is not None:
        path = tmp_path / f"a{suffix}"
        source.to_csv(path, index=False) if suffix == ".csv" else source.to_parquet(path)
        source = path
        with pytest.raises(AnnotationError, match="named twice"):
            pb.read_annotations(path)
    table = pb.audit(source).set_index("check")
    assert table.loc["repeated rows"].tolist()[:3] == [1, 4, "'p / ann / x'"]
    assert table.loc["several classes without a rank", "count"] == 0


def test_classes_without_a_rank_misspelt_or_more_than_labels():
    table = pd.DataFrame({"task": ["p", "p", "q"], "worker": ["w", "w", "w"], "label": ["x", "y", "x"]})
    found = pb.audit(table, classes=["x", "y", "z"]).set_index("check")
    assert found.loc["several classes without a rank"].tolist()[:3] == [1, 2, "'p / w'"]
    assert found.loc["classes never named", "examples"] == "'z'"
    unranked = pb.Annotations.from_table(table)
    assert pb.audit(unranked).set_index("check").loc["several classes without a rank", "count"] == 1
    ranked = pb.Annotations.from_rankings({"cases": {"p": {"w": [["x", "y"]]}, "q": {"w": [["x"], ["y"]]}}})
    assert pb.audit(ranked).set_index("check").loc["several classes without a rank", "of"] == 0
    common = ["psoriasis"] * 40 + ["type A lesion"] * 40
    rare = ["psoriassis", "psoraisis", "psoriases", "psoriasis II", "type B lesion", "acne"]
    found = pb.audit(pb.Annotations.from_labels([[*common, *rare, "eczema", "eczemas"]])).set_index("check")
    row = found.loc["misspelt class names"]
    assert (row["count"], row["of"]) == (3, 10)
    for name in rare[:3]:
        assert f"psoriasis (40 times) = {name} (1)" in row["examples"]
    labels = pb.Annotations.from_labels([["a", "b", "c"], ["a"], ["b", "b"]])
    found = pb.audit(labels).set_index("check").loc["fewer labels than classes"]
    assert found[["count", "of", "examples"]].tolist() == [2, 3, "'1', '2'"]
    rankings = pb.Annotations.from_rankings([[[["a"], ["b"]]]], classes="abc")
    assert pb.audit(rankings).set_index("check").loc["fewer labels than classes", "of"] == 0


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("case,annotator,class\np,ann,wart\np,bob,Wart\nq,ann,corn\n")
    return path


def test_the_command_prints_findings_and_is_strict_if_asked(file, tmp_path):
    result = succeed("audit", file)
    assert "similar class names" in result.output
    assert "extreme ties" not in result.output  # found nothing
    assert "serious: similar class names." in result.output
    result = refuse("audit", file, "--out", tmp_path / "audit.xlsx")
    assert "a table must be a file in .csv or .parquet" in result.output
    assert plausibly("audit", file, "--strict").exit_code == 1
    file.write_text("case,annotator,class\np,ann,wart\n")
    assert plausibly("audit", file, "--strict").exit_code == 0


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_command_writes_all_checks(file, tmp_path, suffix):
    out = tmp_path / "made" / f"audit{suffix}"
    result = succeed("audit", file, "--out", out, "--quiet")
    assert len(result.output.splitlines()) == 1
    read = (pd.read_csv if suffix == ".csv" else pd.read_parquet)(out)
    assert read["check"].tolist() == pb.audit(file)["check"].tolist()


def test_scores_are_audited(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 7, 30)
    rows = [(i, who, truth[i] if rng.random() < 0.7 else rng.integers(0, 7)) for i in range(30) for who in "abcd"]
    rows = [(f"p{i}", {"a": "ann", "b": "bob", "c": "cyd", "d": "dan"}[who], float(score)) for i, who, score in rows]
    rows += [(f"p{i}", "eve", 0.0) for i in range(30)]
    copied = [(case, "fay", score) for case, who, score in rows if who == "bob"]
    table = pd.DataFrame([*rows, *copied, ("alone", "ann", 3.0)], columns=["case", "annotator", "score"])
    table.to_csv(tmp_path / "scores.csv", index=False)
    found = pb.audit(tmp_path / "scores.csv").set_index("check")
    assert found.loc["one-annotator cases", "examples"] == "'alone'"
    assert found.loc["constant annotators", "examples"] == "'eve'"
    assert found.loc["identical annotators", "examples"] == "'bob = fay'"
    assert found.loc["frequent scores", "examples"].startswith("'0: ")
    assert "classes never named" not in found.index
    scores = pb.Annotations.from_scores(table)
    for source in (table, scores):
        pd.testing.assert_frame_equal(pb.audit(source).set_index("check"), found)
    with pytest.raises(ArgumentError, match=r"predictions are of classes, but the annotations are scores: give scores"):
        pb.audit(scores, {"A": np.ones((31, 2))})
    done = succeed("audit", tmp_path / "scores.csv", "--annotators", tmp_path / "who.csv")
    who = pd.read_csv(tmp_path / "who.csv").set_index("annotator")
    assert who.loc["fay", "flag"] == "copies bob, or is copied"
    told = (
        "2 of 6 annotators need a look: fay copies bob, or is copied, eve agrees with the others no better than chance."
    )
    assert told in " ".join(done.output.split())


def test_raters_of_another_level_are_found_by_least_squares():
    random = np.random.default_rng(0)
    rows = [(f"c{i}", f"r{r}", m + random.normal(0, 0.3) - (r == 2)) for i, m in enumerate(range(30)) for r in range(4)]
    table = pd.DataFrame(rows, columns=["case", "annotator", "score"])
    found = pb.audit(pb.Annotations.from_scores(table)).set_index("check").loc["raters of another level"]
    assert found["examples"].startswith("'r2: 0.7")
    assert "points lower'" in found["examples"]
    # Levels of cases do not count: whoever rates the best cases alone is on no level.
    alone = pb.audit(pb.Annotations.from_scores(table.drop_duplicates("case"))).set_index("check")
    assert alone.loc["raters of another level", "of"] == 0


def test_classes_that_stand_for_no_answer_are_found():
    found = pb.audit(pb.Annotations.from_labels([["N/A", "x"], ["non-diagnostic", "uncertain"], ["x", "x"]]))
    found = found.set_index("check")["count"]
    assert found[["missing labels as classes", "unclear classes"]].tolist() == [2, 1]


def test_predictions_of_cases_that_are_not_annotated_can_be_left_out(tmp_path):
    """A finding advised an option that the command did not have."""
    annotations = pb.Annotations.from_labels([["x"], ["y"]], cases=["p", "q"])
    scores = pd.DataFrame({"case": ["p", "q", "r"], "x": [1.0, 0, 0.5], "y": [0.0, 1, 0.5]})
    checks = pb.audit(annotations, {"A": scores}).set_index("check")["count"]
    assert checks["mismatched predictions"] == 1
    with pytest.warns(PlausiblyWarning, match="ignored 1 rows"):
        checks = pb.audit(annotations, {"A": scores}, extra="ignore").set_index("check")["count"]
    assert checks["mismatched predictions"] == 0


def test_a_few_second_answers_of_an_annotator_are_serious():
    """They were counted as ties, if at all, and nothing said that they are probably mistakes."""
    rows = [(f"c{i}", who, "xy"[i % 2]) for i in range(60) for who in ("ann", "bob")]
    table = pd.DataFrame([*rows, ("c0", "ann", "y")], columns=["case", "annotator", "class"])
    found = pb.audit(table)
    assert found.set_index("check").loc["second answers"].tolist()[:3] == [1, 120, "'c0 / ann'"]
    assert "second answers" in serious(found)
    often = [(case, who, "z") for case, who, _ in rows[::2]]
    found = pb.audit(pd.DataFrame([*rows, *often], columns=table.columns), choices="all")
    assert "second answers" not in serious(found)


def test_a_typo_of_a_class_is_named_first_with_its_row_by_every_command(tmp_path):
    rows = [(f"p{case}", who, ("benign", "malignant")[case % 2]) for case in range(12) for who in ("ann", "bob")]
    table = pd.DataFrame(rows, columns=["case", "annotator", "label"])
    table.loc[7, "label"] = "malignnat"
    labels, scores = tmp_path / "a.csv", tmp_path / "A.csv"
    table.to_csv(labels, index=False)
    pd.DataFrame({"case": table["case"].unique(), "benign": 0.3, "malignant": 0.7}).to_csv(scores, index=False)
    place = f"{labels}: row 8 (case 'p3', annotator 'bob'): 'malignnat' (1 of 24) looks like 'malignant' (11 of 24)"
    refused = plausibly("evaluate", labels, "--predictions", f"A={scores}", "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert "no column for 'malignnat'; if 'malignnat' is 'malignant' misspelt, correct it" in refused.stderr
    for start, told in (
        ("Note: ", refused.stderr),
        ("Note: ", succeed("audit", labels).stderr),
        ("Note: ", succeed("agreement", labels, "--replicates", 0).stderr),
        ("First: ", plausibly("doctor", labels, scores).output),
    ):
        assert " ".join(told.split()).startswith(f"{start}{place} misspelt: correct it in the file")
    assert "serious: misspelt class names." in succeed("audit", labels).output
    table.loc[[1, 3], "label"] = "malignnat"  # too often for a typo
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell_doubts(pb.Annotations.from_table(table))

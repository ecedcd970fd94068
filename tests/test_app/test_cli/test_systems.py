"""`plausibly systems`: what it prints and writes, by each option, and what it refuses."""

import json

import pandas as pd
import pytest

import plausibly as pb
from plausibly.systems import _modelled
from tests import worlds
from tests.exports import component, output, promptfoo
from tests.test_app.test_cli.run import refuse, succeed
from tests.test_data.test_annotations.test_shown import lists
from tests.test_systems.test_model import stored
from tests.test_systems.test_systems import comparisons, dated, table


@pytest.fixture
def outcomes(tmp_path):
    given = table()
    given["topic"] = "t" + (given["case"].str[1:].astype(int) // 4).astype(str)
    given.to_csv(tmp_path / "outcomes.csv", index=False)
    return tmp_path / "outcomes.csv"


def test_tables_sentences_and_a_page(outcomes, tmp_path):
    out = tmp_path / "out"
    result = succeed("systems", outcomes, "--people", "ann", "--clusters", "topic", "--out", out)
    names = ["bias.csv", "differences.csv", "judges.csv", "notes.txt", "plan.csv", "ranking.csv"]
    names += ["systems.csv", "systems.html", "systems.png"]
    assert sorted(path.name for path in out.glob("[!.]*")) == names
    expected = pb.systems(outcomes, ["ann"], clusters="topic")
    for name in ("ranking", "differences", "bias", "judges", "plan"):
        pd.testing.assert_frame_equal(pd.read_csv(out / f"{name}.csv"), getattr(expected, name), check_dtype=False)
    written = pd.read_csv(out / "systems.csv", keep_default_na=False, na_values={"weight": ""})
    pd.testing.assert_frame_equal(written, expected.table, check_dtype=False)
    assert "Pass rate that people would give, by PPI++ with gpt-4" in " ".join(result.output.split())
    assert expected.headline in result.output
    assert expected.advice[0] in result.output
    page = (out / "systems.html").read_text()
    assert expected.headline in page
    assert "gpt-4 favours some systems" in page
    assert page.count('<img alt="') == 1
    for words in ("Rogan–Gladen", "P(best)", "outcomes.csv", "a random sample of all", "in 100 clusters"):
        assert words in page


def test_the_model_ranks_and_its_checks_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(_modelled, "sample", stored("pass"))
    worlds.outcomes("pass").to_csv(tmp_path / "outcomes.csv", index=False)
    settings = ("--model", "--draws", 25, "--chains", 2, "--warmup", 25)
    result = succeed("systems", tmp_path / "outcomes.csv", "--people", "ann,bob", *settings, "--out", tmp_path)
    assert "P(best)" in result.output
    assert {"checks.csv", "convergence.csv"} <= {path.name for path in tmp_path.glob("[!.]*")}
    assert "Davidson (1970)" in (tmp_path / "systems.html").read_text()
    assert {"model", "model-these"} <= {*pd.read_csv(tmp_path / "systems.csv")["estimator"]}


def test_every_option_is_that_of_the_function(outcomes, tmp_path):
    (tmp_path / "people.txt").write_text("ann\n")
    words = ["--people-file", tmp_path / "people.txt", "--ci-prob", 0.5, "--replicates", 50, "--seed", 3, "--quiet"]
    result = succeed("systems", outcomes, *words, "--out", tmp_path / "out")
    expected = pb.systems(outcomes, ["ann"], ci_prob=0.5, replicates=50, seed=3)
    assert result.output == f"{expected.headline}\n"
    assert pd.read_csv(tmp_path / "out" / "ranking.csv")["p_best"].tolist() == expected.ranking["p_best"].tolist()
    given = pd.read_csv(outcomes)
    given["outcome"] = given["outcome"].map({0: "poor", 1: "good"})
    given.to_csv(tmp_path / "classes.csv", index=False)
    of_classes = succeed("systems", tmp_path / "classes.csv", "--people", "ann", "--positive", "good", "-q")
    assert "highest share of 'good'" in of_classes.output
    given["outcome"] = given["outcome"].str.upper()
    given.to_csv(tmp_path / "classes.csv", index=False)
    of_classes = succeed("systems", tmp_path / "classes.csv", "--people", "ann", "--positive", "GOOD")
    assert "Share of 'GOOD' that people would give" in of_classes.output


def test_pairs_are_ranked_where_rankings_refuse_them(tmp_path):
    given = comparisons()
    given.to_csv(tmp_path / "pairs.csv", index=False)
    result = succeed("systems", tmp_path / "pairs.csv", "--people", "ann")
    assert "Win rate that people would give" in result.output
    assert "gpt never ties, people do in" in result.output
    rows = [
        (case, who, name, 1 + (name != said) * (said != "tie"))
        for a, b, case, who, said in given.iloc[:, :5].itertuples(index=False)
        for name in (a, b)
    ]
    others = pd.DataFrame({"case": "z", "annotator": "ann", "class": list("DEFGH"), "rank": range(1, 6)})
    ranked = pd.concat([pd.DataFrame(rows, columns=others.columns), others])
    ranked.to_csv(tmp_path / "rankings.csv", index=False)
    told = refuse("aggregate", tmp_path / "rankings.csv", "--model", "irn", "--out", tmp_path / "x.nc").output
    assert "look like comparisons of pairs" in told
    assert "pb.systems (plausibly systems)" in " ".join(told.split())


def test_a_column_of_dates_and_files_of_one_system_each(tmp_path):
    given = dated(moves=True)
    parts = []
    for name, rows in given.rename(columns={"case": "doc"}).groupby("system"):
        rows.drop(columns="system").to_csv(tmp_path / f"{name}.csv", index=False)
        parts.append(f"{name}={tmp_path / name}.csv")
    result = succeed("systems", *parts, "--people", "ann", "--case", "doc", "--out", tmp_path / "out")
    expected = pb.systems(given, people=["ann"])
    assert "The bias of gpt-4 moves with time" in result.output
    written = pd.read_csv(tmp_path / "out" / "drift.csv", parse_dates=["start", "end"])
    pd.testing.assert_frame_equal(written, expected.drift, check_dtype=False)
    assert "Bias of judges by period" in (tmp_path / "out" / "systems.html").read_text()


def test_the_table_that_rankings_refuse_is_read(tmp_path):
    lists(13, 50, 2, compared=True).to_csv(tmp_path / "pairs.csv", index=False)
    assert "pb.systems (plausibly systems)" in " ".join(refuse("audit", tmp_path / "pairs.csv").output.split())
    (command,) = pb.doctor(tmp_path / "pairs.csv").commands
    assert command.startswith(f"plausibly systems {tmp_path / 'pairs.csv'} --people a0,a1,")
    people = ",".join(f"a{n}" for n in range(50))
    assert "class 11 has the highest win rate" in succeed("systems", tmp_path / "pairs.csv", "--people", people).output


def test_an_export_becomes_a_table_of_outcomes_that_goes_with_that_of_people(tmp_path):
    said = [(t, name, (7 * t + place) % 3 > 0) for t in range(40) for place, name in enumerate(("gpt", "llama"))]
    checks = component(True, "is-json")
    results = [output(t, component(good, "llm-rubric"), checks, provider=name) for t, name, good in said]
    (tmp_path / "export.json").write_text(json.dumps(promptfoo(*results)))
    source, form = tmp_path / "export.json", ("--as", "outcomes", "--control", "llm-rubric")
    words = "convert", source, tmp_path / "outcomes.csv", *form
    assert "Wrote 80 outcomes" in succeed(*words).output
    written = pd.read_csv(tmp_path / "outcomes.csv")
    assert written["system"].unique().tolist() == ["gpt", "llama"]
    assert written[["rater", "kind"]].drop_duplicates().values.tolist() == [["llm-rubric", "judge"]]
    people = written.iloc[:60].assign(rater="ann", kind="person")
    people.to_csv(tmp_path / "people.csv", index=False)
    read = pb.systems([tmp_path / "outcomes.csv", tmp_path / "people.csv"])
    assert read.judge == "llm-rubric"
    assert read.judges["n_shared"].item() == 60
    pd.testing.assert_frame_equal(
        read.table, pb.systems([tmp_path / "export.json", tmp_path / "people.csv"], control="llm-rubric").table
    )
    result = succeed("systems", tmp_path / "outcomes.csv", tmp_path / "people.csv")
    assert "llm-rubric agrees with people" in " ".join(result.output.split())
    assert "not written as '.json': use .csv" in refuse("convert", source, tmp_path / "x.json", *form).output


@pytest.mark.parametrize("option", ["--draws", "--chains", "--warmup"])
def test_settings_of_the_model_need_the_model(outcomes, option):
    assert f"{option} is of the model: add --model" in refuse("systems", outcomes, "--people", "ann", option, 20).stderr


def test_what_is_not_alike_is_said_first(tmp_path):
    rows = [
        (name, case, who, (case * 7 + 3) % 10 < 7) for name, who in (("A", "ann"), ("B", "bob")) for case in range(40)
    ]
    pd.DataFrame(rows, columns=["system", "case", "rater", "outcome"]).to_csv(tmp_path / "rated.csv", index=False)
    result = succeed("systems", tmp_path / "rated.csv", "--people", "ann,bob", "--out", tmp_path / "out")
    words = "'A' and 'B' were rated by different people, so what differs may be the people: which system is best cannot"
    assert result.output.startswith(f"Note: {words}")
    assert result.output.count(words) == 1
    assert "Which system is best cannot be told: these were not judged alike. " in result.output
    page = (tmp_path / "out" / "systems.html").read_text()
    assert 0 < page.index("were rated by different people") < page.index('id="details"')
    assert pd.read_csv(tmp_path / "out" / "ranking.csv")["p_best"].isna().all()

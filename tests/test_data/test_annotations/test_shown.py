"""Comparisons of pairs are not rankings of all classes; short lists of a fixed length are."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.errors import AnnotationError
from plausibly.data.annotations.shown import shown
from tests.test_app.test_cli.run import refuse, succeed

DATA = Path(__file__).parents[4] / "shared" / "data"
CLASSES = [f"class {k}" for k in range(12)]


def lists(n_cases, n_annotators, size, *, compared, n_classes=12, concentration=0.5, seed=0):
    """Long table of the first `size` of each annotator's order, of all classes or of as many that are shown."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(-2, 2, n_classes)
    rows = []
    for case in range(n_cases):
        logs = strength if compared else np.log(rng.dirichlet(np.full(n_classes, concentration)) + 1e-9)
        for annotator in range(n_annotators):
            among = rng.choice(n_classes, size if compared else n_classes, replace=False)
            order = among[np.argsort(-(logs + rng.gumbel(size=n_classes))[among])][:size]
            rows += [(f"p{case}", f"a{annotator}", CLASSES[k], rank + 1) for rank, k in enumerate(order)]
    return pd.DataFrame(rows, columns=["case", "annotator", "class", "rank"])


@pytest.mark.parametrize(("n_cases", "n_annotators", "size"), [(1, 400, 2), (13, 50, 2), (200, 3, 2), (1, 300, 3)])
def test_comparisons_are_refused_unless_all_classes_were_choices(n_cases, n_annotators, size):
    table = lists(n_cases, n_annotators, size, compared=True)
    n = n_cases * n_annotators
    what = "pairs" if size == 2 else "3 classes"
    with pytest.raises(AnnotationError, match=f"look like comparisons of {what}: {n} of {n} .* name {size} of 12"):
        pb.Annotations.from_table(table)
    read = pb.Annotations.from_table(table, choices="all")
    assert shown(read) == (n, size, 0)
    found = pb.audit(read).set_index("check")
    assert found.loc["comparisons", ["count", "of"]].tolist() == [n, n]
    assert "comparisons" in pb.audit.__globals__["SERIOUS"]
    for source in (read.to_rankings(), {"cases": read.to_rankings()["cases"]}):
        with pytest.raises(AnnotationError, match="look like comparisons"):
            pb.Annotations.from_rankings(source)
        assert pb.Annotations.from_rankings(source, choices="all") == read


def test_pairs_that_are_cases_second_choices_and_other_choices():
    """Every case is a pair, which several annotators order."""
    rng = np.random.default_rng(0)
    pairs = [rng.choice(12, 2, replace=False) for _ in range(40)]
    cases = {f"p{i}": [[[CLASSES[k]] for k in rng.permutation(pair)] for _ in range(4)] for i, pair in enumerate(pairs)}
    with pytest.raises(AnnotationError, match="look like comparisons of pairs: 160 of 160"):
        pb.Annotations.from_rankings({"cases": cases})
    few = {name: cases[name] for name in list(cases)[:5]}
    assert pb.Annotations.from_rankings({"cases": few}).n_cases == 5
    same = {name: [said[0]] * 4 for name, said in cases.items()}  # of one mind
    assert pb.Annotations.from_rankings({"cases": same}).n_cases == 40
    table = lists(40, 4, 1, compared=False)
    again = table.assign(**{"class": "rest", "rank": 2})
    assert shown(pb.Annotations.from_table(pd.concat([table, again]))) is None


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(("n_cases", "n_annotators"), [(1, 400), (20, 30), (300, 3), (600, 1)])
@pytest.mark.parametrize("concentration", [0.2, 10.0])
def test_short_lists_are_rankings(size, n_cases, n_annotators, concentration):
    table = lists(n_cases, n_annotators, size, compared=False, concentration=concentration)
    assert shown(pb.Annotations.from_table(table)) is None


def test_simulated_and_real_differential_diagnoses_are_rankings():
    for name, more in (("simulate_differentials", ()), ("simulate_annotators", ([1.0, 2.0, 3.0, 4.0],))):
        made = getattr(pb.datasets, name)(200, *more)
        assert shown(made.annotations) is None
    folder = DATA / "dermatology_ddx"
    if not folder.exists():
        pytest.skip("no dermatology data beside the checkout")
    read = pb.read_annotations(folder / "dermatology_selectors.json", folder / "dermatology_conditions.txt")
    assert shown(read) is None
    table = read.to_table().assign(place=lambda t: t.groupby(["case", "annotator"]).cumcount())
    for size in (2, 3):
        long = table[table.groupby(["case", "annotator"])["place"].transform("max") >= size - 1]
        lists = long[long["place"] < size].drop(columns="place")
        assert shown(pb.Annotations.from_table(lists, anonymous=True)) is None


@pytest.mark.parametrize("case", ["all", "prompt", "id"])
def test_public_votes_between_language_models(case, tmp_path):
    path = DATA / "llmfao" / "crowd-comparisons.csv"
    if not path.exists():
        pytest.skip("no LLMFAO data beside the checkout")
    votes = pd.read_csv(path)
    votes["annotation"] = [f"v{i}" for i in range(len(votes))]
    votes["case"] = "all" if case == "all" else votes[case].astype(str)
    left, right = (
        votes[["case", "annotation"]].assign(**{"class": votes[side], "rank": np.where(votes.winner == other, 2, 1)})
        for side, other in (("left", "right"), ("right", "left"))
    )
    pd.concat([left, right]).to_csv(tmp_path / "votes.csv", index=False)
    done = refuse("evaluate", tmp_path / "votes.csv", "--out", tmp_path / "out", "--model", "plackett-luce@1")
    said = " ".join(done.output.split())
    assert "these look like comparisons of pairs: 8,931 of 8,931 annotations name 2 of 59 classes" in said
    assert "3,471 are ties" in said


@pytest.mark.slow
def test_on_the_command_line(tmp_path, no_report):
    lists(1, 300, 2, compared=True).to_csv(tmp_path / "pairs.csv", index=False)
    for command in (["evaluate", "--out", tmp_path / "out", "--model", "prirn@3"], ["audit"]):
        name, *options = command
        refused = refuse(name, tmp_path / "pairs.csv", *options)
        assert "look like comparisons of pairs" in " ".join(refused.output.split())
        done = succeed(name, tmp_path / "pairs.csv", *options, "--choices", "all")
    assert "serious: comparisons" in " ".join(done.output.split())

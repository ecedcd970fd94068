"""The check of predictions as evidence: its accuracies, worlds and quantities, and the table of real data."""

import numpy as np
import pytest

from validation import chaosnli, evidence
from validation._worlds import FAILS, HOLDS, NOT_TRUE_CLASS, ONE_TRUE_CLASS, Data


@pytest.mark.parametrize(
    "world", [*HOLDS.values(), *FAILS.values(), *ONE_TRUE_CLASS.values(), *NOT_TRUE_CLASS.values()]
)
def test_worlds_are_data_sets(world):
    data = world(np.random.default_rng(0))
    np.testing.assert_allclose(data.plausibility.sum(1), 1)
    assert len(set(data.counts.sum(1).tolist()) - {0}) == 1  # or no label at all
    assert {scores.shape for scores in data.scores.values()} == {data.counts.shape}


def test_quantities_by_hand():
    plausibility = np.array([[[0.6, 0.4], [0.3, 0.7]]])
    found = evidence.quantities(plausibility, np.array([[0, 1], [1, 1], [1, 0]]))
    expected = {"top-1": [1, 0.5, 0], "agreement": [0.65, 0.55, 0.35]}
    expected |= {"top-1 difference": [0.5, 1, 0.5], "agreement difference": [0.1, 0.3, 0.2]}
    expected |= {"sensitivity": [1, 1, 0], "specificity": [1, 0, 0]}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name][:, 0], values)


def test_latent_classes_are_found_where_errors_are_independent():
    random = np.random.default_rng(0)
    true = random.integers(3, size=3000)

    def err(rate, n):
        wrong = random.random((3000, n)) < rate
        return (true[:, None] + wrong * random.integers(1, 3, (3000, n))) % 3

    counts = np.eye(3, dtype=int)[err(0.2, 3)].sum(1)
    data = Data(counts / 3, counts, {"A": np.eye(3)[err(0.3, 1)[:, 0]]})
    assert chaosnli.latent_classes(data, random)["top-1"][0, 0] == pytest.approx(0.7, abs=0.03)


@pytest.mark.slow
def test_the_table_of_real_data(tmp_path, monkeypatch, capsys):
    assert chaosnli.main(["--data", str(tmp_path)]) == 2
    assert "no data" in capsys.readouterr().out
    random = np.random.default_rng(0)
    votes = random.multinomial(100, random.dirichlet(np.ones(3), 20))
    (tmp_path / "chaosnli").mkdir()
    scores = {name: random.dirichlet(np.ones(3), 20) for name in "ab"}
    np.savez(tmp_path / "chaosnli/snli.npz", case=np.arange(20), votes=votes, **scores)
    monkeypatch.setattr(chaosnli, "LABELS", (2,))
    out = tmp_path / "table.md"
    assert chaosnli.main(["--data", str(tmp_path), "--out", str(out), "--repetitions", "1"]) == 0
    text = out.read_text()
    assert "20 cases, 2 classifiers, 1 draws of labels" in text
    assert text.count("predictions as evidence") == 4

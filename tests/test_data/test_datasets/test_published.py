"""The published case, against its printed description."""

import json

import numpy as np

from plausibly.data.datasets import published_case


def test_rankings_and_top_3_sets_as_printed():
    case = published_case()
    assert case.annotations.rankings("published case") == {
        "A0": [["Pyogenic granuloma"], ["Hemangioma"], ["Melanoma"]],
        "A1": [["Angiokeratoma of skin"], ["Atypical Nevus"]],
        "A2": [["Hemangioma"], ["Melanocytic Nevus", "Melanoma", "O/E - ecchymoses present"]],
        "A3": [["Hemangioma", "Melanoma", "Skin Tag"]],
        "A4": [["Melanoma"]],
        "A5": [["Hemangioma"], ["Melanoma"], ["Melanocytic Nevus"]],
    }
    classes = np.asarray(case.annotations.classes)
    assert len(set(classes)) == 419
    top = {name: set(classes[scores[0] == 1]) for name, scores in case.predictions.items()}
    assert top == {
        "Model A": {"Atypical Nevus", "Hemangioma", "Melanocytic Nevus"},
        "Model B": {"Hemangioma", "Melanocytic Nevus", "Melanoma"},
    }
    for scores in case.predictions.values():
        assert scores.shape == (1, 419)
        assert scores.dtype == np.float32
        assert scores.sum() == 3


def test_it_is_the_case_of_the_real_set(shared):
    folder = shared / "data/dermatology_ddx"
    names = (folder / "dermatology_conditions.txt").read_text().splitlines()
    real = json.loads((folder / "dermatology_selectors.json").read_text())[1026]
    rankings = published_case().annotations.rankings("published case")
    assert [[{names[k] for k in block} for block in a] for a in real] == [
        [set(block) for block in rankings[f"A{i}"]] for i in range(6)
    ]
    assert len(names) == published_case().annotations.n_classes

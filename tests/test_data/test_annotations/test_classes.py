"""Class names and their risks."""

import numpy as np
import pytest

from plausibly.data.annotations import read_classes, read_risks


@pytest.mark.parametrize("content", ["x\ny, z\n", "x\ny, z", "x\r\ny, z\r\n", "\ufeffx\ny, z\n"])
def test_classes(tmp_path, content):
    path = tmp_path / "classes.txt"
    path.write_text(content, encoding="utf-8", newline="")
    assert read_classes(path).tolist() == ["x", "y, z"]


@pytest.mark.parametrize(
    "content", ["0\n2\n1\n", "0\n2\n1", "risk,class\n1,z\n0,x\n2,\"y, 'w'\"\n", "class,risk\nx,0\n\"y, 'w'\", 2\nz,1\n"]
)
def test_risks(tmp_path, content):
    path = tmp_path / "risks.txt"
    path.write_text(content)
    risks = read_risks(path, ["x", "y, 'w'", "z"])
    assert risks.dtype == np.int8
    assert risks.tolist() == [0, 2, 1]


def test_risks_of_python():
    assert read_risks({"z": 1, "y": 2, "x": np.int64(0)}, ["x", "y", "z"]).tolist() == [0, 2, 1]
    assert read_risks(np.array([0, 2, 1]), ["x", "y", "z"]).tolist() == [0, 2, 1]


def test_real_set(shared):
    folder = shared / "data/dermatology_ddx"
    classes = read_classes(folder / "dermatology_conditions.txt")
    assert (len(classes), classes[0], classes[-1]) == (419, "Abscess", "Zosteriform reticulate hyperpigmentation")
    assert np.bincount(read_risks(folder / "dermatology_risks.txt", classes)).tolist() == [201, 150, 68]

"""The printed table of Braylan, Alonso and Lease (2022), on the data it was computed from."""

import ast

import numpy as np
import pandas as pd
import pytest

from plausibly.agreement import agreement


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "complex_annotations"


@pytest.fixture(scope="module")
def vectors(folder):
    """Six emotions and valence, by headline and worker."""
    table = None
    for path in sorted((folder / "snow_affect").glob("*.tsv")):
        one = pd.read_csv(path, sep="\t").rename(columns={"orig_id": "case", "!amt_worker_ids": "annotator"})
        one = one[["case", "annotator", "response"]].rename(columns={"response": path.stem})
        table = one if table is None else table.merge(one, on=["case", "annotator"])
    rest = table.drop(columns=["case", "annotator"])
    return table[["case", "annotator"]].assign(label=rest.to_numpy().tolist())


@pytest.fixture(scope="module")
def rankings(folder):
    table = pd.read_csv(folder / "rankings_simdata.csv").rename(columns={"uid": "annotator", "topic_item": "case"})
    return table.assign(label=[[int(one) for one in cell.strip("[]").split()] for cell in table["rankings"]])


@pytest.fixture(scope="module")
def boxes(folder):
    table = pd.read_csv(folder / "boundingbox_data.csv").rename(columns={"uid": "annotator", "item": "case"})
    return table.assign(label=[ast.literal_eval(cell) for cell in table["annotation"]])


@pytest.mark.parametrize(
    ("data", "distance", "published"),
    [
        ("vectors", "share_unequal", (0.1277, 0.5011, 0.1151)),
        ("vectors", "rmse", (0.2146, 0.5885, 0.1593)),
        ("rankings", "tau@5", (0.2005, 0.6099, 0.6158)),
        ("rankings", "tau", (0.4915, 0.9893, 1.0)),
        ("rankings", "rho", (0.5413, 0.9867, 1.0)),
    ],
)
def test_printed_values_are_within_the_noise_of_their_sample(request, data, distance, published):
    labels = request.getfixturevalue(data)
    found = [agreement(labels, distance, preset="braylan2022", seed=seed) for seed in range(25)]
    values = np.array([[one.alpha, one.ks.superiority, one.sigma] for one in found])
    # Sigma of one sample is the share of whole steps of the distance, so its spread can be zero.
    noise = np.maximum(values.std(axis=0, ddof=1), [0, 0, 5e-4])
    assert (noise < 0.01).all()
    assert (np.abs(values.mean(axis=0) - published) < 3 * noise).all(), values.mean(axis=0)


@pytest.mark.slow
def test_boxes_stay_what_they_are(boxes):
    """Ours, for comparison: all 1,476,854 pairs of different cases, under the preset's conventions."""
    ours = {
        "box_count": (0.4324, 0.6156, 0.3736),
        "box_l2": (0.6877, 0.9137, 0.7657),
        "box_iou": (0.5053, 0.9554, 0.8495),
        "box_giou": (0.5064, 0.9612, 0.8711),
    }
    for distance, values in ours.items():
        found = agreement(boxes, distance, preset="braylan2022", cross="all")
        assert (len(found.observed), len(found.expected)) == (6649, 1476854)
        assert (found.alpha, found.ks.superiority, found.sigma) == pytest.approx(values, abs=1e-4)

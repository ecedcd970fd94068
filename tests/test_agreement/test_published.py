"""The data of Braylan, Alonso and Lease (2022); ``python -m validation.published`` compares their printed table."""

import pytest

from plausibly.agreement import agreement
from validation import published


@pytest.mark.slow
def test_boxes_stay_what_they_are(shared):
    """Ours, for comparison: all 1,476,854 pairs of different cases, under the preset's conventions."""
    labels = published.boxes(shared / "data" / "complex_annotations")
    ours = {
        "box_count": (0.4324, 0.6156, 0.3736),
        "box_l2": (0.6877, 0.9137, 0.7657),
        "box_iou": (0.5053, 0.9554, 0.8495),
        "box_giou": (0.5064, 0.9612, 0.8711),
    }
    for distance, values in ours.items():
        found = agreement(labels, distance, preset="braylan2022", cross="all")
        assert (len(found.observed), len(found.expected)) == (6649, 1476854)
        assert (found.alpha, found.ks.superiority, found.sigma) == pytest.approx(values, abs=1e-4)

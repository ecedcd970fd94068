"""The container: groups, accessors, files, dense arrays, and that ArviZ of either generation works on it."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from plausibly.base.arviz import HAS_INFERENCE_DATA, arviz, to_groups
from plausibly.base.errors import FileError
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior import (
    annotations_of,
    build_posterior,
    case_draws,
    dense,
    load,
    save,
    slots_of,
    stacked_draws,
    top_classes,
)

ANNOTATIONS = Annotations.from_rankings(
    {
        "classes": ["acne", "eczéma", "naevus", "rosacea", "tinea"],
        "cases": {
            "p1": {"ann": [["tinea"], ["acne"]], "bob": [["naevus", "tinea"]]},
            "p2": {"bob": [["rosacea"]]},
            "p3": {"ann": [["acne"], ["eczéma"], ["naevus"], ["rosacea"], ["tinea"]]},
        },
    }
)
SLOTS = Slots.of(ANNOTATIONS)


def make(n_chains=2, n_draws=50, slots=SLOTS, **options):
    rng = np.random.default_rng(0)
    gamma = rng.gamma(1.0, size=(n_chains, n_draws, len(slots))).astype(np.float32)
    plausibility = gamma / np.add.reduceat(gamma, slots.start[:-1], axis=-1)[..., slots.case]
    return build_posterior(
        plausibility, ANNOTATIONS, slots, **{"point": plausibility[0, 0], "concentration": 0.5} | options
    )


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(1)
    return make(
        sample_stats={"diverging": np.zeros((2, 50, 3), bool), "energy": rng.normal(size=(2, 50, 3))},
        log_likelihood=rng.normal(size=(2, 50, 4)),
        attrs={"model": "plackett-luce", "reliability": 3.0, "seed": 0, "arguments": {"ties": "split", "b": None}},
    )


def test_a_posterior_holds_labelled_slots_groups_attributes_and_annotations(posterior):
    plausibility = posterior["posterior"]["plausibility"]
    assert plausibility.dims == ("chain", "draw", "slot")
    assert plausibility["slot"].values.tolist() == list(range(11))
    assert plausibility.dtype == np.float32
    labels = list(zip(plausibility["case"].values, plausibility["class_name"].values, strict=True))
    assert labels[:5] == [("p1", "acne"), ("p1", "naevus"), ("p1", "tinea"), ("p1", "(remainder)"), ("p2", "rosacea")]
    assert plausibility["class_index"].values.tolist() == [0, 2, 4, -1, 3, -1, 0, 1, 2, 3, 4]
    assert plausibility["n_classes"].values.tolist() == [1, 1, 1, 2, 1, 4, 1, 1, 1, 1, 1]
    assert set(to_groups(posterior)) == {
        "posterior",
        "sample_stats",
        "log_likelihood",
        "observed_data",
        "constant_data",
    }
    assert posterior.attrs["reliability"] == 3.0
    assert posterior.attrs["n_classes"] == 5
    assert json.loads(posterior.attrs["arguments"]) == {"ties": "split", "b": None}
    assert posterior["log_likelihood"]["ranking"]["annotator"].values.tolist() == ["ann", "bob", "bob", "ann"]
    assert posterior["sample_stats"]["energy"].sel(case="p2").shape == (2, 50)
    assert type(posterior).__name__ == ("InferenceData" if HAS_INFERENCE_DATA else "DataTree")
    assert annotations_of(posterior) == ANNOTATIONS
    for name in ("case", "class_index", "n_classes", "start"):
        np.testing.assert_array_equal(getattr(slots_of(posterior), name), getattr(SLOTS, name))


def test_arviz_works_on_it(posterior):
    table = arviz().summary(posterior, var_names=["plausibility"])
    assert len(table) == len(SLOTS)
    for diagnostic in (arviz().rhat, arviz().ess):
        values = diagnostic(posterior, var_names=["plausibility"])
        values = values["plausibility"] if "plausibility" in values else values["posterior"]["plausibility"]
        assert values.dims == ("slot",)
        assert np.isfinite(values).all()


def test_draws_of_a_case_have_the_names_of_its_classes_also_in_arviz(posterior):
    draws = case_draws(posterior, "p1")
    assert draws.attrs["case"] == "p1"
    assert set(draws["class_name"].values) == {"acne", "naevus", "tinea", "(remainder)"}
    assert (np.diff(draws["plausibility"].mean(("chain", "draw"))) <= 0).all()
    whole = posterior["posterior"]["plausibility"]
    for name, slot in (("tinea", 2), ("(remainder)", 3)):
        np.testing.assert_array_equal(draws["plausibility"].sel(class_name=name), whole.sel(slot=slot))
    assert case_draws(posterior, "p3")["class_name"].size == 5
    rows = [f"plausibility[{name}]" for name in draws["class_name"].values]
    assert arviz().summary(draws).index.tolist() == rows
    values = arviz().rhat(draws)
    assert (values["plausibility"] if "plausibility" in values else values["posterior"]["plausibility"]).shape == (4,)
    by_case = {"mean": np.arange(300.0).reshape(2, 50, 3), "variance": np.ones((2, 50, 3))}
    draws = case_draws(make(by_case=by_case), "p2")
    np.testing.assert_array_equal(draws["mean"], by_case["mean"][..., 1])
    assert set(draws.data_vars) == {"plausibility", "mean", "variance"}


@pytest.mark.slow
def test_files_are_equal_to_the_byte_and_hold_everything(posterior, tmp_path):
    save(posterior, tmp_path / "a.nc")
    loaded = load(tmp_path / "a.nc")
    assert type(loaded) is type(posterior)
    assert dict(loaded.attrs) == dict(posterior.attrs)
    before, after = to_groups(posterior), to_groups(loaded)
    assert before.keys() == after.keys()
    for name in before:
        xr.testing.assert_identical(before[name], after[name])
    assert annotations_of(loaded) == ANNOTATIONS
    np.testing.assert_array_equal(top_classes(loaded, 4), top_classes(posterior, 4))
    save(posterior, tmp_path / "a.nc")
    time.sleep(1.1)  # HDF5 keeps times in seconds.
    save(posterior, tmp_path / "b.nc")
    save(load(tmp_path / "a.nc"), tmp_path / "c.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes() == (tmp_path / "c.nc").read_bytes()


def test_files_are_compressed(tmp_path):
    save(make(n_draws=2000), tmp_path / "a.nc")
    constant = np.zeros((2, 2000, len(SLOTS)), np.float32)
    save(build_posterior(constant, ANNOTATIONS, SLOTS, point=constant[0, 0], concentration=1.0), tmp_path / "b.nc")
    assert (tmp_path / "b.nc").stat().st_size < (tmp_path / "a.nc").stat().st_size / 2


def test_a_point_mass_has_one_chain_and_one_draw(tmp_path):
    posterior = make(n_chains=1, n_draws=1)
    save(posterior, tmp_path / "a.nc")
    assert stacked_draws(load(tmp_path / "a.nc")).shape == (1, len(SLOTS))


def test_dense_sums_to_one_keeps_what_is_named_and_sorts_as_top_classes(posterior):
    whole = dense(posterior)
    assert whole.shape == (100, 3, 5)
    np.testing.assert_allclose(whole.sum(axis=2), 1, rtol=1e-5)
    draws = stacked_draws(posterior)
    np.testing.assert_array_equal(whole[:, 0, [0, 2, 4]], draws[:, :3])
    np.testing.assert_array_equal(whole[:, 2], draws[:, 6:])
    np.testing.assert_allclose(whole[:, 0, [1, 3]].sum(axis=1), draws[:, 3], rtol=1e-5)
    posterior = make()
    expected = np.argsort(-dense(posterior, cases="p3"), axis=2)
    np.testing.assert_array_equal(top_classes(posterior, 5, cases="p3"), expected)
    slots = Slots.of(ANNOTATIONS, remainder=False)
    posterior = make(slots=slots)
    assert (dense(posterior, cases="p2")[0, 0] == [0, 0, 0, 1, 0]).all()
    assert top_classes(posterior, 5, cases="p2")[0].tolist() == [[3, 0, 1, 2, 4]]


def test_dense_splits_the_remainder_by_its_dirichlet():
    posterior = make(n_draws=2000, concentration=2.0)
    whole = dense(posterior, cases="p2")[:, 0]
    share = whole[:, 0] / (1 - whole[:, 3])
    # One class of four at concentration 2; a false alarm in 10,000 seeds.
    assert stats.kstest(share, stats.beta(2, 6).cdf).pvalue > 1e-4


@pytest.mark.slow
def test_cases_do_not_depend_on_each_other(posterior):
    np.testing.assert_array_equal(dense(posterior, cases=["p2", "p1"]), dense(posterior)[:, [1, 0]])
    np.testing.assert_array_equal(top_classes(posterior, 5, cases=["p2", "p1"]), top_classes(posterior, 5)[:, [1, 0]])
    assert (top_classes(posterior, 5, seed=0) != top_classes(posterior, 5, seed=1)).any()


def test_a_full_disk_is_one_sentence_and_leaves_nothing(posterior, tmp_path, monkeypatch):
    def write_some(path, data):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_some)
    with pytest.raises(FileError, match=r"a\.nc cannot be written \(No space left on device\): choose another place"):
        save(posterior, tmp_path / "a.nc")
    assert not list(tmp_path.iterdir())

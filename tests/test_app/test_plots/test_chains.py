"""Trace and rank plots, and diagnostics at a glance."""

import numpy as np
import pytest
import xarray as xr

import plausibly as pb
from plausibly.app import plots
from plausibly.base.arviz import from_groups
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior import build_posterior

CASES = ["p", "$q$", "<r>", "17"]
ANNOTATIONS = Annotations.from_labels([["a", "b"], ["a"], ["b"], ["a", "b"]], classes=["a", "b", "c"], cases=CASES)
SLOTS = Slots.of(ANNOTATIONS)


@pytest.fixture
def posterior():
    """Chain 2 of case <r> lies elsewhere in its remainder."""
    rng = np.random.default_rng(0)
    draws = rng.uniform(0.2, 0.4, size=(4, 100, len(SLOTS))).astype(np.float32)
    draws[2, :, SLOTS.start[3] - 1] += 0.3
    bad = np.array(CASES) == "<r>"
    columns = {"r_hat": np.where(bad, 1.9, 1.0), "ess_bulk": np.where(bad, 6.0, 400.0), "converged": ~bad}
    convergence = xr.Dataset({name: ("case", values) for name, values in columns.items()}, attrs={"chains": 4})
    return build_posterior(
        draws, ANNOTATIONS, SLOTS, point=draws[0, 0], concentration=1.0, convergence=convergence, attrs={"model": "m"}
    )


def test_traces_and_ranks_are_of_each_chain_and_the_worst_first(posterior, tmp_path):
    figure = plots.worst_chains(posterior, most=2)
    assert [ax.get_title(loc="left").split(":")[0] for ax in figure.axes[::2]] == ["<r>", "p"]
    assert len(plots.worst_chains(posterior, [r"$q$", "17", "p"]).axes) == 6
    pb.save(posterior, tmp_path / "p.nc")
    lazy = pb.load(tmp_path / "p.nc", lazy=True)
    drawn = plots.trace(lazy, "p", "b").lines[1].get_ydata()
    assert drawn.tolist() == plots.trace(posterior, "p", "b").lines[1].get_ydata().tolist()
    ax = plots.trace(posterior, "<r>")
    draws = posterior["posterior"]["plausibility"].values[..., SLOTS.start[3] - 1]
    assert [line.get_ydata().tolist() for line in ax.lines] == draws.tolist()
    assert ax.get_title(loc="left") == "<r>: all unnamed classes"
    ax = plots.trace(posterior, "17", "b")
    assert ax.get_title(loc="left") == "case 17: b"
    draws = posterior["posterior"]["plausibility"].values[..., SLOTS.start[3] + 1]
    assert ax.lines[3].get_ydata().tolist() == draws[3].tolist()
    ax = plots.rank(posterior, "<r>")
    heights = _heights(ax)
    assert heights.shape == (4, 20)
    # Chain 2 has the 100 greatest of 400 draws, in five of twenty bins; twice four bars would fill its row.
    assert heights[2, :15].tolist() == [0] * 15
    assert (heights[2, 15:] == 0.95).all()
    assert (heights[[0, 1, 3], 15:] == 0).all()
    assert all(len(set(np.round(heights[chain], 6))) > 1 for chain in (0, 1, 3))
    draws = np.tile(np.linspace(0.1, 0.3, 100, dtype=np.float32)[:, None], (4, 1, len(SLOTS)))
    posterior = build_posterior(draws, ANNOTATIONS, SLOTS, point=draws[0, 0], concentration=1.0)
    np.testing.assert_allclose(_heights(plots.rank(posterior, "p", "a")), 0.5, atol=0.11)


def _heights(ax):
    found = [bars.get_data() for bars in ax.patches]
    return np.round([of.values - of.baseline for of in found], 12)


def test_models_of_labels_have_quantities_and_exact_draws_no_chains():
    rng = np.random.default_rng(0)
    sites = {"ability": (("chain", "draw", "annotator"), rng.normal(size=(2, 50, 2))), "sd": (("chain", "draw"),)}
    sites["sd"] = (("chain", "draw"), rng.normal(size=(2, 50)))
    names = ["ability of ann", "ability of bob", "sd"]
    columns = {"r_hat": [1.0, 1.2, 1.0], "converged": [True, False, True]}
    convergence = xr.Dataset({name: ("quantity", values) for name, values in columns.items()}, {"quantity": names})
    groups = {"posterior": xr.Dataset(sites, {"annotator": ["ann", "bob"]}), "convergence": convergence}
    posterior = from_groups(groups, {"model": "rasch"})
    assert (
        plots.trace(posterior, "ability of bob").lines[1].get_ydata().tolist() == sites["ability"][1][1, :, 1].tolist()
    )
    assert plots.trace(posterior, "sd").lines[0].get_ydata().tolist() == sites["sd"][1][0].tolist()
    assert plots.worst_chains(posterior, most=1).axes[0].get_title(loc="left") == "ability of bob"
    with pytest.raises(ArgumentError, match="'ability of eve' is not a case or quantity"):
        plots.rank(posterior, "ability of eve")
    posterior = pb.aggregate(ANNOTATIONS, "majority-vote", progress=False)
    with pytest.raises(ArgumentError, match="there are no chains to draw"):
        plots.worst_chains(posterior)
    with pytest.raises(ArgumentError, match="there are no chains to draw"):
        plots.convergence_overview(pb.diagnose(posterior))
    with pytest.raises(ArgumentError, match="'r_hat' is not a diagnostic of these draws: they are exact"):
        plots.convergence(pb.diagnose(posterior))


@pytest.mark.parametrize("draw", [plots.trace, plots.rank])
def test_what_is_not_there_is_refused(posterior, draw):
    with pytest.raises(ArgumentError, match="there is no case 'x' in this posterior"):
        draw(posterior, "x")
    with pytest.raises(ArgumentError, match="'c' has no slot in case 'p': choose from 'a', 'b', '\\(remainder\\)'"):
        draw(posterior, "p", "c")
    with pytest.raises(ArgumentError, match="not a case or quantity of this posterior"):
        draw("posterior.nc", "p")


def table(**columns):
    values = {"r_hat": [1.0, 1.4, 1.1], "e_bfmi": [np.nan, 1.0, 0.2], "converged": [True, False, False]} | columns
    return xr.Dataset({k: ("case", v) for k, v in values.items()}, {"case": ["p", "q", "r"]}, {"chains": 2})


def test_convergence_shows_the_worst_first_and_every_known_diagnostic():
    ax = plots.convergence(table())
    assert ax.lines[0].get_ydata().tolist() == [1.4, 1.1, 1.0]
    assert ax.lines[1].get_ydata().tolist() == [1.4, 1.1]
    assert ax.get_title(loc="left") == "not converged: q, r"
    ax = plots.convergence(table(), "e_bfmi")
    assert ax.lines[0].get_ydata().tolist() == [0.2, 1.0]
    ax = plots.convergence(table(ess_bulk=[900.0, 800.0, 100.0]), "ess_bulk")
    assert ax.lines[2].get_ydata() == [200, 200]
    figure = plots.convergence_overview(table(at_max_depth=[np.nan] * 3))
    assert [ax.get_ylabel() for ax in figure.axes] == ["R-hat", "E-BFMI"]
    with pytest.raises(ArgumentError, match="'at_max_depth' is not a diagnostic of these draws: choose from r_hat"):
        plots.convergence(table(), "at_max_depth")

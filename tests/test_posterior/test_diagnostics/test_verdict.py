"""Reading a table of convergence: who is worst, what they failed by."""

import numpy as np
import pytest
import xarray as xr

from plausibly.posterior.diagnostics.verdicts import checks, failures, table, verdict, worst


def found(chains=4, **columns):
    """A table of five cases, good where nothing else is said."""
    good = {"r_hat": 1.001, "ess_bulk": 900.0, "ess_tail": 800.0, "n_diverging": 0, "e_bfmi": 1.5, "at_max_depth": 0.0}
    values = {name: np.array(columns.get(name, [value] * 5)) for name, value in good.items()}
    values["converged"] = np.array(columns.get("converged", [True] * 5))
    data = {name: ("case", value) for name, value in values.items()}
    return xr.Dataset(data, {"case": list("pqrst")}, {"chains": chains, "quantities": 15})


def test_each_fault_is_named():
    table = found(
        r_hat=[1.3, 1.001, 1.001, 1.001, 1.001],
        ess_bulk=[900, 12, 900, 900, 900],
        ess_tail=[900, 900, np.nan, 900, 900],
        n_diverging=[0, 0, 0, 2, 0],
        e_bfmi=[np.nan, 1, 1, 1, 0.2],
        converged=[False] * 5,
    )
    assert failures(table) == ["R-hat", "bulk ESS", "tail ESS", "divergences", "E-BFMI"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"r_hat": [1.012] * 5, "e_bfmi": [np.nan] * 5}, ""),
        # Within the bound of the worst class, and still the reason if there is no other.
        ({"r_hat": [1.012] * 5, "converged": [False] + [True] * 4}, "R-hat"),
        # Few effective draws do not excuse an R-hat.
        ({"r_hat": [1.8] * 5, "ess_bulk": [5.0] * 5, "converged": [False] * 5}, "R-hat, bulk ESS"),
    ],
)
def test_the_reason_of_a_case(columns, words):
    assert failures(found(**columns))[0] == words


@pytest.mark.parametrize(
    ("columns", "step"),
    [
        ({"n_diverging": [3] * 5, "converged": [False] * 5}, "use a longer warm-up"),
        ({"e_bfmi": [0.1] * 5, "converged": [False] * 5}, "use a longer warm-up"),
        ({"ess_bulk": [12.0] * 5, "converged": [False] * 5}, "use more draws"),
        ({"r_hat": [2.3] * 5, "ess_bulk": [5.0] * 5, "converged": [False] * 5}, "take another model, or more annot"),
    ],
)
def test_the_verdict_ends_with_what_to_do(columns, step):
    assert step in verdict({"pl@3": found(**columns)})


@pytest.mark.parametrize(("chains", "words"), [(4, ""), (10, "bulk ESS, tail ESS")])
def test_effective_draws_are_asked_of_every_chain(chains, words):
    assert failures(found(chains, converged=[False] * 5))[0].removeprefix("R-hat") == words


def test_the_worst_come_first_and_exact_cases_are_none_for_lack_of_energy():
    table = found(
        r_hat=[1.04, 1.001, 1.001, 1.02, 1.001],
        ess_tail=[800, 390, np.nan, 800, 800],
        converged=[True, False, False, True, True],
    )
    assert worst(table, 5) == ["r", "q", "p", "s", "t"]
    assert worst(table, 1) == ["r"]
    assert worst(
        found(e_bfmi=[np.nan, 1.5, 0.9, np.nan, 1.5], r_hat=[1.0] * 5, ess_bulk=[4e6] * 5, ess_tail=[4e6] * 5)
    )[0] == ("r")


def test_checks_name_the_worst_of_every_statistic_quantities_as_such_and_nothing_of_exact_draws():
    rows = checks(found(r_hat=[1, 1, 1.5, 1, 1], ess_bulk=[1, 9, 9, 9, np.nan], e_bfmi=[np.nan, 1, 1, 0.1, 1]))
    assert rows["case"].tolist() == ["r", "t", "p", "p", "s", "p"]
    assert rows["asked"].tolist()[1:3] == ["at least 400"] * 2
    assert "E-BFMI" not in checks(found(e_bfmi=[np.nan] * 5))["statistic"].tolist()
    exact = xr.Dataset({"converged": ("case", [True, True])}, {"case": ["p", "q"]})
    assert worst(exact) == []
    assert len(checks(exact)) == 0
    assert table(exact)["failed"].tolist() == ["", ""]
    assert verdict({"irn": exact}).startswith("No convergence check is needed")
    columns = {"converged": ("quantity", [True, False]), "r_hat": ("quantity", [1.0, 1.3])}
    rasch = xr.Dataset(columns, {"quantity": ["ability of ann", "sd_ability"]})
    assert verdict({"rasch": rasch}).startswith(
        "Chains did not converge in 1 of 2 quantities (rasch: 1): 'sd_ability'. Results that depend on them"
    )
    assert checks(rasch)["quantity"].tolist() == ["sd_ability"]
    assert table(rasch, ["sd_ability"])["failed"].tolist() == ["R-hat"]


@pytest.mark.parametrize(("draws", "short"), [(99, True), (100, False)])
def test_chains_that_are_too_short_to_converge_are_called_so(draws, short):
    failed = found(converged=[False] * 5).assign_attrs(draws=draws)
    sentence = " Chains of 99 draws are too short, since each needs 100 effective draws: take 250."
    assert verdict({"m": failed}).endswith(sentence) == short
    assert "too short" not in verdict({"m": found().assign_attrs(draws=draws)})

"""The statistic, the rule, the page, and the exit status."""

import numpy as np
import pytest
from scipy import stats

from validation import __main__ as command
from validation import agreement, engines
from validation._ranks import band, p_values, places
from validation._report import render
from validation._result import RATE, Result, Settings, Verdict


def test_places_are_uniform_and_what_each_test_and_the_band_are_for():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (20, 5000))
    assert stats.kstest(places(values[0], values[1:], rng), "uniform").pvalue > 1e-5
    rng = np.random.default_rng(1)
    truth = rng.standard_normal(1000)
    fine = p_values(places(truth, rng.standard_normal((99, 1000)), rng))
    moved = p_values(places(truth, rng.standard_normal((99, 1000)) + 0.3, rng))
    narrow = p_values(places(truth, 0.8 * rng.standard_normal((99, 1000)), rng))
    assert min(fine.values()) > 1e-4
    assert moved["shift"] < 1e-8
    assert narrow["spread"] < 1e-6 < narrow["shift"]
    rng = np.random.default_rng(2)
    for _ in range(50):
        u = rng.beta(1, 1.1, 200)
        reach = stats.kstest(u, "uniform")
        assert (reach.statistic > band(200, 0.1)) == (reach.pvalue < 0.1)


def result(*p, what="NUTS, power, γ = 1, lumped", quantity="largest", places=None):
    return Result("calibration", what, quantity, {str(i): x for i, x in enumerate(p)}, 100, places)


def test_the_threshold_is_shared_among_all_p_values_of_which_there_are_some():
    good = Verdict((result(0.5, 0.02), result(0.9, RATE / 4 + 1e-6)))
    assert good.passed
    assert good.n_tests == 4
    assert good.threshold == RATE / 4
    bad = Verdict((result(0.5, 0.02), result(0.9, RATE / 4 - 1e-6, what="worse")))
    assert [r.what for r in bad.failures] == ["worse"]
    assert not bad.passed
    assert str(bad).startswith("FAILED: 1 of 2 results; 4 p-values, the smallest 0.0025, alarm below 0.0025; worse")
    assert not Verdict((result(0.5, float("nan")),)).passed
    assert not Verdict(()).passed
    assert "nothing was tested" in str(Verdict(()))


def test_the_page_shows_every_condition_and_marks_alarms():
    rng = np.random.default_rng(3)
    results = [
        result(0.5, what=f"NUTS, power, γ = {g}, {u}", quantity=q, places=rng.random(100))
        for g in (1, 3)
        for u in ("lumped", "<exact>")
        for q in ("largest", "log likelihood")
    ]
    results.append(Result("goodness", "blocks", "counts", {"chi-square": 1e-9}, 1000, remark="a remark"))
    page = render(Verdict(tuple(results)), Settings(seed=4), seconds=61, broken="something & more")
    assert page.count("<img") == 1
    assert page.count('class="alarm"') == 1
    assert "FAILED: 1 of 9 results" in page
    assert "something &amp; more" in page
    assert "&lt;exact&gt;" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    fine = render(Verdict(tuple(results[:1])), Settings(), seconds=1)
    assert "FAILED" not in fine
    assert "Broken" not in fine


@pytest.mark.parametrize(("p", "status"), [(0.5, 0), (1e-9, 1)])
def test_the_exit_status_is_the_verdict(p, status, monkeypatch, tmp_path, capsys):
    seen = []

    def check(settings):
        seen.append(settings)
        yield result(p)

    monkeypatch.setattr(command, "CHECKS", {"calibration": check, "goodness": check})
    arguments = ["--only", "calibration", "--seed", "7", "--quick", "--out", str(tmp_path / "new")]
    assert command.main(arguments) == status
    assert seen == [Settings(seed=7, quick=True)]
    assert ("FAILED" in capsys.readouterr().out) == bool(status)
    assert (tmp_path / "new" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--what", "nothing"], "no condition of calibration"), (["--seed", "-1"], "-1")]
)
def test_what_makes_no_sense_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_comparing_two_samplers():
    rng = np.random.default_rng(5)
    ours, theirs = rng.standard_normal((2, 4, 250, 200))
    z = agreement.z_scores(ours, theirs)
    assert stats.kstest(z, "norm").pvalue > 1e-5
    assert np.abs(agreement.z_scores(ours + 1, theirs)).min() > 5
    assert agreement.z_scores(ours * 0, theirs * 0).size == 0
    far = np.where(np.arange(200) == 7, 0.4, 0.0)  # of one quantity: a tenth is allowed
    assert engines.p_value(ours, theirs) > 0.05
    assert engines.p_value(ours + far, theirs) < 1e-4
    assert (engines.p_value(far + 0 * ours, far + 0 * ours), engines.p_value(far + 0 * ours, 0 * ours)) == (1, 0)
    top = agreement.tops(np.array([[[0.2, 0.8, 0.5, 0.3, 0.2], [0.6, 0.4, 0.1, 0.7, 0.2]]]), np.array([0, 2, 5]))
    assert top.tolist() == [[[False, True, True, False, False], [True, False, False, True, False]]]
    assert agreement.certainties(top, np.array([0, 2, 5])).tolist() == [0.5, 0.5]
    share = np.array([0.2, 0.8, 0.95, 0.05, 0.0])
    assert agreement.in_doubt(share, np.array([0, 2, 5])).tolist() == [1]

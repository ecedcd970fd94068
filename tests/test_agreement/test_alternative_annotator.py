"""The alternative annotator test against its definition in loops, its limits, intervals and power."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, wilcoxon

from plausibly.agreement import alternative_annotator_test, judge

DISTANCES = {
    "nominal": lambda a, b: float(a != b),
    "squared": lambda a, b: (a - b) ** 2,
    "custom": lambda a, b: abs(a - b) ** 0.5,
}


def literal(rows, model, distance, epsilon, fdr):
    """SPEC's definition as it stands: by annotator advantage, p-value and rejection; winning rate."""
    said = {}
    for case, annotator, label in rows:
        said.setdefault(case, {})[annotator] = label
    advantage, p = {}, {}
    for annotator in dict.fromkeys(row[1] for row in rows):
        wins, losses = [], []
        for case, labels in said.items():
            others = [label for who, label in labels.items() if who != annotator]
            if annotator not in labels or not others:
                continue
            close = -np.mean([distance(model[case], label) for label in others])
            hers = -np.mean([distance(labels[annotator], label) for label in others])
            wins.append(float(close >= hers - 1e-12))
            losses.append(float(hers >= close - 1e-12))
        if wins:
            difference = np.array(losses) - np.array(wins)
            advantage[annotator] = np.mean(wins)
            if len(wins) >= 30:
                p[annotator] = ttest_1samp(difference, epsilon, alternative="less").pvalue
            elif len(wins) >= 2:
                p[annotator] = wilcoxon(difference - epsilon, alternative="less").pvalue
    m = len(p)
    ordered = sorted(p, key=p.get)
    harmonic = sum(1 / k for k in range(1, m + 1))
    last = max((k for k, who in enumerate(ordered, 1) if p[who] <= k * fdr / (m * harmonic)), default=0)
    rejected = set(ordered[:last])
    return advantage, p, rejected, len(rejected) / len(advantage)


def table(random, n_cases, n_annotators, n_labels=4, missing=0.3, quality=0.6):
    """Labels with gaps, some cases of one annotator, and a model's."""
    truth = random.integers(n_labels, size=n_cases)
    rows = [
        (f"c{case:03}", f"a{who}", int(truth[case] if random.random() < quality else random.integers(n_labels)))
        for case in range(n_cases)
        for who in range(n_annotators)
        if random.random() > missing
    ]
    model = {
        f"c{case:03}": int(truth[case] if random.random() < random.random() else random.integers(n_labels))
        for case in range(n_cases)
    }
    return rows, {case: label for case, label in model.items() if any(row[0] == case for row in rows)}


def test_equals_its_definition_in_loops():
    random = np.random.default_rng(0)
    rejections = few = 0
    for number in range(12):
        # Below 14 cases scipy takes half a second for a p-value by visiting all signs.
        n_cases = 12 if number == 0 else int(random.integers(30, 90))
        rows, model = table(random, n_cases, int(random.integers(2, 6)), missing=0.3 if number else 0.0)
        if number == 0:
            rows = [row for row in rows if row[1] in ("a0", "a1")]
        epsilon, fdr = random.choice([0.0, 0.1, 0.2, 0.35]), random.choice([0.05, 0.2])
        name = list(DISTANCES)[number % 3]
        distance = DISTANCES[name] if name == "custom" else name
        found = alternative_annotator_test(
            rows, {"m": model}, epsilon=epsilon, fdr=fdr, distance=distance, progress=False
        )
        advantage, p, rejected, rate = literal(rows, model, DISTANCES[name], epsilon, fdr)
        own = found.table.set_index("annotator")
        assert own["advantage"].to_dict() == pytest.approx(advantage)
        assert own["p_value"].dropna().to_dict() == pytest.approx(p, abs=1e-12)
        assert {who for who, lost in own["rejected"].items() if lost} == rejected
        assert found.winning_rate["m"] == pytest.approx(rate)
        assert found.passed["m"] == (rate >= 0.5)
        rejections, few = rejections + len(rejected), few + (own["test"] == "wilcoxon").sum()
    assert min(rejections, few) > 1


def test_models_at_the_ends_and_few_annotators_or_cases_are_told():
    says = {"ann": "xxyy" * 10, "bob": "xxyy" * 10, "cy": "xxyy" * 10}
    rows = [(str(case), who, label) for who, labels in says.items() for case, label in enumerate(labels)]
    alike = {str(case): label for case, label in enumerate("xxyy" * 10)}
    wrong = {case: {"x": "y", "y": "x"}[label] for case, label in alike.items()}
    found = alternative_annotator_test(rows, {"alike": alike, "wrong": wrong}, progress=False)
    assert found.winning_rate.to_dict() == {"alike": 1.0, "wrong": 0.0}
    assert found.advantage.to_dict() == {"alike": 1.0, "wrong": 0.0}
    assert any("equally close" in note for note in found.notes)
    assert np.isinf(found.clusters_needed(replicates=20)["wrong"])
    rows = [(str(case), who, case % 2) for case in range(10) for who in ("ann", "bob")]
    found = alternative_annotator_test(rows, [(str(case), case % 2) for case in range(10)], progress=False)
    assert isinstance(found.winning_rate, float)
    assert found.answer == "yes"
    assert any("at least 3" in note for note in found.notes)
    assert any("Wilcoxon" in note for note in found.notes)
    by_t = alternative_annotator_test(rows, [(str(case), case % 2) for case in range(10)], few_cases=0, progress=False)
    assert set(by_t.table["test"]) == {"t"}
    alone = alternative_annotator_test([*rows, ("0", "cy", 1)], [(str(case), 0) for case in range(10)], progress=False)
    assert alone.table.set_index("annotator").loc["cy", "test"] == "none"
    assert any("single case" in note for note in alone.notes)


def test_how_many_cases_are_needed_is_not_told_of_annotators_of_one_case():
    random = np.random.default_rng(2)
    rows = [(f"{case}", f"worker {case}{who}", int(random.integers(2))) for case in range(60) for who in "abc"]
    judged = judge(rows, {"m": {f"{case}": int(random.integers(2)) for case in range(60)}}, model=None)
    assert np.isnan(judged.test.clusters_needed(replicates=20)["m"])
    said = next(one for one in judged.questions["m"] if one.name == "replacement")
    assert (said.answer, "Half of the annotators share no more than 1 case with others" in said.words) == ("open", True)


def test_interval_draws_clusters_and_power_rises_with_cases():
    random = np.random.default_rng(5)
    rows, model = table(random, 120, 4, missing=0.0)
    labels = pd.DataFrame(rows, columns=["case", "annotator", "label"])
    labels["patient"] = labels["case"].str[1:].astype(int) // 6
    found = alternative_annotator_test(labels, {"m": model}, clusters="patient", epsilon=0.35, progress=False)
    lower, upper = found.interval(0.9, 200).loc["m"]
    assert lower < found.advantage["m"] < upper
    single = alternative_annotator_test(labels, {"m": model}, epsilon=0.35, progress=False)
    # Once for every cluster of identical cases: drawing clusters is drawing six times as few.
    doubled = pd.concat([labels.assign(case=labels["case"] + f"-{i}") for i in range(6)])
    by_case = {f"{case}-{i}": label for case, label in model.items() for i in range(6)}
    doubled["patient"] = doubled["case"].str.split("-").str[0]
    wide = alternative_annotator_test(doubled, {"m": by_case}, clusters="patient", epsilon=0.35, progress=False)
    assert wide.interval(0.9, 200).to_numpy() == pytest.approx(single.interval(0.9, 200).to_numpy())
    power = single.power([8, 400], replicates=100)["m"]
    assert power[8] < power[400]
    needed = single.clusters_needed(0.8, replicates=100)["m"]
    by_t = alternative_annotator_test(labels, {"m": model}, epsilon=0.35, few_cases=0, progress=False)
    assert by_t.power([round(needed)], replicates=100)["m"].item() >= 0.8

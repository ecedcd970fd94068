"""Spans against F1 written out token by token."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.distances import SpanF1, find_distance

span = st.tuples(st.integers(0, 12), st.integers(1, 5), st.sampled_from("xy")).map(lambda s: (s[0], s[0] + s[1], s[2]))
spans = st.lists(span, max_size=4)


def literal(a, b, range_, tag):
    if not a and not b:
        return 0.0

    def mean_covered(ours, theirs):
        shares = []
        for start, end, kind in ours:
            same = [s for s in theirs if tag == "lenient" or s[2] == kind]
            if range_ == "strict":
                shares.append(any(s[:2] == (start, end) for s in same))
            else:
                tokens = {token for s in same for token in range(s[0], s[1])}
                shares.append(sum(token in tokens for token in range(start, end)) / (end - start))
        return sum(shares) / len(shares) if shares else 0.0

    recall, precision = mean_covered(a, b), mean_covered(b, a)
    return 1 - (2 * recall * precision / (recall + precision) if recall + precision else 0.0)


@settings(max_examples=150)
@given(a=spans, b=spans, range_=st.sampled_from(["lenient", "strict"]), tag=st.sampled_from(["lenient", "strict"]))
def test_f1_token_by_token(a, b, range_, tag):
    assert SpanF1(range_, tag)(a, b) == pytest.approx(literal(a, b, range_, tag), abs=1e-12)
    assert find_distance("span_count")(a, b) == abs(len(a) - len(b))


def test_forms_of_spans_and_empty_labels():
    assert find_distance("span_f1")([{"start": 0, "end": 3, "label": "x"}], [(0, 3, "x")]) == 0
    assert find_distance("span_f1")([(0, 3)], [(0, 3, None)]) == 0
    assert SpanF1()([], [(0, 1, "x")]) == 1
    assert SpanF1()([], []) == 0
    assert find_distance("span_f1", "braylan2022")([], []) == 1

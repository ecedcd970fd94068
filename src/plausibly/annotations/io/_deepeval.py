"""Test runs that DeepEval writes as JSON (``.deepeval/.latest_test_run.json``, or a file in its results folder).

Read as DeepEval 2 and 3 write them: ``testCases`` and ``conversationalTestCases``, alone or in ``testRunData``. A test
case is a case, by its name; each metric is a question, answered with pass or fail (``success``) by the judging model
(``evaluationModel``), or else by the metric itself. The column ``score`` holds the metric's number. The system that was
tested is the hyperparameter ``model`` of the run, if it has one.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plausibly.annotations.io.answers import to_name
from plausibly.annotations.io.verdicts import Output, Verdict, first_name, list_in, passed, record_of
from plausibly.errors import AnnotationError

if TYPE_CHECKING:
    from plausibly.annotations.io.source import Source


def is_deepeval(source: "Source") -> bool:
    """Whether this is a test run of DeepEval."""
    return isinstance(_run(source.content), Mapping)


def deepeval_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield what metrics say of test cases."""
    run = record_of(_run(source.content), "the test run")
    settings = record_of(run.get("hyperparameters") or {}, "the test run: hyperparameters")
    output = Output(first_name(settings, ("model",), "the test run"))
    seen = set()
    parts = ("testCases", "conversationalTestCases")
    for number, one in enumerate([one for part in parts for one in list_in(run, part, "the test run")], 1):
        test = record_of(one, f"test case {number}")
        case = to_name(test.get("name"), f"test case {number}: the name")
        if case in seen:
            raise AnnotationError(f"test case {case!r} occurs twice; give each a name of its own")
        seen.add(case)
        for metric in list_in(test, "metricsData", f"test case {case!r}"):
            metric = record_of(metric, f"test case {case!r}: a metric")
            name = to_name(metric.get("name"), f"test case {case!r}: a metric's name")
            where = f"test case {case!r}, metric {name!r}"
            rater = first_name(metric, ("evaluationModel",), where) or name
            verdict = None if metric.get("error") else passed(metric.get("success"), where)
            yield Verdict(name, case, rater, verdict, {"score": metric.get("score")}, output=output)


def _run(content: Any) -> Any:
    if not isinstance(content, Mapping):
        return None
    content = content.get("testRunData", content)
    return content if isinstance(content, Mapping) and "testCases" in content else None

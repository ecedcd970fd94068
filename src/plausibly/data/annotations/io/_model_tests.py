"""Exports of tools that test language models: DeepEval, lm-evaluation-harness and promptfoo.

Test runs that DeepEval writes as JSON (``.deepeval/.latest_test_run.json``, or a file in its results folder).

Read as DeepEval 2 and 3 write them: ``testCases`` and ``conversationalTestCases``, alone or in ``testRunData``. A test
case is a case, by its name; each metric is a question, answered with pass or fail (``success``) by the judging model
(``evaluationModel``), or else by the metric itself. The column ``score`` holds the metric's number. The system that was
tested is the hyperparameter ``model`` of the run, if it has one.

Samples that lm-evaluation-harness logs as JSON lines (``--log_samples``), version 0.4.

A document is a case, by its ``doc_id``. Metrics are questions (the fields that ``metrics`` names, or else those that
hold a number), answered with that number; the rater is the filter that found the model's answer, or the metric itself
where nothing was filtered. ``answer``, the filtered response (of multiple choice the number of the likeliest choice,
from 0), and ``target`` are not verdicts. The system is the folder that the harness writes the samples of a model to.

Results that promptfoo writes as JSON (``promptfoo eval --output results.json``), version 2 and 3.

An output (a test, a prompt and a provider) is a case: ``test 0``, with the prompt and the provider if there are
several. Assertions are questions, by their ``metric`` or else their type, and are answered with pass or fail; an
assertion's name is its rater, too. The verdict on the whole output is the question ``success``. If people have marked
outputs in the viewer, they are a rater ``human`` of every question, and ``promptfoo`` is what the other assertions say.
With a single assertion, or with marks of people, ``success`` is read unless another question is asked for. An output
that a provider failed to give, by an error, has no verdict. The system is the provider, and its prompt if a provider
has several; the task is the test.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.data.annotations.io.answers import is_list, scalars, to_name
from plausibly.data.annotations.io.verdicts import TARGET, Output, Verdict, first_name, list_in, passed, record_of

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source


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


_UNREAD = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}


def is_lm_eval(record: Any) -> bool:
    """Whether a record is a logged sample."""
    return isinstance(record, Mapping) and "doc_id" in record and bool({"resps", "filtered_resps"} & set(record))


def lm_eval_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield the metrics of samples, and what the model answered."""
    written = source.path is not None and source.path.name.startswith("samples_")
    output = Output(source.path.resolve().parent.name or None if source.path is not None and written else None)
    for number, one in enumerate(source.records, 1):
        sample = record_of(one, f"sample {number}")
        case = to_name(sample.get("doc_id"), f"sample {number}: the doc_id")
        listed = list_in(sample, "metrics", f"sample {case!r}")
        names = [str(name) for name in listed] or [
            str(name)
            for name, value in sample.items()
            if name not in _UNREAD and isinstance(value, int | float) and not str(name).endswith("_hash")
        ]
        filtered = sample.get("filter")
        filtered = None if filtered in (None, "none") else to_name(filtered, f"sample {case!r}: the filter")
        target = sample.get("target")
        further = {} if is_list(target) or isinstance(target, Mapping) else {"target": target}
        for name in names:
            value = sample.get(name)
            yield Verdict(name, case, filtered or name, None if is_list(value) else value, further, output=output)
        yield Verdict("answer", case, filtered or "model", _answer(sample.get("filtered_resps")), further, True)
        if further:
            yield Verdict(TARGET, case, TARGET, target, further, of_model=True)


def _answer(filtered: Any) -> Any:
    """Return the response, or the number of the likeliest of several choices; None if it is neither."""
    if is_list(filtered) and len(filtered) > 1:
        likely = [one[0] if is_list(one) and len(one) else one for one in filtered]
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in likely)
        return likely.index(max(likely)) if numbers else None
    while is_list(filtered) and len(filtered) == 1:
        filtered = filtered[0]
    return filtered if isinstance(filtered, str | int) else None


WHOLE, HUMAN = "success", "human"
_ERROR = 2  # reason of a failure: an error, and not what an assertion says
_SHORT = 40  # characters of a label that may name a prompt


def is_promptfoo(source: "Source") -> bool:
    """Whether this is a file of promptfoo's results."""
    content = source.content
    within = content.get("results") if isinstance(content, Mapping) else None
    return isinstance(within, Mapping) and isinstance(within.get("results"), list)


def promptfoo_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield what assertions and people say of outputs."""
    results = [record_of(one, f"result {number}") for number, one in enumerate(source.content["results"]["results"], 1)]
    prompts, providers = {_prompt(one) for one in results}, {_provider(one) for one in results}
    systems = _systems(results)
    tests: dict[str, int] = {}
    rows: list[tuple[str, Mapping, dict[str, list[bool]], Any, Output]] = []
    for number, one in enumerate(results, 1):
        given = one.get("vars") if isinstance(one.get("vars"), Mapping) else {}
        test = one.get("testIdx", tests.setdefault(repr(given), len(tests)))
        case = f"test {test}"
        case += f", {_prompt(one)}" if len(prompts) > 1 else ""
        task = f"test {test}" if _which(one) else case
        output = Output(systems[_provider(one), _which(one)], task, f"test {test}")
        case += f", {_provider(one)}" if len(providers) > 1 else ""
        further = scalars(given, ()) | {"provider": _provider(one), "prompt": _prompt(one)}
        failed = one.get("failureReason") == _ERROR or (one.get("gradingResult") is None and bool(one.get("error")))
        rows.append(
            (case, further, _components(one, f"result {number}"), None if failed else one.get("success"), output)
        )
    names = list(dict.fromkeys(name for _, _, said, *_ in rows for name in said if name != HUMAN))
    marked = any(HUMAN in said for _, _, said, *_ in rows)
    aside = marked or len(names) < 2
    for case, further, said, whole, output in rows:
        own = [value for name, values in said.items() if name != HUMAN for value in values]
        by_people = passed(all(said[HUMAN]), case) if HUMAN in said else None
        if HUMAN in said:
            yield Verdict(WHOLE, case, HUMAN, by_people, further, person=True, output=output)
        whole = all(own) if HUMAN in said and own else None if HUMAN in said else whole
        if HUMAN not in said or own:
            yield Verdict(WHOLE, case, "promptfoo", passed(whole, f"{case}: success"), further, output=output)
        for name in said:
            if name != HUMAN:
                yield Verdict(name, case, name, passed(all(said[name]), case), further, output=output, aside=aside)
        for name in names if HUMAN in said else ():
            yield Verdict(name, case, HUMAN, by_people, further, person=True, output=output, aside=aside)


def _systems(results: Sequence[Mapping]) -> dict[tuple[str, str], str]:
    """Name the system of each provider and prompt: by the provider, and by the prompt if it has several."""
    labels: dict[str, dict[str, str]] = {}
    for one in results:
        prompt = one.get("prompt")
        label = str(prompt.get("label") or "") if isinstance(prompt, Mapping) else ""
        labels.setdefault(_provider(one), {}).setdefault(_which(one), label)
    found = {}
    for provider, of in labels.items():
        short = all(of.values()) and len({*of.values()}) == len(of)
        short = short and all(len(label) <= _SHORT and "\n" not in label for label in of.values())
        for which, label in of.items():
            name = label if short else which if which.startswith("prompt ") else f"prompt {which}"
            found[provider, which] = provider if len(of) < 2 else f"{provider}, {name}"
    return found


def _components(result: Mapping, where: str) -> dict[str, list[bool]]:
    """Return what each assertion says, by its name."""
    grading = result.get("gradingResult")
    said: dict[str, list[bool]] = {}
    for one in () if grading is None else list_in(record_of(grading, f"{where}: grading"), "componentResults", where):
        component = record_of(one, f"{where}: a component of the grading")
        assertion = component.get("assertion")
        name = assertion.get("metric") or assertion.get("type") if isinstance(assertion, Mapping) else None
        if not isinstance(component.get("pass"), bool):
            raise AnnotationError(f"{where}: the component {show(component)} has no pass; export again")
        said.setdefault(str(name or "assertion"), []).append(component["pass"])
    return said


def _which(result: Mapping) -> str:
    """Return what tells the prompts of a provider apart; its text does not, with the variables of a test filled in."""
    prompt = result.get("prompt")
    label = prompt.get("label") if isinstance(prompt, Mapping) else None
    return f"prompt {result['promptIdx']}" if "promptIdx" in result else str(result.get("promptId") or label or "")


def _prompt(result: Mapping) -> str:
    prompt = result.get("prompt")
    if "promptIdx" in result:
        return f"prompt {result['promptIdx']}"
    return str(prompt.get("label") or prompt.get("raw")) if isinstance(prompt, Mapping) else str(prompt)


def _provider(result: Mapping) -> str:
    provider = result.get("provider")
    return str(provider.get("label") or provider.get("id")) if isinstance(provider, Mapping) else str(provider)

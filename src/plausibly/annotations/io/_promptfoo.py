"""Results that promptfoo writes as JSON (``promptfoo eval --output results.json``), version 2 and 3.

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

from plausibly.annotations.io.answers import scalars
from plausibly.annotations.io.verdicts import Output, Verdict, list_in, passed, record_of
from plausibly.errors import AnnotationError, show

if TYPE_CHECKING:
    from plausibly.annotations.io.source import Source

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

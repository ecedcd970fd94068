"""Results that promptfoo writes as JSON (``promptfoo eval --output results.json``), version 2 and 3.

An output (a test, a prompt and a provider) is a case: ``test 0``, with the prompt and the provider if there are
several. Assertions are questions, by their ``metric`` or else their type, and are answered with pass or fail; an
assertion's name is its rater, too. The verdict on the whole output is the question ``success``. If people have marked
outputs in the viewer, they are its rater ``human``, and ``promptfoo`` is what the other assertions say. With a single
assertion, or with marks of people, ``success`` is the only question.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plausibly.annotations.io.answers import scalars
from plausibly.annotations.io.verdicts import Output, Verdict, list_in, passed, record_of
from plausibly.errors import AnnotationError, show

if TYPE_CHECKING:
    from plausibly.annotations.io.source import Source

WHOLE, HUMAN = "success", "human"


def is_promptfoo(source: "Source") -> bool:
    """Whether this is a file of promptfoo's results."""
    content = source.content
    within = content.get("results") if isinstance(content, Mapping) else None
    return isinstance(within, Mapping) and isinstance(within.get("results"), list)


def promptfoo_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield what assertions and people say of outputs."""
    results = [record_of(one, f"result {number}") for number, one in enumerate(source.content["results"]["results"], 1)]
    prompts, providers = {_prompt(one) for one in results}, {_provider(one) for one in results}
    tests: dict[str, int] = {}
    rows: list[tuple[str, Mapping, dict[str, list[bool]], Any, Output]] = []
    for number, one in enumerate(results, 1):
        given = one.get("vars") if isinstance(one.get("vars"), Mapping) else {}
        test = one.get("testIdx", tests.setdefault(repr(given), len(tests)))
        case = f"test {test}"
        case += f", {_prompt(one)}" if len(prompts) > 1 else ""
        output = Output(_provider(one), case, f"test {test}")
        case += f", {_provider(one)}" if len(providers) > 1 else ""
        further = scalars(given, ()) | {"provider": _provider(one), "prompt": _prompt(one)}
        rows.append((case, further, _components(one, f"result {number}"), one.get("success"), output))
    names = list(dict.fromkeys(name for _, _, said, *_ in rows for name in said if name != HUMAN))
    marked = any(HUMAN in said for _, _, said, *_ in rows)
    for case, further, said, whole, output in rows:
        own = [value for name, values in said.items() if name != HUMAN for value in values]
        if HUMAN in said:
            yield Verdict(WHOLE, case, HUMAN, passed(all(said[HUMAN]), case), further, person=True, output=output)
        whole = all(own) if HUMAN in said and own else None if HUMAN in said else whole
        if HUMAN not in said or own:
            yield Verdict(WHOLE, case, "promptfoo", passed(whole, f"{case}: success"), further, output=output)
        for name in said if len(names) > 1 and not marked else ():
            yield Verdict(name, case, name, passed(all(said[name]), case), further, output=output)


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


def _prompt(result: Mapping) -> str:
    prompt = result.get("prompt")
    if "promptIdx" in result:
        return f"prompt {result['promptIdx']}"
    return str(prompt.get("label") or prompt.get("raw")) if isinstance(prompt, Mapping) else str(prompt)


def _provider(result: Mapping) -> str:
    provider = result.get("provider")
    return str(provider.get("label") or provider.get("id")) if isinstance(provider, Mapping) else str(provider)

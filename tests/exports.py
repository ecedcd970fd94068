"""Exports of annotation tools, and of tools that test language models, as they stand in files."""

import json


def lines(*records):
    return "\n".join(map(json.dumps, records))


def sample(name, target, epoch=1, **scores):
    return {"id": name, "epoch": epoch, "input": "2 + 2?", "target": target, "scores": scores, "messages": []}


def grade(value, answer=None):
    return {"value": value, "answer": answer, "explanation": "because", "metadata": {}}


INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sums", "model": "openai/gpt-4o"},
    "samples": [
        sample("a", "B", match=grade("C", "B"), judge=grade("I")),
        sample("b", ["A"], match=grade("I", "B"), judge=grade("P")),
    ],
}


def component(passed, kind, metric=None):
    return {"pass": passed, "score": float(passed), "reason": "", "assertion": {"type": kind, "metric": metric}}


def output(test, *components, success=True, provider="openai:gpt-4o"):
    graded = {"pass": success, "score": 1, "reason": "", "componentResults": list(components)}
    return {
        "testIdx": test,
        "promptIdx": 0,
        "provider": {"id": provider, "label": ""},
        "prompt": {"raw": "Say {{x}}", "label": "say"},
        "vars": {"x": f"word {test}"},
        "success": success,
        "gradingResult": graded,
    }


def promptfoo(*outputs):
    return {"evalId": "eval-1", "results": {"version": 3, "results": list(outputs), "stats": {}}, "config": {}}


def metric(name, success, model="gpt-4o", **more):
    return {"name": name, "threshold": 0.5, "success": success, "score": 0.75, "evaluationModel": model, **more}


def deepeval_case(name, *metrics):
    return {"name": name, "input": "x", "actualOutput": "y", "success": True, "metricsData": list(metrics)}


DEEPEVAL = {
    "testRunData": {
        "testCases": [
            deepeval_case("t0", metric("Bias", True), metric("Bias", False, "claude")),
            deepeval_case("t1", metric("Bias", None, error="timed out"), metric("Bias", True, "claude")),
        ]
    },
    "testRunLink": None,
}
LM_EVAL = [
    {"doc_id": n, "doc": {"q": "?"}, "target": "7", "arguments": [], "resps": [["It is 7"]], "filtered_resps": [answer]}
    | {"filter": rule, "metrics": ["exact_match"], "doc_hash": "f", "exact_match": float(answer == "7")}
    for n, rule, answer in ((0, "strict", "7"), (0, "flexible", "7"), (1, "strict", "x"), (1, "flexible", "7"))
]


def assessment(name, who, value, kind="feedback", **more):
    source = {"source_type": "HUMAN" if "@" in who else "LLM_JUDGE", "source_id": who}
    return (
        {"assessment_id": "a-1", "assessment_name": name, "trace_id": "tr-1", "source": source}
        | {kind: {"value": value}}
        | more
    )


MLFLOW = [
    {
        "info": {
            "trace_id": "tr-1",
            "assessments": [
                assessment("correct", "ann@x.org", "yes"),
                assessment("correct", "gpt", "no"),
                assessment("correct", "gpt", "yes", valid=False),
                assessment("correct", "bob@x.org", "yes", kind="expectation"),
            ],
        },
        "data": {"spans": []},
    }
]
LANGFUSE = [
    {"id": str(n), "traceId": trace, "observationId": part, "name": "tone", "value": 0, "stringValue": value}
    | {"dataType": "CATEGORICAL", "source": source, "authorUserId": who}
    for n, (trace, part, value, source, who) in enumerate(
        [
            ("t1", None, "kind", "ANNOTATION", "u1"),
            ("t1", None, "rude", "EVAL", None),
            ("t2", "o1", "kind", "EVAL", None),
        ]
    )
]
PHOENIX = [
    {"span_id": span, "name": "tone", "annotator_kind": kind, "identifier": who, "result": {"label": label, "score": 1}}
    for span, kind, who, label in (("s1", "HUMAN", "u1", "kind"), ("s1", "LLM", "", "rude"), ("s2", "LLM", "", "kind"))
]


SITES = {"p": "north", "q": "south"}


def argilla(case, said, status="submitted"):
    responses = {"label": [{"value": value, "user_id": who, "status": status} for who, value in said.items()]}
    metadata = {"site": SITES[case]} if case in SITES else {}
    return {
        "id": case,
        "status": "completed",
        "fields": {"text": "…"},
        "metadata": metadata,
        "suggestions": {"label": {"value": "z"}},
        "responses": responses,
    }


def flat(case, said):
    return {
        "id": case,
        "text": "…",
        "site": SITES.get(case),
        "label.responses": list(said.values()),
        "label.responses.users": list(said),
        "label.responses.status": ["submitted"] * len(said),
        "label.suggestion": "z",
    }


def prodigy(case, who, accept, answer="accept"):
    return {
        "text": "…",
        "_input_hash": case,
        "_task_hash": 9,
        "options": [{"id": "a", "text": "A"}],
        "accept": accept,
        "answer": answer,
        "_session_id": f"set-{who}",
        "_annotator_id": who,
        "meta": {"site": SITES.get(case)},
    }


def result(kind: str, value, control: str = "diagnosis") -> dict:
    """An answer as it stands in an export, with what surrounds it there."""
    return {"id": "Dx_a", "from_name": control, "to_name": "image", "type": kind, "origin": "manual", "value": value}


def choices(*chosen: str, control: str = "diagnosis") -> dict:
    return result("choices", {"choices": list(chosen)}, control)


def annotation(who, *results, **more) -> dict:
    """An annotation as it stands in an export."""
    fixed = {"id": 1001, "was_cancelled": False, "ground_truth": False, "lead_time": 4.2, "result_count": len(results)}
    return fixed | {"completed_by": who, "result": list(results)} | more


def task(number, *annotations, **more) -> dict:
    """A task as it stands in an export, with a model's prediction, which is none of an annotator's."""
    fixed = {"id": number, "data": {"image": "https://example.com/1.jpg"}, "project": 83}
    return fixed | {"annotations": list(annotations), "predictions": [{"result": [choices("never")]}]} | more


REGION = result("rectanglelabels", {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["car"]}, "box")
RELATION = {"from_id": "a", "to_id": "b", "type": "relation", "direction": "right"}


ALTERNATIVES = ["Ann: the first", "Bob, Jr.", "Cyd", "Dan"]


def election(votes: str, names=ALTERNATIVES, **head) -> str:
    counts = [int(line.split(":")[0]) for line in votes.splitlines()]
    head = {"number_alternatives": len(names), "number_voters": sum(counts), "number_unique_orders": len(counts)} | head
    lines = ["# FILE NAME: e.toi", "# TITLE: An election", "# RELATES TO: "]
    lines += [f"# {key.replace('_', ' ').upper()}: {value}" for key, value in head.items()]
    lines += [f"# ALTERNATIVE NAME {number}: {name}" for number, name in enumerate(names, 1)]
    return "\n".join([*lines, votes]) + "\n"


def rows(names, *values):
    return [dict(zip(names, row, strict=True)) for row in values]


MTURK = rows(
    ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.url", "Answer.tone"],
    ("h1", 1, "a", "Approved", "p", "x"),
    ("h1", 2, "b", "Submitted", "p", "y"),
    ("h2", 3, "a", "Approved", "q", "x"),
    ("h2", 4, "b", "Approved", "q", "x"),
    ("h2", 5, "c", "Rejected", "q", "y"),
)
TOLOKA = rows(
    ["INPUT:image", "OUTPUT:tone", "GOLDEN:tone", "HINT:text", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"],
    ("p", "x", "", "", "a", "APPROVED"),
    ("p", "y", "", "", "b", "APPROVED"),
    ("q", "x", "", "", "a", "SUBMITTED"),
    ("q", "x", "", "", "b", "ACCEPTED"),
    ("r", "y", "x", "", "b", "APPROVED"),
    ("q", "y", "", "", "c", "REJECTED"),
)
CROWDFLOWER = rows(
    ["_unit_id", "_golden", "_id", "_tainted", "_trust", "_worker_id", "tone", "tone_gold", "text"],
    ("p", "false", 1, "false", 0.9, "a", "x", "", "t"),
    ("p", "false", 2, "false", 0.8, "b", "y", "", "t"),
    ("q", "false", 3, "false", 0.9, "a", "x", "", "u"),
    ("q", "false", 4, "false", 0.8, "b", "x", "", "u"),
    ("r", "true", 5, "false", 0.8, "b", "x", "x", "v"),
    ("q", "false", 6, "true", 0.2, "c", "y", "", "u"),
)
ZOONIVERSE = rows(
    ["classification_id", "user_name", "user_id", "workflow_id", "annotations", "subject_data", "subject_ids"],
    *(
        (n, who, "", 7, json.dumps([{"task": "T0", "task_label": "Tone?", "value": tone}]), "{}", case)
        for n, (case, who, tone) in enumerate([*zip("ppqq", "abab", "xyxx", strict=True), ("q", "c", None)])
    ),
)
LABEL_STUDIO_MIN = rows(
    ["annotation_id", "annotator", "created_at", "id", "lead_time", "text", "tone", "updated_at"],
    *((n, who, "2024", case, 1.5, f"text {case}", tone, "2024")
      for n, (case, who, tone) in enumerate(zip("ppqq", "abab", "xyxx", strict=True))),
)  # fmt: skip
DOCCANO_CSV = rows(["id", "text", "label", "Comments"], (1, "t", "x", ""), (2, "u", "x#y", ""))

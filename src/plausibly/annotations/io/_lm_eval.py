"""Samples that lm-evaluation-harness logs as JSON lines (``--log_samples``), version 0.4.

A document is a case, by its ``doc_id``. Metrics are questions (the fields that ``metrics`` names, or else those that
hold a number), answered with that number; the rater is the filter that found the model's answer, or the metric itself
where nothing was filtered. ``answer``, the filtered response (of multiple choice the number of the likeliest choice,
from 0), and ``target`` are not verdicts. The system is the folder that the harness writes the samples of a model to.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plausibly.annotations.io.answers import is_list, to_name
from plausibly.annotations.io.verdicts import TARGET, Output, Verdict, list_in, record_of

if TYPE_CHECKING:
    from plausibly.annotations.io.source import Source

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

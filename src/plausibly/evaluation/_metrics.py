"""Metrics by their names in results, and which names are left for those of the user's own."""

from collections.abc import Iterable, Mapping, Sequence

from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError
from plausibly.metrics import METRICS, Metric
from plausibly.metrics._user import Function, as_metric, check_function

_COORDINATES = ("classifier", "draw", "chain", "case", "risk_level", "replicate")


def metric_names(ks: Sequence[int], own: Iterable[str] = ()) -> dict[str, tuple[str, int]]:
    """List metrics and lengths by their names in results; user-defined metrics come last, with length 0.

    Examples
    --------
    >>> metric_names([3], ["brier"])["top3_overlap"], metric_names([3], ["brier"])["brier"]
    (('overlap', 3), ('brier', 0))
    """
    return {f"top{k}_{name}": (name, k) for k in ks for name in METRICS} | {name: (name, 0) for name in own}


def check_metrics(metrics: Mapping[str, Metric | Function], n_classes: int) -> dict[str, Metric]:
    """Refuse user-defined metrics that are not metrics or whose names are taken."""
    if not isinstance(metrics, Mapping):
        raise ArgumentError(
            f"metrics must be a mapping from names, but {_show(metrics)} was given: write for example "
            '{"mine": function}.'
        )
    found = {}
    for name, given in metrics.items():
        name = str(name)
        if name in found:
            raise ArgumentError(f"two metrics have the name {name!r}: give each a name of its own.")
        taken = name.startswith(
            (
                "top",
                "annotation_certainty",
                "annotator_agreement",
                "risk_",
                "expected_",
                "expert_",
                "human_",
                "mutual_",
                "score_certainty",
                "prior_",
            )
        )
        if (
            taken
            or name in ("case_weight", *_COORDINATES)
            or name.endswith(("_by_case", "_point", "_total", "_sampling"))
        ):
            raise ArgumentError(
                f"a metric must have a name of its own, but {name!r} looks like one of the package's: rename it."
            )
        found[name] = as_metric(given)
        check_function(found[name].function, n_classes, f"metric {name!r}")
    return found

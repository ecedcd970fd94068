"""What a range of neighbouring cases gives: sums over its cases, to be added to those of others, and means by case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations import Annotations
from plausibly.annotators import annotator_agreement
from plausibly.cluster import Once
from plausibly.errors import ArgumentError
from plausibly.evaluation._accumulators import CoverageTotals, ListTotals, UserTotals, list_metric, list_rows
from plausibly.evaluation._metrics import METRICS, SMALLER
from plausibly.evaluation._risk import RiskTotals, level_plausibility
from plausibly.evaluation._slices import Part, Source
from plausibly.evaluation._weights import Weighing
from plausibly.metrics import Metric
from plausibly.metrics._frequent_sets import mode_share
from plausibly.metrics._lists import ranked_classes
from plausibly.random_streams import Stream, as_key


@dataclass(frozen=True)
class Found:
    """What is known of a range of cases.

    Attributes
    ----------
    sums
        Over its cases, by draw and at the point estimate.
    by_case
        Dimensions and values of what is finished, in single precision.
    """

    sums: dict[str, np.ndarray]
    by_case: dict[str, tuple[tuple[str, ...], np.ndarray]]

    def write(self, path: Path) -> None:
        """Write it as NumPy's archive."""
        arrays = {f"sum {name}": values for name, values in self.sums.items()}
        arrays |= {f"{' '.join(dims)}|{name}": values for name, (dims, values) in self.by_case.items()}
        with path.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def read(cls, path: Path) -> "Found":
        """Read what :meth:`write` wrote."""
        found = cls({}, {})
        with np.load(path, allow_pickle=False) as arrays:
            for key in arrays.files:
                if key.startswith("sum "):
                    found.sums[key.removeprefix("sum ")] = arrays[key]
                else:
                    dims, name = key.split("|", 1)
                    found.by_case[name] = tuple(dims.split()), arrays[key]
        return found


def join(parts: Iterable[Found], n_cases: int) -> Found:
    """Add up what ranges gave, in their order, and put their cases one after the other."""
    whole = Found({}, {})
    at = 0
    for part in parts:
        for name, values in part.sums.items():
            whole.sums[name] = whole.sums[name] + values if name in whole.sums else values
        size = 0
        for name, (dims, values) in part.by_case.items():
            axis = dims.index("case")
            if name not in whole.by_case:
                shape = (*values.shape[:axis], n_cases, *values.shape[axis + 1 :])
                whole.by_case[name] = dims, np.empty(shape, values.dtype)
            size = values.shape[axis]
            whole.by_case[name][1][(slice(None),) * axis + (slice(at, at + size),)] = values
        at += size
    return whole


class Evaluation:
    """Evaluates all cases, or a range of them, which is an evaluation in itself.

    Parameters
    ----------
    source, annotations, certainty
        Draws, annotations and, of scores, certainties of all cases.
    scores
        Of each classifier, all cases.
    ks, sizes, own, ties, risks, weights
        As for :func:`plausibly.evaluate`, checked.
    """

    def __init__(
        self,
        source: Source,
        annotations: Annotations,
        scores: Sequence[Float[np.ndarray, "case class"]],
        *,
        certainty: Float[np.ndarray, " case"] | None,
        ks: Sequence[int],
        sizes: Sequence[int],
        own: Mapping[str, Metric],
        ties: str,
        risks: Int[np.ndarray, " class"] | None,
        weights: Weighing | None,
    ):
        self._source, self._annotations, self._scores, self._certainty = source, annotations, scores, certainty
        self._ks, self._sizes, self._own, self._ties = ks, sizes, own, ties
        self._risks, self._weights = risks, weights
        self._depth = max(ks) if scores else 1
        self._own_once: Any = Once(own)

    def range(self, cases: slice, usual: int) -> "Evaluation":
        """Return the evaluation of neighbouring cases alone.

        Parameters
        ----------
        cases
            Which.
        usual
            How many there are in most ranges, whose shapes others share.
        """
        if cases == slice(0, self._source.n_cases):
            return self
        part = copy(self)
        part._source = self._source.range(cases, usual)
        part._annotations = self._annotations.select(np.arange(cases.start, cases.stop))
        part._scores = [values[cases] for values in self._scores]
        part._certainty = None if self._certainty is None else self._certainty[cases]
        part._weights = None if self._weights is None else self._weights.range(cases)
        return part

    def loaded(self) -> "Evaluation":
        """Return the same with everything in memory, to be sent to another process."""
        part = copy(self)
        part._source = self._source.loaded()
        part._scores = [np.array(values) for values in self._scores]
        part._own = self._own_once
        return part

    def compute(self, advance: Callable[[int], None] = lambda n: None) -> Found:
        """Evaluate.

        Parameters
        ----------
        advance
            Told how many cases more are done.
        """
        source, scores = self._source, self._scores
        weights = None if self._weights is None else self._weights.of(source)
        words = source.words[Stream.PREDICTIONS] if self._ties == "random" else None
        predicted = [_predicted_lists(values, max(self._ks), words).T for values in scores]

        certainty = np.empty((len(self._sizes), source.n_cases), np.float32)
        risk = None if self._risks is None else RiskTotals(source.n_cases, self._risks)

        def of_annotations(part: Part, lists: Int[np.ndarray, "place case draw"]) -> None:
            for row, size in enumerate(self._sizes):
                certainty[row, part.cases] = mode_share(lists[:size], part.n_classes)
            if risk is not None:
                levels = level_plausibility(part.by_slot, part.slots, part.words, self._risks, part.concentration)
                risk.add(part.cases, lists[0], levels)
            advance(len(part.cases))

        depth = max([self._depth, *self._sizes])
        sums, over_draws = self._pass(
            source, source.draws(), source.n_draws, depth, scores, predicted, weights, of_annotations
        )
        sums["draws"] = np.float64(source.n_cases) if weights is None else weights.sum(axis=0, dtype=np.float64)
        by_case = self._by_case(over_draws, source.n_draws, weights, self._annotations.cases)
        mean = None if weights is None else weights.mean(axis=1, keepdims=True)
        if scores:
            at_point, _ = self._pass(source, source.point(), 1, self._depth, scores, predicted, mean)
            sums |= {f"point {name}": values for name, values in at_point.items()}
        sums["point"] = np.float64(source.n_cases) if mean is None else mean.sum(dtype=np.float64)
        for size, values in zip(self._sizes, certainty, strict=True):
            by_case[f"annotation_certainty_{size}"] = ("case",), values
        if risk is not None:
            by_case |= risk.variables()
        if mean is not None:
            by_case["case_weight"] = ("case",), mean[:, 0]
        if self._certainty is not None:
            by_case["score_certainty"] = ("case",), self._certainty
        by_case["annotator_agreement"] = ("case",), annotator_agreement(self._annotations).astype(np.float32)
        return Found(sums, by_case)

    def _pass(self, source, parts, n_draws, depth, scores, predicted, weights, of_annotations=None):
        """One pass over the draws, or over the point estimate: sums over cases, and over draws."""
        size = source.size(n_draws)
        lists_of = [ListTotals(own, self._ks, n_draws, size) for own in predicted]
        split = of_annotations is not None
        covered = CoverageTotals(predicted, self._ks, n_draws, source.slots, source.n_classes, split=split)
        user = UserTotals(self._own, scores, n_draws)
        for part in parts:
            own = None if weights is None else weights[part.cases]
            lists = part.lists(depth, self._ties)
            for totals in lists_of:
                totals.add(part, lists, own)
            covered.add(part, own)
            user.add(part, own)
            if of_annotations is not None:
                of_annotations(part, lists)
        found = []
        for form, n in (("by_draw", n_draws), ("by_case", source.n_cases)):
            empty = np.empty((0, len(list_rows(self._ks)), n))
            lists = np.concatenate([empty, *([getattr(totals, form)] for totals in lists_of)])
            found.append({"lists": lists, "covered": getattr(covered, form), "user": getattr(user, form)})
        return found

    def _metric(self, sums: Mapping[str, np.ndarray], name: str) -> Float[np.ndarray, "classifier n"]:
        """Sums of a metric, over cases or over draws."""
        if not self._scores:
            return sums["covered"][:, 0]
        if name in self._own:
            return sums["user"][list(self._own).index(name)]
        k, metric = name.removeprefix("top").split("_", 1)
        if metric == "coverage":
            return sums["covered"][:, self._ks.index(int(k))]
        return list_metric(sums["lists"], self._ks, metric, int(k))

    @property
    def _names(self) -> list[str]:
        return [f"top{k}_{metric}" for k in self._ks for metric in METRICS] + list(self._own)

    def _by_case(self, sums, n_draws, weights, cases) -> dict[str, Any]:
        total = n_draws if weights is None else weights.sum(axis=1, dtype=np.float64)
        by_case = {}
        with np.errstate(invalid="ignore"):  # 0 / 0 where nothing has weight
            for name in self._names:
                values = self._metric(sums, name)
                if name in self._own:
                    _check_finite(name, values, cases)
                by_case[f"{name}_by_case"] = ("classifier", "case"), (values / total).astype(np.float32)
        return by_case

    def variables(self, found: Found) -> dict[str, Any]:
        """From the sums over all cases to means; with what is known by case."""
        variables: dict[str, Any] = {}
        at_point = {name.removeprefix("point "): found.sums[name] for name in found.sums if name.startswith("point ")}
        with np.errstate(invalid="ignore"):
            for name in self._names:
                less = self._own[name].better == "smaller" if name in self._own else name.split("_", 1)[1] in SMALLER
                attrs = {"better": "smaller" if less else "greater"}
                point = self._metric(at_point, name)[:, 0] if at_point else np.empty(0)
                variables[name] = ("classifier", "draw"), self._metric(found.sums, name) / found.sums["draws"], attrs
                variables[f"{name}_by_case"] = found.by_case[f"{name}_by_case"]
                variables[f"{name}_point"] = ("classifier",), point / found.sums["point"]
        return variables | found.by_case


def _check_finite(name: str, over_draws: Float[np.ndarray, "classifier case"], cases: np.ndarray) -> None:
    """A mean over some of the draws would be another quantity, and infinities have no differences."""
    for row, case in np.argwhere(~np.isfinite(over_draws))[:1]:
        raise ArgumentError(
            f"metric {name!r} must be finite in every draw, but it is not for case {str(cases[case])!r} and "
            f"classifier {row + 1}: write it so that it is, for example with jnp.where."
        )


def _predicted_lists(scores, depth, words) -> Int[np.ndarray, "case place"]:
    """Rank the scores of a classifier; equal scores give equal lists, also with random ties."""
    tie_break = None if words is None else np.asarray(_uniform(words, scores.shape[1]))
    return ranked_classes(scores, depth, tie_break)


@partial(jax.jit, static_argnames="n_classes")
def _uniform(words, n_classes):
    return jax.vmap(lambda word: jax.random.uniform(as_key(word), (n_classes,)))(words)

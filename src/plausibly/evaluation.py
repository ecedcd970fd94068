"""Evaluating classifiers against a posterior: every metric by draw, by case and at the point estimate."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from os import PathLike
from typing import Any, Literal

import jax
import numpy as np
import pandas as pd
import xarray as xr
from jax.typing import ArrayLike
from jaxtyping import Int

from plausibly._arviz import Posterior
from plausibly._progress import Progress
from plausibly._risk import RiskTotals, level_plausibility
from plausibly._sets import mode_share
from plausibly._slices import PAIRS, Part, Source
from plausibly._streams import Stream, as_key
from plausibly._totals import CoverageTotals, ListTotals, UserTotals, Weights
from plausibly.annotations import read_risks
from plausibly.annotations._names import _show, some
from plausibly.annotators import annotator_agreement
from plausibly.errors import ArgumentError
from plausibly.metrics import Metric
from plausibly.metrics._inputs import check_size, check_ties
from plausibly.metrics._lists import ranked_classes
from plausibly.metrics._risk import N_LEVELS
from plausibly.metrics._user import Function, as_metric, check_function
from plausibly.posterior import annotations_of, opened
from plausibly.predictions import named_predictions, read_predictions

METRICS = (
    "accuracy",
    "set_accuracy",
    "overlap",
    "average_overlap",
    "coverage",
    "kendall_tau",
    "spearman_footrule",
)
SMALLER = ("kendall_tau", "spearman_footrule")  #: metrics of which less is better
INTERVAL = 0.94
SIZES = (1, 2, 3)  #: of lists, and of the sets whose annotation certainty is reported, unless others are asked for


def evaluate(
    posterior: Posterior | str | PathLike,
    predictions: Mapping[str, Any],
    *,
    k: int | Sequence[int] | None = None,
    sizes: int | Sequence[int] | None = None,
    risks: Any = None,
    metrics: Mapping[str, Metric | Function] | None = None,
    weights: ArrayLike | None = None,
    ties: Literal["order", "random"] = "order",
    seed: int = 0,
    progress: bool = False,
) -> xr.Dataset:
    """Measure classifiers, and the annotations themselves, against draws of the plausibilities.

    Draws are read in slices of cases and never held dense: a posterior that does not fit into memory is given by the
    name of its file, or as :func:`plausibly.load` with ``lazy=True`` returns it. The work grows in proportion to draws,
    cases and classifiers.

    Parameters
    ----------
    posterior
        From :func:`plausibly.aggregate` or :func:`plausibly.load`, or a file of :func:`plausibly.save`.
    predictions
        Scores of each classifier by its name: an array (case, class), a data frame, or a path that
        :func:`plausibly.read_predictions` understands. It may be empty.
    k
        Lengths of the lists, each at most the number of classes; by default 1, 2 and 3, as far as there are so many.
    sizes
        Sizes of the sets whose annotation certainty to report; by default 1, 2 and 3, as far as there are so many
        classes.
    risks
        Risk level of each class, 0 (low), 1 or 2 (high), in any form that :func:`plausibly.read_risks` understands.
    metrics
        Metrics of your own by name: functions of one case's scores (class,) and plausibilities (class,), in JAX, to a
        number; or :class:`plausibly.metrics.Metric`, which says whether less is better. They need the plausibilities of
        single classes, and so take far longer than the others.
    weights
        How much each case counts, (case,), or how much in each draw, (draw, case): not negative. A pandas Series with
        names of cases for an index, or an xarray DataArray with a coordinate "case", goes by name. With weights that
        are the probability, or in each draw the fact, of belonging to a subgroup, results are those of the subgroup;
        see :func:`plausibly.risk_weights`. In each draw a metric is the weighted mean over cases, NaN in a draw in
        which none has weight; at the point estimate a case weighs what it does on average.
    ties
        Equal scores, and equal plausibilities, in class order (``"order"``) or at random (``"random"``).
    seed
        Of the split of the remainder among the unnamed classes, and of random ties.
    progress
        Show a bar.

    Returns
    -------
    xarray.Dataset
        For each k, with X one of ``accuracy``, ``set_accuracy``, ``overlap``, ``average_overlap``, ``coverage``,
        ``kendall_tau`` and ``spearman_footrule``: ``top{k}_X`` (classifier, draw), the mean over cases;
        ``top{k}_X_by_case`` (classifier, case), the mean over draws; ``top{k}_X_point`` (classifier), at the model's
        point estimate. The attribute ``better`` of the first says which way is better. Your own metrics likewise.

        ``annotation_certainty_{size}`` (case) and ``annotator_agreement`` (case), see
        :func:`plausibly.annotator_agreement`. With ``risks``: ``risk_certainty`` (case), the share of draws that agree
        on the risk of the most plausible class; ``risk_level_certainty`` (case), on the level of the greatest
        plausibility; ``risk_plausibility`` (case, risk_level), the mean over draws; ``expected_risk_mean``, ``_min``
        and ``_max`` over draws (case). Of a posterior of scores: ``score_certainty`` (case), the greater of the
        probabilities up to the threshold and above, averaged over the posterior. With ``weights``: ``case_weight``
        (case), the mean over draws.

        Draws are those of all chains, one after the other; ``chain`` says which they are of. Coverage splits the
        remainder among the classes that any of the classifiers lists: one more classifier gives the others' coverage
        other random numbers, of the same law.

    Raises
    ------
    ArgumentError
        If ``posterior`` is none, two classifiers share a name or one has none, ``k``, ``sizes`` or ``ties`` is out of
        range, weights do not fit or are negative, or a metric is no function of two vectors to a number or has the
        name of another.
    PredictionError
        If predictions do not fit the cases or classes, or are not finite.
    FileError
        If a file cannot be read.
    AnnotationError
        If ``risks`` do not fit the classes.

    References
    ----------
    Stutz et al. (2025), sections 2.4, 2.5 and 3.3, arXiv 2307.02191.

    Examples
    --------
    >>> from plausibly.annotations import Annotations, Slots
    >>> from plausibly.posterior import build_posterior
    >>> annotations = Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]])
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=[0.4, 0.6, 0], concentration=1.0)
    >>> results = evaluate(posterior, {"A": np.array([[0.2, 0.7, 0.1]])}, k=(1, 2))
    >>> results["top1_accuracy"].values.tolist(), results["top1_accuracy_point"].values.tolist()
    ([[0.0, 1.0]], [1.0])
    """
    named = named_predictions(predictions)
    from_file = isinstance(posterior, str | PathLike)
    with opened(posterior) if from_file else nullcontext(posterior) as source, Progress(progress) as bars:
        annotations = annotations_of(source)
        n_classes = annotations.n_classes
        k = [size for size in SIZES if size <= n_classes] if k is None else _several(k)
        ks = list(dict.fromkeys(check_size("k", size, n_classes) for size in k))
        if not ks:
            raise ArgumentError("k must name the length of a list, but none was given: choose some, such as (1, 3).")
        sizes = [size for size in SIZES if size <= n_classes] if sizes is None else _several(sizes)
        sizes = list(dict.fromkeys(check_size("sizes", size, n_classes) for size in sizes))
        check_ties(ties)
        own = check_metrics({} if metrics is None else metrics, n_classes)
        levels = None if risks is None else np.asarray(read_risks(risks, annotations.classes))
        draws = Source(source, seed, PAIRS)
        weights = None if weights is None else _check_weights(weights, draws.n_draws, annotations.cases)
        scores = [read_predictions(given, annotations) for given in named.values()]
        evaluation = _Evaluation(draws, scores, ks, own, ties, annotations.cases)
        advance = bars.task("Evaluating", draws.n_cases, "cases")
        found = evaluation.run(weights, sizes, levels, advance)
        agreement = annotator_agreement(annotations)
        if "score_certainty" in source["constant_data"]:
            found["score_certainty"] = ("case",), source["constant_data"]["score_certainty"].values
        attrs = {name: source.attrs[name] for name in ("model", "reliability") if name in source.attrs}
    variables = found | {"annotator_agreement": (("case",), agreement.astype(np.float32))}
    coords = {
        "classifier": np.array(list(named), dtype=str),
        "draw": np.arange(draws.n_draws),
        "chain": ("draw", np.repeat(np.arange(draws.n_chains), draws.draws_per_chain)),
        "case": annotations.cases,
    }
    if levels is not None:
        coords["risk_level"] = np.arange(N_LEVELS)
    return xr.Dataset(variables, coords=coords, attrs=attrs | {"ties": ties, "seed": seed})


def summary(results: xr.Dataset) -> pd.DataFrame:
    """Tabulate the data-set metrics of an evaluation.

    Parameters
    ----------
    results
        From :func:`evaluate`.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and metric: ``mean``, ``sd``, equal-tailed 94 % interval (``lower``, ``upper``), greatest
        and least value (``best``, ``worst``; the other way round where less is better) over the draws, and ``point``,
        the value at the model's point estimate. Draws in which a subgroup has no case are left out.

    Examples
    --------
    >>> accuracy = xr.DataArray([[0.5, 0.7]], dims=("classifier", "draw"), coords={"classifier": ["A"]})
    >>> table = summary(xr.Dataset({"top1_accuracy": accuracy, "top1_accuracy_point": accuracy[:, 0]}))
    >>> table[["classifier", "metric", "mean", "point"]].values.tolist()
    [['A', 'top1_accuracy', 0.6, 0.5]]
    """
    tail = (1 - INTERVAL) / 2
    rows = []
    for position, classifier in enumerate(results["classifier"].values):
        for metric, variable in results.data_vars.items():
            if variable.dims != ("classifier", "draw"):
                continue
            values = variable.values[position]
            values = values[~np.isnan(values)]
            least, greatest = values.min(), values.max()
            if variable.attrs.get("better") == "smaller":
                least, greatest = greatest, least
            lower, upper = np.quantile(values, [tail, 1 - tail])
            rows.append(
                {
                    "classifier": str(classifier),
                    "metric": metric,
                    "mean": values.mean(),
                    "sd": values.std(ddof=1) if len(values) > 1 else 0.0,
                    "lower": lower,
                    "upper": upper,
                    "best": greatest,
                    "worst": least,
                    "point": float(results[f"{metric}_point"].values[position]),
                }
            )
    columns = ["classifier", "metric", "mean", "sd", "lower", "upper", "best", "worst", "point"]
    return pd.DataFrame(rows, columns=columns)


class _Evaluation:
    """One pass over the draws, and one over the point estimate."""

    def __init__(
        self, source: Source, scores: Sequence[np.ndarray], ks: Sequence[int], own, ties: str, names: np.ndarray
    ):
        self._names = names
        self._source, self._scores, self._ks, self._own, self._ties = source, scores, ks, own, ties
        self._depth = max(ks) if scores else 1
        words = source.words[Stream.PREDICTIONS] if ties == "random" else None
        self._predicted = [_predicted_lists(values, max(ks), words) for values in scores]

    def run(self, weights, sizes, risks, advance):
        """Compute the variables of the results."""
        source = self._source
        certainty = np.empty((len(sizes), source.n_cases), np.float32)
        risk = None if risks is None else RiskTotals(source.n_cases, risks)

        def of_annotations(part: Part, lists: Int[np.ndarray, "place case draw"]) -> None:
            for row, size in enumerate(sizes):
                certainty[row, part.cases] = mode_share(lists[:size], part.n_classes)
            if risk is not None:
                levels = level_plausibility(part.by_slot, part.slots, part.words, risks, part.concentration)
                risk.add(part.cases, lists[0], levels)
            advance(len(part.cases))

        depth = max([self._depth, *sizes])
        totals = self._pass(source.draws(), source.n_draws, depth, weights, of_annotations)
        mean_weight = None if weights is None else weights.mean(axis=1, keepdims=True)
        at_point = self._pass(source.point(), 1, self._depth, mean_weight) if self._scores else None
        variables = self._variables(totals, at_point, weights, mean_weight)
        for size, values in zip(sizes, certainty, strict=True):
            variables[f"annotation_certainty_{size}"] = ("case",), values
        if risk is not None:
            variables |= risk.variables()
        if mean_weight is not None:
            variables["case_weight"] = ("case",), mean_weight[:, 0]
        return variables

    def _pass(self, parts, n_draws, depth, weights, of_annotations=None):
        source = self._source
        size = source.size(n_draws)
        lists_of = [ListTotals(predicted.T, self._ks, n_draws, size) for predicted in self._predicted]
        listed = [predicted.T for predicted in self._predicted]
        split = of_annotations is not None
        covered = CoverageTotals(listed, self._ks, n_draws, source.slots, source.n_classes, split=split)
        user = UserTotals(self._own, self._scores, n_draws)
        for part in parts:
            own = None if weights is None else weights[part.cases]
            lists = part.lists(depth, self._ties)
            for totals in lists_of:
                totals.add(part, lists, own)
            covered.add(part, own)
            user.add(part, own)
            if of_annotations is not None:
                of_annotations(part, lists)
        return lists_of, covered, user

    def _variables(self, totals, at_point, weights, mean_weight) -> dict[str, Any]:
        """From sums to means, in the three forms of a metric."""
        by_draw, by_case = self._source.n_cases, self._source.n_draws
        if weights is not None:
            by_draw, by_case = weights.sum(axis=0, dtype=np.float64), weights.sum(axis=1, dtype=np.float64)
        total = self._source.n_cases if mean_weight is None else mean_weight.sum(dtype=np.float64)
        names = {f"top{k}_{metric}": (metric, k) for k in self._ks for metric in METRICS} | dict.fromkeys(self._own)
        variables = {}
        with np.errstate(invalid="ignore"):  # 0 / 0 where nothing has weight
            for name, what in names.items():
                over_cases, over_draws = _sums(totals, name, what, self._source)
                if what is None:
                    self._check_finite(name, over_draws)
                point = np.empty(0) if at_point is None else _sums(at_point, name, what, self._source)[0][:, 0]
                less = self._own[name].better == "smaller" if what is None else what[0] in SMALLER
                attrs = {"better": "smaller" if less else "greater"}
                variables[name] = ("classifier", "draw"), over_cases / by_draw, attrs
                variables[f"{name}_by_case"] = ("classifier", "case"), (over_draws / by_case).astype(np.float32)
                variables[f"{name}_point"] = ("classifier",), point / total
        return variables

    def _check_finite(self, name, over_draws):
        """A mean over some of the draws would be another quantity, and infinities have no differences."""
        for row, case in np.argwhere(~np.isfinite(over_draws))[:1]:
            raise ArgumentError(
                f"metric {name!r} must be finite in every draw, but it is not for case {str(self._names[case])!r} and "
                f"classifier {row + 1}: write it so that it is, for example with jnp.where."
            )


def _sums(totals, name, what, source):
    """Sums of a metric over cases (classifier, draw), and over draws (classifier, case)."""
    lists_of, covered, user = totals
    if not lists_of:
        return np.empty((0, source.n_draws)), np.empty((0, source.n_cases))
    if what is None:
        return user.metric(name)
    metric, k = what
    if metric == "coverage":
        return covered.metric(k)
    found = [of.metric(metric, k) for of in lists_of]
    return tuple(np.stack([one[at] for one in found]) for at in (0, 1))


def check_metrics(metrics: Mapping[str, Metric | Function], n_classes: int) -> dict[str, Metric]:
    """Refuse metrics of the user's own that are none, or whose names are taken."""
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
            ("top", "annotation_certainty", "annotator_agreement", "risk_", "expected_risk", "score_certainty")
        )
        if taken or name in ("case_weight", *_COORDINATES) or name.endswith(("_by_case", "_point")):
            raise ArgumentError(
                f"a metric must have a name of its own, but {name!r} looks like one of the package's: rename it."
            )
        found[name] = as_metric(given)
        check_function(found[name].function, n_classes, f"metric {name!r}")
    return found


_LEAST = 1e-20  # of the greatest weight: sums in single precision must neither vanish nor overflow
_COORDINATES = ("classifier", "draw", "chain", "case", "risk_level")


def _by_name(weights: Any, cases: np.ndarray) -> Any:
    """Put weights that know their cases, a pandas Series or an xarray DataArray, into the order of the cases.

    A Series whose index counts 0, 1, … is in their order already.
    """
    if isinstance(weights, xr.DataArray):
        if "case" not in weights.dims or "case" not in weights.coords:
            return weights
        known, axis = pd.Index(weights["case"].values), weights.dims.index("case")
    elif isinstance(weights, pd.Series) and not weights.index.equals(pd.RangeIndex(len(weights))):
        known, axis = weights.index, 0
    else:
        return weights
    known = known.astype(str)
    if not known.is_unique:
        name = known[known.duplicated()][0]
        raise ArgumentError(f"weights name the case {name!r} several times: give each case one.")
    place = known.get_indexer(pd.Index(cases.astype(object)))
    if (place < 0).any():
        raise ArgumentError(f"there is no weight for case {some(cases[place < 0])}: weigh every case, by its name.")
    if len(known) > len(cases):
        extra = known.difference(pd.Index(cases.astype(object)))
        raise ArgumentError(f"there is a weight for case {some(extra)}, which nobody annotated: remove it.")
    return np.take(np.asarray(weights), place, axis=axis)


def _check_weights(weights: ArrayLike, n_draws: int, cases: np.ndarray) -> Weights:
    """Refuse weights that do not fit; draws run fastest in what is returned."""
    n_cases = len(cases)
    weights = _by_name(weights, cases)
    try:
        values = np.asarray(weights)
    except ValueError as error:
        raise ArgumentError("weights must be an array, but rows differ in length: mend them.") from error
    if values.dtype.kind not in "biuf":
        raise ArgumentError(f"weights must be numbers, but {_show(weights)} was given: convert them to numbers.")
    if values.shape not in ((n_cases,), (n_draws, n_cases)):
        raise ArgumentError(
            f"weights must have the shape (case,), {(n_cases,)}, or (draw, case), {(n_draws, n_cases)}, but the shape "
            f"is {values.shape}: give one weight per case, or per draw and case."
        )
    wrong = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        place = tuple(int(at) for at in wrong[0])
        raise ArgumentError(
            f"weights must be finite numbers that are not negative, but {values[place]} stands at {place}: mend it, or "
            "give 0 to what does not count."
        )
    if not values.any():
        raise ArgumentError("weights must not all be 0, but they are: give weight to at least one case.")
    if not _LEAST <= values.max() <= 1 / _LEAST:
        raise ArgumentError(
            f"the greatest weight must be between {_LEAST:g} and {1 / _LEAST:g}, but it is {values.max()}: scale them, "
            "since only their ratios count."
        )
    values = values.astype(np.float32)
    return np.ascontiguousarray(np.broadcast_to(values, (n_draws, n_cases)).T)


def _several(numbers: int | Sequence[int]) -> Sequence[int]:
    return [numbers] if np.ndim(numbers) == 0 else list(numbers)


def _predicted_lists(scores, depth, words) -> Int[np.ndarray, "case place"]:
    """Rank the scores of a classifier; equal scores give equal lists, also with random ties."""
    tie_break = None if words is None else np.asarray(_uniform(words, scores.shape[1]))
    return ranked_classes(scores, depth, tie_break)


@partial(jax.jit, static_argnames="n_classes")
def _uniform(words, n_classes):
    return jax.vmap(lambda word: jax.random.uniform(as_key(word), (n_classes,)))(words)

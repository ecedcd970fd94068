"""What is inferred of single annotators: reliabilities, accuracies, and how they confuse classes."""

import json

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.base.arviz import Posterior, to_groups
from plausibly.base.bootstrap import CI_PROB, check_probability, median_and_ends
from plausibly.base.errors import ArgumentError
from plausibly.base.names import figures
from plausibly.data.groups import OTHERS, codes_of_annotators
from plausibly.posterior._container import check_posterior


def annotator_reliabilities(posterior: Posterior, ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Tabulate how reliable each annotator is, and how strongly the estimate is shrunk towards the others.

    The shrinkage follows Gelman & Pardoe (2006), Bayesian measures of explained variance and pooling in multilevel
    (hierarchical) models, Technometrics 48.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.infer_reliability` with ``per="annotator"``.
    ci_prob
        Probability of the equal-tailed intervals.

    Returns
    -------
    pandas.DataFrame
        One row per annotator, the most reliable first: ``annotator``, the number of ``annotations``, the median
        ``reliability``, ``lower``, ``upper``, ``shrinkage`` and ``converged``. Shrinkage is the posterior variance of
        the annotator's standardised deviation from the mean log reliability, whose prior variance is 1: at 1 the
        estimate depends only on the other annotators, at 0 only on the annotator's own annotations.
    """
    check_posterior(posterior)
    group = posterior["posterior"]
    if "annotator_reliability" not in group:
        raise ArgumentError(
            "this posterior has no reliabilities of single annotators: infer them by "
            "infer_reliability(annotations, per='annotator')."
        )
    check_probability("ci_prob", ci_prob)
    each = _draws(group["annotator_reliability"])
    mean, spread = (np.asarray(group[name]).reshape(-1, 1) for name in ("reliability", "spread"))
    deviation = (np.log(each) - np.log(mean)) / spread
    good = to_groups(posterior)["reliability_convergence"]["converged"].values[-each.shape[1] :]
    columns = median_and_ends("reliability", each, ci_prob)
    columns |= {"shrinkage": np.minimum(deviation.var(0), 1), "converged": good}
    return _by_annotator(posterior, "annotations", columns)


def annotator_accuracies(posterior: Posterior, ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Tabulate how often each annotator names the true class, under a model of one true class.

    Parameters
    ----------
    posterior
        Posterior of a model of one true class, such as ``"dawid-skene"`` or ``"one-coin"``.
    ci_prob
        Probability of the equal-tailed intervals.

    Returns
    -------
    pandas.DataFrame
        One row per annotator, the most accurate first: ``annotator``, the number of ``labels``, the median ``accuracy``
        (the share of correct labels if classes are as common as in the data), ``lower``, ``upper``, and ``converged``;
        ``chance``, the accuracy of labels as frequent as hers that look at no case, and ``always``, the class of all
        her labels, empty if they are of several.
        With ``annotator_groups``, also the ``group`` of each annotator, and how often it errs together: the median
        share of cases that look like another class than the true one to all of the group, ``together``, with
        ``together_lower`` and ``together_upper``. It is 0 for annotators of no group.

    Raises
    ------
    ArgumentError
        If the posterior has no accuracies, or the probability is out of range.

    Examples
    --------
    >>> answers = [["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]] * 9
    >>> labels = pb.Annotations.from_labels(answers, annotators=["ann", "bob", "cy"])
    >>> posterior = pb.aggregate(labels, "one-coin", draws=50, chains=2, warmup=20, progress=False)
    >>> annotator_accuracies(posterior)["annotator"].iloc[-1]
    'cy'
    """
    check_posterior(posterior)
    group = posterior["posterior"]
    if "accuracy" not in group:
        raise ArgumentError(
            "this posterior has no accuracies of annotators: aggregate labels by a model that assumes one true class, "
            "such as 'dawid-skene' or 'one-coin'."
        )
    check_probability("ci_prob", ci_prob)
    quantities = [f"accuracy of {name}" for name in group["annotator"].values]
    good = to_groups(posterior)["shared_convergence"]["converged"].sel(quantity=quantities).values
    columns = median_and_ends("accuracy", _draws(group["accuracy"]), ci_prob)
    groups = json.loads(posterior.attrs["arguments"]).get("annotator_groups")
    if groups is not None:
        names, code = codes_of_annotators(groups, group["annotator"].values)
        together = median_and_ends("together", _errors_together(group), ci_prob)
        columns |= {"group": names.astype(object)[code], "together": together["together"][code]}
        columns |= {f"together_{end}": together[end][code] for end in ("lower", "upper")}
    return _by_annotator(posterior, "labels", columns | {"converged": good} | _by_chance(posterior))


def _by_chance(posterior: Posterior) -> dict[str, np.ndarray]:
    """Accuracy of each annotator's labels if they looked at no case, and the class of all of them."""
    observed, group = posterior["observed_data"], posterior["posterior"]
    classes = np.asarray(posterior["constant_data"]["class_names"].values, str)
    counts = np.zeros((group.sizes["annotator"], len(classes)))
    who = observed["annotation_annotator"].values[observed["entry_annotation"].values]
    np.add.at(counts, (who, observed["entry_class"].values), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    prevalence = group["prevalence"].mean([*{*group["prevalence"].dims} - {"true_class"}])
    chance = shares @ prevalence.sel(true_class=classes).values
    always = np.where(shares.max(axis=1) == 1, classes[shares.argmax(axis=1)], "")
    return {"chance": chance, "always": always.astype(object)}


def group_sentences(table: pd.DataFrame) -> list[str]:
    """Say of each group in a table of annotators in how many cases its members err together.

    Examples
    --------
    >>> table = pd.DataFrame({"annotator": ["ann", "gpt", "llama"], "group": ["(others)", "models", "models"]})
    >>> group_sentences(table.assign(together=[0, 0.081, 0.081], together_lower=0.06, together_upper=0.11))
    ['The annotators of the group models err together in 8.1 % of cases [6 %, 11 %], in which they count as one.']
    """
    if "group" not in table:
        return []
    columns = ["group", "together", "together_lower", "together_upper"]
    return [
        f"The annotators of the group {name} err together in {figures(100 * middle)} % of cases "
        f"[{figures(100 * low)} %, {figures(100 * high)} %], in which they count as one."
        for name, middle, low, high in table.loc[table["group"] != OTHERS, columns].drop_duplicates("group").to_numpy()
    ]


def _errors_together(group: xr.Dataset) -> Float[np.ndarray, "draw group"]:
    """Share of cases that look like another class than the true one to all annotators of a group."""
    classes = group["true_class"].values
    looks = group["looks"].sel(look=classes).transpose("chain", "draw", "annotator_group", "true_class", "look")
    prevalence = group["prevalence"].transpose("chain", "draw", "true_class").values
    other = np.where(np.eye(len(classes), dtype=bool), 0, looks.values).sum(-1)
    found = (prevalence[:, :, None] * other).sum(-1)
    return found.reshape(-1, found.shape[-1])


COMMON = "(all)"  #: in place of an annotator: the confusion that annotators have in common


def annotator_confusions(posterior: Posterior, ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Tabulate which class each annotator names for each true class, under a model of one true class.

    With ``difficulty="by-case"``, it is which class she names for each one that she sees.

    Parameters
    ----------
    posterior
        Posterior of a model of one true class with confusion matrices, such as ``"dawid-skene"``.
    ci_prob
        Probability of the equal-tailed intervals.

    Returns
    -------
    pandas.DataFrame
        One row per annotator, ``true_class`` and ``named_class``: the median ``probability`` of naming the latter if
        the former is true, ``lower``, ``upper``. If the model has a common confusion matrix, of all annotators or one
        towards which they are pooled, its rows come first, with the annotator ``"(all)"``.

    Raises
    ------
    ArgumentError
        If the posterior has no confusion matrices, or the probability is out of range.

    Examples
    --------
    >>> labels = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]] * 9, annotators=["ann", "bob", "cy"])
    >>> posterior = pb.aggregate(labels, "dawid-skene", draws=50, chains=2, warmup=20, progress=False)
    >>> table = annotator_confusions(posterior).set_index(["annotator", "true_class", "named_class"])["probability"]
    >>> bool(table["cy", "a", "b"] > 0.5 > table["ann", "a", "b"])
    True
    """
    check_posterior(posterior)
    check_probability("ci_prob", ci_prob)
    group = posterior["posterior"]
    if "confusion" not in group and "common_confusion" not in group:
        raise ArgumentError(
            "this posterior has no confusion matrices of annotators: aggregate labels by a model that has them, such "
            "as 'dawid-skene'."
        )
    classes, tables = np.asarray(group["true_class"].values, str).tolist(), []
    for site in ("common_confusion", "confusion"):
        if site in group:
            names = np.asarray(group["annotator"].values, str).tolist() if site == "confusion" else [COMMON]
            index = pd.MultiIndex.from_product(
                [names, classes, classes], names=["annotator", "true_class", "named_class"]
            )
            columns = median_and_ends("probability", _draws(group[site]), ci_prob)
            tables.append(pd.DataFrame(columns, index=index).reset_index())
    return pd.concat(tables, ignore_index=True)


def _draws(variable: xr.DataArray) -> Float[np.ndarray, "draw quantity"]:
    """Draws of all chains, of the quantities of a variable, by annotator, true class and named class."""
    dims = [dim for dim in ("annotator", "true_class", "named_class") if dim in variable.dims]
    values = variable.transpose("chain", "draw", *dims).values
    return values.reshape(values.shape[0] * values.shape[1], -1)


def _by_annotator(posterior: Posterior, what: str, columns: dict[str, np.ndarray]) -> pd.DataFrame:
    """Tabulate annotators, the greatest of the first column first, with how many annotations, `what`, each gave."""
    names = np.asarray(posterior["posterior"]["annotator"].values, str).astype(object)
    counts = np.bincount(posterior["observed_data"]["annotation_annotator"].values, minlength=len(names))
    table = pd.DataFrame({"annotator": names, what: counts} | columns)
    return table.sort_values(next(iter(columns)), ascending=False, kind="stable", ignore_index=True)

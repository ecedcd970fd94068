"""What the attributes of a posterior say of its model, for readers who do not have the model."""

import json
from collections.abc import Mapping
from typing import Any

from plausibly.base.arviz import Posterior

ORDERED = "ordered"  #: attribute of posteriors whose classes are ordered
ONE_TRUE_CLASS = "one true class"  #: in each case; the attribute "assumes" of a posterior


def declared(posterior: Posterior) -> dict[str, Any]:
    """Return the declaration that :func:`declaration` stored in a posterior."""
    return json.loads(posterior.attrs.get("declaration", "{}"))


def are_shares(attrs: Mapping[str, Any]) -> bool:
    """Tell from the attributes of a posterior whether its plausibilities are shares of annotators (``Model.shares``).

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b"]])
    >>> posterior = pb.aggregate(annotations, "prirn", seed=0, draws=5, progress=False)
    >>> are_shares(posterior.attrs), learns(posterior.attrs)
    (False, False)
    """
    return not has_true_class(attrs) and json.loads(attrs.get("declaration", "{}")).get("shares", True)


def has_shape(attrs: Mapping[str, Any]) -> bool:
    """Tell from the attributes of a posterior whether shares of annotators have a Dirichlet prior (``takes_prior``)."""
    return are_shares(attrs) and json.loads(attrs.get("declaration", "{}")).get("takes_prior", True)


def learns(attrs: Mapping[str, Any]) -> bool:
    """Tell from the attributes of a posterior whether more annotations narrow it (``Model.learns``)."""
    return json.loads(attrs.get("declaration", "{}")).get("learns", True)


def draws_answers(attrs: Mapping[str, Any]) -> bool:
    """Tell from the attributes of a posterior whether annotators choose by its plausibilities, or by their powers."""
    return not has_true_class(attrs) and "answers" not in json.loads(attrs.get("declaration", "{}"))


def assumption(attrs: Mapping[str, Any]) -> str:
    """What a model assumes, in words; of one true class, that it is so in every case."""
    return f"{attrs['assumes']}{' in every case' if has_true_class(attrs) else ''}"


def has_true_class(attrs: Mapping[str, Any]) -> bool:
    """Tell from the attributes of a posterior whether its model assumes that each case has one true class."""
    return attrs.get("assumes") == ONE_TRUE_CLASS

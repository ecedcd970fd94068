"""Labels that annotators would give under a model of one true class."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior
from plausibly.data.case import Looks
from plausibly.data.groups import codes_of_annotators
from plausibly.inference.draws import categorical


@dataclass(frozen=True)
class Confusion:
    """How annotators name classes, by replicate, where one class of a case is true."""

    named: Float[np.ndarray, "replicate annotator look named"]  # given what a case looks like, or its true class
    given_class: Float[np.ndarray, "replicate group look class"] | None = None  # of looks, if cases have any
    group: Int[np.ndarray, " annotator"] | None = None  # which group's look an annotator sees

    @classmethod
    def of(cls, posterior: Posterior, group: xr.Dataset) -> "Confusion":
        """Read it from the draws that were chosen; without a site, wrong labels are spread evenly."""
        k = group.sizes["true_class"]
        if "confusion" in group:
            named = group["confusion"].transpose("replicate", "annotator", "true_class", "named_class").values
        elif "accuracy" not in group:
            named = group["common_confusion"].transpose("replicate", "true_class", "named_class").values[:, None]
        else:
            right = group["attention" if "attention" in group else "accuracy"]
            right = right.transpose("replicate", "annotator").values[..., None, None]
            named = np.where(np.eye(k, dtype=bool), right, (1 - right) / (k - 1))
        if "looks" not in group:
            return cls(named)
        looks, weights = Looks.of(k), group["looks"]
        dims = [dim for dim in ("replicate", "annotator_group", "true_class", "look") if dim in weights.dims]
        given_class = np.stack([looks.given_class(one) for one in weights.transpose(*dims).values])
        groups = json.loads(posterior.attrs["arguments"]).get("annotator_groups")
        everybody = group["annotator"].values if groups is not None else np.arange(named.shape[1])
        return cls(looks.seen(named), given_class, codes_of_annotators(groups, everybody)[1])

    def given_truth(self) -> Float[np.ndarray, "annotator class named"]:
        """Probability that each annotator names a class, given the true one, whatever the case looks like: means."""
        if self.given_class is None or self.group is None:
            return self.named.mean(0)
        return np.einsum("ralt,raln->atn", self.given_class[:, self.group], self.named) / len(self.named)

    def labels(
        self, probability: Float[np.ndarray, "replicate class"], who: Int[np.ndarray, " annotation"], random: Any
    ) -> list[Float[np.ndarray, "replicate class"]]:
        """Draw the true class of a case and its looks; return the probability of each label, by annotation."""
        truth, replicate = categorical(probability.T, random), np.arange(len(probability))
        who = np.minimum(who, self.named.shape[1] - 1)
        if self.given_class is None or self.group is None:
            return [self.named[replicate, one, truth] for one in who]
        looks = [categorical(given[replicate, :, truth].T, random) for given in self.given_class.swapaxes(0, 1)]
        return [self.named[replicate, one, looks[self.group[one]]] for one in who]

"""How large a prior alone makes sets that are to hold classes drawn from the plausibilities."""

from typing import NamedTuple

import numpy as np

from plausibly._arviz import Posterior
from plausibly.posterior import slots_of


class Prior(NamedTuple):
    """What a prior adds to the plausibilities, and to sets."""

    share: float  #: mean share of the prior in the plausibilities of a case
    #: mean size that sets have at least if they miss no more than they may of this share, whatever the annotations
    least: float
    n_classes: int

    @property
    def told(self) -> str:
        """A sentence where the prior forces more than one class into the sets of a case; else empty."""
        if self.least <= 1:
            return ""
        return (
            f" The prior makes sets large: it has {100 * self.share:.0f} % of the plausibility and spreads it over "
            f"all classes, so sets hold at least {self.least:.1f} of {self.n_classes} classes on average, whatever the "
            'annotations and the classifier. Calibrate with target="annotator" (--target annotator), which has no '
            "prior, or learn the prior from other cases (class_prior=…)."
        )


def learns_from_cases(posterior: Posterior) -> bool:
    """Whether the plausibilities of a case depend on the annotations of other cases, as the posterior declares."""
    return posterior.attrs.get("prior_from", "given") != "given"


def prior_of(posterior: Posterior, alpha: float) -> Prior | None:
    """Share of the prior, and the fewest classes that miss at most `alpha` of it; None if it is unknown.

    Classes of all cases are left out of the sets in ascending order of what the prior gives them, as long as these sum
    to at most `alpha` per case. Of an equal weight for each of K classes and a share s, :math:`K (1 − α / s)` are left.
    """
    constants = posterior["constant_data"]
    if "prior_share" not in constants:
        return None
    slots, share = slots_of(posterior), np.asarray(constants["prior_share"].values, float)
    n_cases = len(slots.start) - 1
    order = np.argsort(share / slots.n_classes)
    count, upto = np.cumsum(slots.n_classes[order]), np.cumsum(share[order])
    dropped = np.interp(alpha * n_cases, np.append(0.0, upto), np.append(0.0, count))
    n_classes = int(posterior.attrs["n_classes"])
    return Prior(share.sum() / n_cases, (count[-1] - dropped) / n_cases, n_classes)

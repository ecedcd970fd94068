"""The family of models of one true class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int

from plausibly.base.arviz import Posterior
from plausibly.base.errors import AnnotationError
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import LabelledCases, Looks, coordinates_of_looks
from plausibly.data.groups import OTHERS, codes_of_annotators
from plausibly.data.regression import names as coefficient_names
from plausibly.families.model import Model
from plausibly.families.settled import BY_CONFUSION, ENOUGH, Facts, Settled, SharedDraws
from plausibly.families.true_class._leave_out import predict_left_out
from plausibly.families.true_class._sampler import (
    DIVERGING,
    LOOKS,
    class_probabilities,
    sample_by_nuts,
    sampler_of,
    sites_of,
    sweeps_per_draw,
)
from plausibly.families.true_class._shared_errors import agreements, sentence
from plausibly.inference.chains import sample_chains
from plausibly.posterior.diagnostics.verdicts import MODES
from plausibly.posterior.says import ONE_TRUE_CLASS

#: options of a model: whether predictions tell how probable each class is in a case, and whether cases differ
OPTIONS = {"class_prior": ("uniform", "predictions"), "difficulty": ("by-case", "same")}

MOST = 250_000_000  #: numbers of one kind that are held, a gigabyte


@dataclass(frozen=True, eq=False)
class TrueClass:
    """Family of models of single labels in which every case has one true class.

    Given the true classes, ``move`` draws the quantities that all cases share; given these, the true class of every
    case is drawn by Bayes' theorem. Functions take and return the shared quantities as a mapping from the name of a
    site of the program to its value; one of them is ``"prevalence"``, the probability of each class. All values have a
    leading axis of chains, which are independent of each other and move in the same calls.

    Parameters
    ----------
    sites
        Names of the shared quantities that are kept, and the dimensions of each: ``"annotator"``, ``"true_class"`` (for
        anything that belongs to a class) and ``"named_class"``. Draws are kept in single precision.
    start
        Starting points of chains: ``start(counts, random)`` with a :class:`numpy.random.Generator` and the numbers of
        labels (chain, annotator, true class, named class), counted with true classes near the majority vote. The
        generator also has moves that state the log density that they go by, see ``plausibly.inference.moves``.
    move
        Draw of the shared quantities from a kernel that leaves their conditional distribution unchanged: ``move(values,
        counts, truth, random)``, where ``truth`` is the number of cases of each true class, (chain, class).
    confusion
        ``confusion(values)``: probability that an annotator names a class, given the true class, (…, annotator, true
        class, named class), with the leading axes of the values. If it is not itself a site, the program has a site
        "accuracy" by annotator, and wrong labels are spread evenly.
    thinning
        Number of sweeps per kept draw; more where cases differ in difficulty and each class is shifted alone in turn.
    above
        Sites above others, which cases do not depend on given these: chains are judged by the others.
    named
        Whether annotators differ. If not, labels may be anonymous, and count as those of one annotator.
    shift
        Move of the log odds that annotators name what they see: ``shift(values, by)``, where ``by`` has numbers (point,
        chain, annotator, class), or one for all annotators, returns the values that it changes with an axis of points
        before that of chains, and the log density (point, chain) of all shared quantities, up to a constant, in
        coordinates that the move translates. It makes chains mix where cases differ in difficulty; optional.
    by_case
        What is different where cases differ in difficulty: further ``sites``, and any other of these arguments.
    """

    sites: Mapping[str, tuple[str, ...]]
    start: Callable[..., dict[str, Any]]
    move: Callable[..., dict[str, Any]]
    confusion: Callable[..., Any]
    thinning: int = 10
    above: tuple[str, ...] = ()
    named: bool = True
    shift: Callable[..., tuple[dict[str, Any], Any]] | None = None
    by_case: Mapping[str, Any] = field(default_factory=dict)

    def says(self, model: Model) -> Facts:
        """See :class:`plausibly.families.Family`."""
        facts = {"shares": True, "named": self.named, "every_class": True, "takes_prior": False}
        groups = self.named and "difficulty" in model.options
        return Facts(("gibbs", "nuts"), assumes=ONE_TRUE_CLASS, groups=groups, answers=BY_CONFUSION, **facts)

    def check(self, annotations: Annotations, settled: Settled) -> None:
        """Refuse too few or too many of anything."""
        name = settled.model.name
        n, k = len(annotations.annotators) if self.named else 1, annotations.n_classes
        for what, number in (("case", annotations.n_cases), ("annotator", n), ("class", k)):
            if number < 2 and (self.named or what != "annotator"):
                raise AnnotationError(
                    f"{name} learns from several cases, annotators and classes what they have in common, but there "
                    f"is only one {what}: add others, or choose another model."
                )
        kept = settled.arguments["draws"] * settled.arguments["chains"]
        dims = {"annotator": n, "true_class": k, "named_class": k}
        size = max(int(np.prod([dims[dim] for dim in of])) for of in self.sites.values())
        if size * kept > MOST:
            raise AnnotationError(
                f"{name} would hold {kept:,} draws of {size:,} numbers each (what it keeps of {n:,} annotators and "
                f"{k:,} classes), more than {MOST:,} in all: ask for fewer draws, or merge classes."
            )

    def where(self, difficulty: str | None) -> "TrueClass":
        """Return the family where cases differ in difficulty, ``"by-case"``, or do not."""
        if difficulty != "by-case":
            return self
        sites = dict(self.sites) | self.by_case.get("sites", {})
        return replace(self, **(dict(self.by_case) | {"sites": sites, "by_case": {}}))

    def layout(self, annotations: Annotations, settled: Settled) -> Slots:
        """Slots of every class of every case."""
        return Slots.of_every_class(annotations.n_cases, annotations.n_classes)

    def learn(
        self,
        annotations: Annotations,
        settled: Settled,
        *,
        progress: bool,
        scheduler: Any = None,
        keeper: Callable[[Slots], Any] | None = None,
    ) -> Settled:
        """Sample what all cases share, except for chains that are kept."""
        slots = self.layout(annotations, settled)
        store = None if keeper is None else keeper(slots)
        if store is not None and not store.missing():
            return settled
        family, names = self.where(_difficulty(settled)), names_of(annotations, settled)
        labels = labels_of(self, annotations.annotated, settled)
        with Progress(progress) as bars:
            shared = sample_shared(family, labels, names, settled, progress=bars, scheduler=scheduler, keeper=store)
        shared = replace(shared, constants={"log_prevalence": labels.log_prevalence})
        constants = dict(shared.constants) | {"modes": modes(family, labels, shared, MODES)}
        shared = replace(shared, constants=constants)
        if self.named and labels.n_groups == 1:
            said = sentence(agreements(family, labels, shared.values), names["annotator"])
            shared = replace(shared, constants=dict(shared.constants) | {"err_together": said})
        return replace(settled, shared=shared, quantities=len(slots))

    def draw(self, annotations: Annotations, settled: Settled, *, progress: bool, point: str = "now") -> Posterior:
        """Infer the true class of cases, all or some of those from which the shared quantities were sampled."""
        shared, slots = settled.shared, self.layout(annotations, settled)
        assert shared is not None
        labels = labels_of(self, annotations, settled)
        if self.named:  # as in the draws
            place = {name: number for number, name in enumerate(shared.names["annotator"].tolist())}
            number = np.array([place[name] for name in annotations.annotators.tolist()])
            labels = replace(labels, annotator=number[labels.annotator], n_annotators=len(place))
        family = self.where(_difficulty(settled))
        plausibility, log_probability = class_probabilities(family, labels, shared.values)
        return settled.posterior(
            plausibility,
            annotations,
            slots,
            annotator=labels.annotator,
            thinning=sweeps_per_draw(family, labels),
            progress=progress,
            enough=ENOUGH,
            sample_stats={"lp": log_probability},
        )

    def log_likelihood(self, posterior: Posterior, *_: Any, **__: Any) -> Posterior:
        """No probability of single labels given plausibilities: the posterior as it is."""
        return posterior

    def leave_out(
        self, annotations: Annotations, settled: Settled, fold: Int[np.ndarray, " annotation"], *, progress: bool
    ) -> dict[str, np.ndarray]:
        """Predict every label from the others of its case that are not in its fold, by parameters from other cases."""
        labels, names = labels_of(self, annotations, settled), names_of(annotations, settled)
        family = self.where(_difficulty(settled))
        with Progress(progress) as bars:

            def learn(rest: LabelledCases) -> SharedDraws:
                return sample_shared(family, rest, names, settled, progress=bars)

            kept = settled.arguments["draws"] * settled.arguments["chains"]
            return predict_left_out(family, labels, fold, learn, kept, settled.seed)


def _difficulty(settled: Settled) -> str | None:
    """Option of the model; a user's own need not have it."""
    return settled.arguments.get("difficulty")


def labels_of(family: TrueClass, annotations: Annotations, settled: Settled) -> LabelledCases:
    """Collect the labels of cases, and what classifiers say of these."""
    labels, evidence = LabelledCases.of(annotations, alike=not family.named), settled.evidence
    if _difficulty(settled) == "by-case":
        labels = replace(labels, looks=Looks.of(labels.n_classes))
    if (groups := settled.arguments.get("annotator_groups")) is not None:
        names, of_annotator = codes_of_annotators(groups, np.array(list(groups)))
        labels = replace(labels, group=of_annotator, together=tuple(name != OTHERS for name in names.tolist()))
    if evidence is None:
        return labels
    log_prevalence = None if settled.shared is None else settled.shared.constants["log_prevalence"]
    return labels.with_scores(evidence.of_cases(annotations.cases), log_prevalence)


def names_of(annotations: Annotations, settled: Settled) -> dict[str, np.ndarray]:
    """Return names of annotators, classes and coefficients of predictions by dimension."""
    classes, evidence = annotations.classes, settled.evidence
    names = {"annotator": annotations.annotators, "true_class": classes, "named_class": classes}
    if _difficulty(settled) == "by-case":
        groups, _ = codes_of_annotators(settled.arguments.get("annotator_groups"), annotations.annotators)
        names |= coordinates_of_looks(classes.tolist(), groups)
    return names | ({} if evidence is None else {"coefficient": coefficient_names(evidence.classifiers, classes)})


def sample_shared(
    family: TrueClass,
    labels: LabelledCases,
    names: Mapping[str, np.ndarray],
    settled: Settled,
    *,
    progress: Progress,
    scheduler: Any = None,
    keeper: Any = None,
) -> SharedDraws:
    """Sample the quantities that all cases share, except for chains that the ``keeper``, if any, has.

    ``labels`` are those of all cases, and ``names`` those of annotators, classes and coefficients by dimension.
    """
    dims, numbers = sites_of(family, labels), settled.numbers("draws", "chains", "warmup")
    chains, settings = numbers.pop("chains"), numbers | {"seed": settled.seed}
    if settled.engine == "nuts":
        sample = partial(sample_by_nuts, settled.model.program, family, labels, chains=chains, **settings)
        values = sample_chains(lambda _: enumerate(sample()), chains, keeper=keeper, dims=dims)
    else:
        more = {"doing": "Sampling shared parameters", "scheduler": scheduler, "keeper": keeper, "dims": dims}
        values = sampler_of(family, labels, **settings).sample(chains, progress, **more)
    n_diverging = int(values.pop(DIVERGING).sum()) if DIVERGING in values else None
    # Some kinds of looks are so rare that their numbers hardly mix, and matter as little.
    return SharedDraws.of(
        values, dims, names, progress=progress, n_diverging=n_diverging, unjudged=(LOOKS,), above=family.above
    )


_DRAWS = 10  # of each chain
_SURE = 0.7  # probability of a class that counts
_APART = 0.03  # share of cases of which chains in different modes hold different classes for most probable


def modes(family: "TrueClass", labels: LabelledCases, shared: SharedDraws, limit: float) -> str:
    """Say which chains are in which mode and how probable labels are there; nothing below a ``limit`` of R-hat.

    The log likelihood is that of all labels with true classes summed out, the mean over draws. Its differences say
    which mode the data support.
    """
    if float(shared.judged["r_hat"].fillna(1).max()) < limit:
        return ""
    chains, draws = shared.values["prevalence"].shape[:2]
    at = np.linspace(0, draws - 1, min(_DRAWS, draws)).astype(int)
    probability, log_probability = class_probabilities(family, labels, {k: v[:, at] for k, v in shared.values.items()})
    mean, fit = probability.mean(1), log_probability.sum(-1).mean(1)
    top, sure = mean.argmax(-1), mean.max(-1) > _SURE
    apart = np.array([[(sure[a] & sure[b] & (top[a] != top[b])).mean() for b in range(chains)] for a in range(chains)])
    groups: list[list[int]] = []
    for chain in range(chains):
        near = next((group for group in groups if apart[group, chain].min() < _APART), None)
        groups.append([chain]) if near is None else near.append(chain)
    if len(groups) == 1:
        return ""
    groups.sort(key=lambda group: -fit[group].mean())
    named = [
        f"chain{'s' * (len(group) > 1)} {' and '.join(str(chain + 1) for chain in group)} "
        f"(log likelihood {fit[group].mean():,.0f})"
        for group in groups
    ]
    return f"{'; '.join(named)}; they differ on the true class of up to {apart.max():.0%} of the cases"

"""The family of models of ratings by raters who differ."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int

from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.base.names import some
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.families.model import Model
from plausibly.families.ratings._cases import RatedCases
from plausibly.families.ratings._sampler import (
    GROUP,
    LOCATION,
    OF_CASES,
    OF_GROUPS,
    OF_SCORES,
    OF_SEVERITIES,
    OF_SHARED,
    OF_SPREADS,
    SHARED,
    SPREAD,
    SPREAD_SD,
    sampler_of,
    sites_of,
    starting_point,
    sweeps_per_draw,
)
from plausibly.families.ratings._shared_errors import agreements, sentence
from plausibly.families.ratings._shares import Scale, shares_and_ratings
from plausibly.families.settled import BY_PLAUSIBILITY, Facts, Settled, SharedDraws
from plausibly.inference import nuts_of_all_cases
from plausibly.posterior.says import ORDERED


def means_and_spreads(rated: RatedCases) -> tuple[Float[Array, " rating"], Float[Array, " rating"]]:
    """Sample everything that ratings depend on; return the mean and the standard deviation of each on the latent scale.

    See :func:`plausibly.models.ordinal_scores.ordinal_ratings` for the priors.
    """
    location = numpyro.sample("location", dist.Normal(0, LOCATION))
    case_spread = numpyro.sample("case_spread", dist.HalfNormal(OF_CASES))
    severity_spread = numpyro.sample("severity_spread", dist.HalfNormal(OF_SEVERITIES))
    typical = numpyro.sample("typical_spread", dist.LogNormal(SPREAD, SPREAD_SD))
    variation = numpyro.sample("spread_of_spreads", dist.HalfNormal(OF_SPREADS))
    standard = dist.Normal(0, 1)
    with numpyro.plate("raters", len(rated.raters)):
        severity = numpyro.deterministic("severity", severity_spread * numpyro.sample("rater", standard))
        spread = numpyro.deterministic("spread", typical * jnp.exp(variation * numpyro.sample("log_spread", standard)))
    numpyro.factor("rounding", -jnp.sum((rated.rounding / spread) ** 2) / 2)
    mean = location
    if rated.expected is not None:
        mean = mean + rated.x @ numpyro.sample(
            "coefficients", dist.Normal(0, OF_SCORES).expand(rated.x.shape[1:]).to_event(1)
        )
    for name, (names, code) in rated.groups.items():
        of_group = numpyro.sample(f"{name}_spread", dist.HalfNormal(OF_GROUPS))
        raw = numpyro.sample(f"{name}_raw", standard.expand([len(names)]).to_event(1))
        mean = mean + numpyro.deterministic(f"{name}_effect", of_group * raw)[code]
    with numpyro.plate("cases", rated.n_cases):
        mean = numpyro.deterministic("latent_mean", mean + case_spread * numpyro.sample("case", standard))
    at = mean[rated.case] + severity[rated.rater]
    if rated.rater_groups is not None:
        cell, _, group = rated.cells
        of_group = dist.HalfNormal(OF_SHARED).expand([len(rated.rater_groups[0])]).to_event(1)
        raw = numpyro.sample("shared_raw", standard.expand([len(group)]).to_event(1))
        shared = numpyro.sample(SHARED, of_group)[group] * raw
        at = at + jnp.append(shared, 0.0)[cell]  # the last, 0, for raters of no group
    return at, spread[rated.rater]


MEAN = "latent_mean"  #: of each case, a variable of posteriors
_MOST_EFFECTS = 3000  # of raters and of all groups but the largest, which are drawn together
_TARGET_ACCEPT = 0.95


class Ratings:
    """Family of models of ratings by raters who differ; functions as of :class:`plausibly.families.Family`."""

    def says(self, model: Model) -> Facts:
        """Facts: cases share what is known of raters, and ratings that are categories are classes."""
        facts = {"shares": True, "named": True, "every_class": True, "takes_prior": False}
        return Facts(("gibbs", "nuts"), grades=model.categories, groups=True, answers=BY_PLAUSIBILITY, **facts)

    def check(self, scores: Scores, settled: Settled) -> RatedCases:
        """Refuse ratings from which severities cannot be told; return these as they are coded."""
        name = f"{settled.model.name} with raters='differ'"
        if scores.anonymous:
            raise AnnotationError(
                f"{name} needs to know who gave each rating, but the raters of these are anonymous: '1' of one case "
                "need not be '1' of another. Name them in the file, or give a threshold and raters='alike'."
            )
        groups = settled.case_groups or {}
        for what, number in (("rater", len(scores.annotators)), ("case", scores.n_cases)):
            if number < 2:
                raise AnnotationError(
                    f"{name} compares raters over cases, but there is only one {what}: add others, or give a threshold "
                    "and raters='alike'."
                )
        values = len(np.unique(scores.score))
        if values < 3:
            raise AnnotationError(
                f"{name} needs ratings of at least 3 values, but these have {values}: treat them as labels, by "
                "scores.grades() and a model such as 'dawid-skene', or give a threshold and raters='alike'."
            )
        sizes = [len(names) for names, _ in groups.values()]
        effects = len(scores.annotators) + sum(sizes) - max(sizes, default=0)
        if effects > _MOST_EFFECTS:
            raise AnnotationError(
                f"{name} draws the effects of {effects:,} raters and groups together (those of the largest case group "
                f"not counted), more than {_MOST_EFFECTS:,}: leave out raters of few cases, or take broader groups."
            )
        rated = _rated(scores, settled)
        if rated.rater_groups is not None:
            _check_groups(*rated.rater_groups)
        if not groups and rated.parts.max() + 1 == len(scores.annotators):
            raise AnnotationError(
                "every rater has cases of her own, so that severe raters cannot be told from poor cases: say which "
                "cases belong together, such as case_groups={'system': […], 'document': […]} (--case-groups), or give "
                "a threshold and raters='alike'."
            )
        if settled.arguments["threshold"] is None:
            scores.grades()
        return rated

    def learn(
        self,
        scores: Scores,
        settled: Settled,
        *,
        progress: bool,
        scheduler: Any = None,
        keeper: Callable[[Slots], Any] | None = None,
    ) -> Settled:
        """Sample what all cases share, and the mean of each."""
        rated = settled.coded if settled.coded is not None else _rated(scores, settled)
        _warn_of_parts(rated)
        dims, seed, diverging = sites_of(rated), settled.seed, None
        numbers = settled.numbers("draws", "chains", "warmup") | {"seed": seed}
        with Progress(progress) as bars:
            if settled.engine == "nuts":
                given = settled.model.program, (rated,), (*dims, MEAN)
                numbers |= {"start": starting_point(rated, seed)}
                values, statistics = nuts_of_all_cases(*given, **numbers, target_accept=_TARGET_ACCEPT)
                diverging = int(statistics["diverging"].sum())
            else:
                chains = numbers.pop("chains")
                values = sampler_of(rated, **numbers).sample(chains, bars, doing="Sampling ratings")
            mean = values.pop(MEAN)
            names = {"annotator": rated.raters} | {name: of for name, (of, _) in rated.groups.items()}
            if rated.rater_groups is not None:
                names[GROUP] = rated.rater_groups[0]
            if settled.evidence is not None:
                names["coefficient"] = np.array([f"score of {one}" for one in settled.evidence.classifiers])
            above = {"case_spread", *(f"{name}_spread" for name in rated.groups)}  # of the means, which are drawn
            shared = SharedDraws.of(values, dims, names, progress=bars, n_diverging=diverging, above=above)
        constants = {"rated": rated, "mean": mean, "case": scores.cases}
        if rated.rater_groups is None:
            constants["err_together"] = sentence(agreements(rated, values, mean, seed), rated.raters)
        shared = replace(shared, constants=constants)
        return replace(settled, shared=shared, quantities=len(self.layout(scores, settled)))

    def layout(self, scores: Scores, settled: Settled) -> Slots:
        """Slots of every class of every case."""
        return Slots.of_every_class(scores.n_cases, scores.as_classes(settled.arguments["threshold"]).n_classes)

    def draw(self, scores: Scores, settled: Settled, *, progress: bool, point: str = "now") -> Posterior:
        """Shares of raters in each class, of cases whose means were sampled."""
        shared = settled.shared
        assert shared is not None
        threshold = settled.arguments["threshold"]
        rated, labels, slots = shared.constants["rated"], scores.as_classes(threshold), self.layout(scores, settled)
        place = {name: number for number, name in enumerate(shared.constants["case"].tolist())}
        at = np.array([place[name] for name in scores.cases.tolist()])
        mean = shared.constants["mean"][..., at]
        cuts, scale = rated.cuts[1:-1], Scale(rated.values, rated.cuts[1:-1], rated.unit)
        if rated.unit is not None:
            cuts = np.array([(threshold - rated.unit[0]) / rated.unit[1]])
        elif threshold is not None:
            cuts = rated.cuts[[np.searchsorted(rated.values, threshold, side="right")]]
        plausibility, ratings = shares_and_ratings(scale, shared.values, mean, cuts)
        posterior = settled.posterior(
            plausibility,
            labels,
            slots,
            annotator=scores.annotation_annotator,
            thinning=sweeps_per_draw(rated),
            progress=progress,
            sample_stats={"lp": np.zeros(mean.shape, np.float32)},
            by_case={MEAN: mean, "mean_rating": ratings},
            scores=scores,
        )
        attributes = posterior.attrs | ({ORDERED: 1} if threshold is None else {})
        groups = to_groups(posterior)
        kept = scale.constants()
        kept |= {f"{name}_of_case": ("scored_case", code[at]) for name, (_, code) in rated.groups.items()}
        if rated.expected is not None:
            kept["expected_of_case"] = (("scored_case", "coefficient"), rated.expected[at])
        groups["constant_data"] = groups["constant_data"].assign(kept)
        return from_groups(groups, attributes)

    def log_likelihood(self, posterior: Posterior, *_: Any, **__: Any) -> Posterior:
        """No probability of single ratings given plausibilities: the posterior as it is."""
        return posterior

    def leave_out(
        self, annotations: Annotations, settled: Settled, fold: Int[np.ndarray, " annotation"], *, progress: bool
    ) -> None:
        """None: models of scores are not compared by ratings left out."""
        return None


def _rated(scores: Scores, settled: Settled) -> RatedCases:
    scored = None if settled.evidence is None else settled.evidence.of_cases(scores.cases)
    given = settled.arguments.get("cutpoints"), settled.case_groups or {}, scored
    return RatedCases.of(scores, *given, settled.arguments.get("annotator_groups"))


def _check_groups(names: np.ndarray, of_rater: Int[np.ndarray, " rater"]) -> None:
    """Refuse groups of raters of whom nothing can be learned."""
    for number, name in enumerate(names.tolist()):
        if (of_rater == number).sum() < 2:
            raise AnnotationError(
                f"annotator_groups has one rater in {name!r}, whose errors are shared with nobody: leave the group "
                "out, or name others."
            )
        if (of_rater == number).all():
            raise AnnotationError(
                "annotator_groups has all raters in one group, so that what they err together cannot be told from what "
                "is true: name some of them, or several groups."
            )


def _warn_of_parts(rated: RatedCases) -> None:
    """Warn of raters whose severities are compared only by the prior of cases and groups."""
    part = rated.parts
    if part.any():
        each = [f"{some(rated.raters[part == number].tolist())}" for number in range(int(part.max()) + 1)]
        warnings.warn(
            f"raters fall into {len(each)} parts that share no case and no group of cases: {'; '.join(each[:5])}"
            f"{'; …' if len(each) > 5 else ''}. Between parts, severities cannot be told from what their cases or "
            "groups of cases add, and rest on the assumption that these are alike: let raters of different parts rate "
            "some cases in common, or name groups of cases that they share (case_groups, --case-groups).",
            PlausiblyWarning,
            stacklevel=4,
        )

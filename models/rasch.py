"""Rasch: whether an answer is right depends on the annotator's ability and the case's difficulty, and nothing else."""

import numpyro
import numpyro.distributions as dist
from jaxtyping import ArrayLike, Bool, Int
from numpyro.handlers import reparam
from numpyro.infer.reparam import LocScaleReparam


def rasch(
    annotator: Int[ArrayLike, " answer"],
    case: Int[ArrayLike, " answer"],
    correct: Bool[ArrayLike, " answer"] | None = None,
    *,
    n_annotators: int,
    n_cases: int,
) -> None:
    r"""Rasch model of all answers of all annotators.

    .. math::
       m \sim \mathrm{Normal}(0, 2), \quad s, t \sim \mathrm{HalfNormal}(1), \quad
       a_i \sim \mathrm{Normal}(m, s), \quad d_x \sim \mathrm{Normal}(0, t), \quad
       P(i \text{ is right about } x) = \mathrm{logistic}(a_i - d_x)

    Answers depend only on the difference between ability and difficulty. The two can be told apart because difficulties
    are centred: the ability of an annotator is her log odds of being right about a case of average difficulty.

    Parameters
    ----------
    annotator, case
        Annotator and case of each answer, as indices from 0.
    correct
        Whether each answer is right; None to simulate.
    n_annotators, n_cases
        Number of annotators and of cases.

    Notes
    -----
    Abilities and difficulties are sampled as multiples of their spread, which may be close to zero because annotators
    are often alike.

    References
    ----------
    Rasch (1960), Probabilistic models for some intelligence and attainment tests; Cabitza, Campagner et al. (2020),
    The elephant in the machine, Applied Sciences 10, 4014.
    """
    mean = numpyro.sample("mean_ability", dist.Normal(0, 2))
    sd_ability = numpyro.sample("sd_ability", dist.HalfNormal(1))
    sd_difficulty = numpyro.sample("sd_difficulty", dist.HalfNormal(1))
    with numpyro.plate("annotators", n_annotators), reparam(config={"ability": LocScaleReparam(0)}):
        ability = numpyro.sample("ability", dist.Normal(mean, sd_ability))
    with numpyro.plate("cases", n_cases), reparam(config={"difficulty": LocScaleReparam(0)}):
        difficulty = numpyro.sample("difficulty", dist.Normal(0, sd_difficulty))
    with numpyro.plate("answers", len(annotator)):
        numpyro.sample("correct", dist.Bernoulli(logits=ability[annotator] - difficulty[case]), obs=correct)

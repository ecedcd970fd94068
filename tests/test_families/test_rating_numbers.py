"""Ratings as numbers by raters who differ: least squares as the oracle, ranks of systems, and what is identified."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement.annotators import mean_ratings, rank_probabilities, rank_sentences, severities
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.evaluation import rating_errors
from plausibly.families.ratings import RatedCases, Scale
from tests.test_families.test_ratings import aggregate as of_categories

SEVERITY = np.array([0.0, 0.2, 0.3, 1.3])  # points, against the first rater
SYSTEMS = np.array([0.9, 1.1, 1.2, 1.5, 1.7, 2.2])  # mean penalties by the average rater
SIZES = {"draws": 100, "chains": 1, "warmup": 40, "threshold": 4.5}


def penalties(seed, n_segments=60, n_documents=6):
    """Penalties of outputs of systems, mostly small: one rater for all segments of a document, by system."""
    random = np.random.default_rng(seed)
    document = np.repeat(np.arange(n_documents), n_segments // n_documents)
    of_document = random.normal(0, 0.2, n_documents)
    rows = []
    for system, level in enumerate(SYSTEMS):
        rater = random.permutation(np.resize(np.arange(4), n_documents))[document]
        mean = np.maximum(level - SEVERITY.mean() + SEVERITY[rater] + of_document[document], 0.05)
        score = random.poisson(mean / 2) + 5.0 * (random.random(n_segments) < mean / 10)
        rows += [
            (f"{system}/{at:03}", f"r{who}", value, f"system {system}", f"talk {document[at]}")
            for at, (who, value) in enumerate(zip(rater, score, strict=True))
        ]
    return pd.DataFrame(rows, columns=["case", "annotator", "score", "system", "document"])


def fit(table, *groups, **options):
    data = pb.Annotations.from_scores(table[["case", "annotator", "score"]])
    by_case = table.set_index("case").loc[data.cases]
    options = {"model": "normal-scores", "case_groups": {name: by_case[name].tolist() for name in groups}} | options
    return of_categories(data, **(SIZES | options))


def least_squares(table):
    """Effects of raters against the first, and mean penalties of systems by the average rater.

    Raters have weights by how much they scatter.
    """
    sd = table.groupby("annotator")["score"].transform("std").to_numpy()
    columns = [pd.get_dummies(table[name], dtype=float) for name in ("system", "annotator", "document")]
    design = pd.concat([columns[0], *(one.iloc[:, 1:] for one in columns[1:])], axis=1)
    solved = np.linalg.lstsq(design.to_numpy() / sd[:, None], table["score"].to_numpy() / sd)[0]
    found = pd.Series(solved, design.columns)
    raters, documents = found.filter(regex="^r[0-9]"), found.filter(like="talk")
    level = raters.sum() / 4 + documents.sum() / 6
    return raters, found.filter(like="system") + level


@pytest.fixture(scope="module")
def table():
    return penalties(0, n_segments=60)


@pytest.fixture(scope="module")
def posterior(table):
    return fit(table, "system", "document")


def test_severities_and_means_of_systems_agree_with_least_squares(table, posterior):
    raters, systems = least_squares(table)
    found = severities(posterior, against="r0").set_index("annotator").loc[raters.index]
    sd = (found["upper"] - found["lower"]) / (2 * 1.88)
    assert (np.abs(found["severity"] - raters) < sd).all()
    means = mean_ratings(posterior, "system", best="lowest").set_index("group").loc[systems.index]
    sd = (means["upper"] - means["lower"]) / (2 * 1.88)
    assert (np.abs(means["mean"] - systems) < 1.5 * sd).all()  # they are drawn to each other, the worst by one sd
    assert (sd < 0.3).all()
    np.testing.assert_allclose(means["raw_mean"], table.groupby("system")["score"].mean())


def test_ranks_have_probabilities(posterior):
    found = mean_ratings(posterior, "system", best="lowest")
    ranks = rank_probabilities(posterior, "system", best="lowest")
    assert ranks.index.tolist() == found["group"].tolist()
    np.testing.assert_allclose(ranks.sum(axis=0), 1)
    np.testing.assert_allclose(ranks.sum(axis=1), 1)
    np.testing.assert_allclose(ranks[1], found["p_best"])
    assert (found["rank_lower"] <= found["rank"]).all()
    assert (found["rank"] <= found["rank_upper"]).all()
    assert rank_sentences(found)[-1].startswith(f"Best: {ranks[1].idxmax()}")
    with pytest.raises(ArgumentError, match='best must be "highest" or "lowest"'):
        rank_probabilities(posterior, "system", best="least")


def test_categories_of_skewed_ratings_are_on_the_scale_of_points(table):
    """The mean rating of each rater under the model, not a latent shift, is what least squares estimates."""
    raters, _ = least_squares(table)
    ordinal = fit(table, "system", "document", model="ordinal-scores", threshold=None)
    found = severities(ordinal, against="r0").set_index("annotator")["severity"].loc[raters.index]
    np.testing.assert_allclose(found, raters, atol=0.4)


@pytest.mark.slow
def test_spreads_that_one_rating_a_case_hardly_tells_converge_by_default():
    posterior = fit(penalties(3, n_segments=30), "system", "document", draws=250, chains=4, warmup=500)
    assert int(posterior.attrs["converged"].split()[0]) >= 175  # of 180 cases


def test_posteriors_are_in_points(table, posterior):
    constants = posterior["constant_data"]
    np.testing.assert_allclose(constants["rating_unit"], [table["score"].mean(), table["score"].std(ddof=0)])
    assert Scale.of(constants).unit == pytest.approx(constants["rating_unit"].values.tolist())
    latent, rating = (np.asarray(posterior["posterior"][name], float) for name in ("latent_mean", "mean_rating"))
    np.testing.assert_allclose(rating, table["score"].mean() + table["score"].std(ddof=0) * latent, atol=1e-4)
    above = posterior["posterior"]["plausibility"].values[..., 1::2]
    assert ((above > 0.5) == (rating > 4.5)).all()


@pytest.mark.parametrize(
    ("groups", "n_parts"), [(["system"], 1), (["document"], 4), (["system", "document"], 4), (["system", "half"], 1)]
)
def test_raters_are_told_apart_only_where_least_squares_can(groups, n_parts):
    """Every rater has documents of her own, and all systems in these; halves of documents are hers and others'."""
    cases = [(system, document) for system in range(3) for document in range(8)]
    rater = np.array([document % 4 for _, document in cases])
    codes = {"system": [s for s, _ in cases], "document": [d for _, d in cases], "half": [d // 4 for _, d in cases]}
    of = {name: (np.unique(codes[name]).astype(str), np.array(codes[name])) for name in groups}
    names = np.array(["a", "b", "c", "d"])
    rated = RatedCases(np.arange(24), rater, rater, 24, names, np.arange(4.0), np.zeros(5), np.zeros(4), of)
    assert rated.parts.max() + 1 == n_parts
    design = np.concatenate([np.eye(4)[rater], *(np.eye(len(n))[code] for n, code in of.values())], axis=1)
    for other in range(1, 4):  # estimable: in the space of the rows
        contrast = np.zeros(design.shape[1])
        contrast[[0, other]] = 1, -1
        same = np.linalg.matrix_rank(np.vstack([design, contrast])) == np.linalg.matrix_rank(design)
        assert same == (rated.parts[0] == rated.parts[other])


def test_a_rater_of_documents_of_her_own_is_told(table):
    own = table.assign(annotator="r" + table["document"].str[-1])
    with pytest.warns(PlausiblyWarning, match="6 parts .* cannot be told from what their cases or groups of cases"):
        fit(own, "system", "document", draws=4, warmup=4)


def test_classifiers_that_predict_ratings_are_compared_with_the_mean_rating(table, posterior):
    cases, truth = pb.annotators.mean_ratings(posterior)[["case", "mean"]].to_numpy().T
    truth = pd.Series(truth.astype(float), cases)
    given = {"0.5 too much": truth + 0.5, "near": dict(truth), "mean": np.full(len(truth), truth.mean())}
    found = rating_errors(posterior, given).set_index("classifier")
    assert found.index[0] == "near"
    assert found.loc["near", "p_best"] > 0.5
    np.testing.assert_allclose(found.loc[list(given), "bias"], [0.5, 0, 0], atol=1e-6)
    assert ((found["lower"] <= found["mean_absolute_error"]) & (found["mean_absolute_error"] <= found["upper"])).all()
    draws = pb.annotators.rating_draws(posterior)
    errors = np.abs(truth.mean() - draws).mean()
    assert found.loc["mean", "mean_absolute_error"] == pytest.approx(errors, rel=1e-3)
    by_document = rating_errors(posterior, given, clusters=dict(zip(table["case"], table["document"], strict=True)))
    by_document = by_document.set_index("classifier").loc[found.index]
    np.testing.assert_array_equal(by_document["mean_absolute_error"], found["mean_absolute_error"])


@pytest.mark.filterwarnings("ignore:Some raters err together")
def test_raters_who_always_differ_by_the_same_number_have_a_small_spread():
    step = 0.001
    random = np.random.default_rng(0)
    score = random.integers(1, 6, size=(40, 1)) + step * random.integers(-1, 2, size=(40, 3))
    score[:, 1] = score[:, 0] + 1
    table = pd.DataFrame(
        [
            (f"case {case}", f"r{rater}", value)
            for case, values in enumerate(score)
            for rater, value in enumerate(values)
        ],
        columns=["case", "annotator", "score"],
    )
    spread = fit(table, case_groups=None)["posterior"]["spread"].values[0]
    assert (spread[:, :2] < 0.3 * step + 0.02).all()
    assert np.isfinite(spread).all()

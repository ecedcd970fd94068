"""Systems judged by people and models: time for many outcomes, and how well LLMFAO's votes are predicted.

LLMFAO (Ustalov 2023) has 59 language models whose answers to 13 prompts were compared by people and by GPT-4. Two
things are measured there: the log probability of votes that were left out, and whether intervals from a fifth of the
votes contain the win rates of all.
"""

import time

from benchmarks._data import shared
from benchmarks._process import apart
from benchmarks._table import Row

FOLDS, SHARE = 5, 0.2
#: Nats a vote that an earlier model of ours lost, with systems, ties, people and GPT-4: less is asked of this one.
LEFT_OUT = 0.924


def measure(quick: bool = False) -> list[Row]:
    rows = apart(_time, *((20, 100) if quick else (100, 1000)))[0]
    if not (shared() / "llmfao").is_dir():
        return rows
    return rows + apart(_left_out, 1 if quick else FOLDS)[0] + apart(_fifth)[0]


def outcomes(systems: int, cases: int):
    """Passes and failures by three judges of all outputs and seven people of a few; people are strict or lenient."""
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    rate = random.normal(0.5, 0.7, systems)[:, None] + random.normal(0, 1.3, (systems, cases))
    parts = []
    for rater in range(10):
        person = rater >= 3
        shift = random.normal(0, 0.3) if person else random.normal(0.2, 0.5, systems)[:, None]
        passed = random.logistic(0, 1 if person else 0.7, rate.shape) + rate + shift > 0
        seen = (random.random(rate.shape) < 0.06) & (np.arange(cases) < 150) if person else np.ones_like(passed)
        system, case = np.nonzero(seen)
        of = {"system": system, "case": case, "rater": f"{'person' if person else 'judge'} {rater}"}
        parts.append(pd.DataFrame(of | {"outcome": passed[seen].astype(int)}))
    return pd.concat(parts, ignore_index=True), [f"person {rater}" for rater in range(3, 10)]


def _time(systems: int, cases: int) -> list[Row]:
    import plausibly as pb

    table, people = outcomes(systems, cases)
    rows = []
    for what, model in (("closed forms", False), ("model", True)):
        start = time.perf_counter()
        result = pb.systems(table, people=people, model=model, progress=False)
        seconds = time.perf_counter() - start
        rows.append(Row(f"{systems} systems, {len(table):,} outcomes: {what}", seconds, "s", remark=_chains(result)))
    return rows


def _chains(result) -> str:
    if result.posterior is None:
        return ""
    found = result.posterior["convergence"]
    passed, least = int(found["converged"].sum()), float(found["ess_bulk"].min())
    return f"{passed:,} of {found['converged'].size:,} quantities converged, effective draws at least {least:.0f}"


def votes():
    """LLMFAO's votes as outcomes, and the names of the people."""
    import pandas as pd

    tables = []
    for name in ("crowd", "gpt4-crowd"):
        read = pd.read_csv(shared() / "llmfao" / f"{name}-comparisons.csv")
        rater = "person " + read["worker"].astype(str) if "worker" in read else "gpt-4"
        outcome = read["winner"].map({"left": "a", "right": "b", "tie": "tie"})
        columns = {"system_a": read["left"], "system_b": read["right"], "case": read["prompt"].astype(str)}
        tables.append(pd.DataFrame(columns | {"rater": rater, "outcome": outcome}))
    table = pd.concat(tables, ignore_index=True)
    return table, sorted({*table["rater"]} - {"gpt-4"})


def _left_out(folds: int) -> list[Row]:
    """Leave out all votes of people on a fifth of the pairs, and predict each by the rest and GPT-4's verdict."""
    from dataclasses import replace

    import jax
    import numpy as np
    from scipy.special import logsumexp

    from plausibly.base.arviz import to_groups
    from plausibly.data.outcomes import cell_of_rows, read_outcomes
    from plausibly.models.judged_outcomes import log_of_cells
    from plausibly.systems._model import lay_out, sample
    from plausibly.systems._modelled import parameters_of

    table, people = votes()
    read = read_outcomes(table, people=people)
    cell, number, _ = cell_of_rows(read)
    human = read.is_person[read.rater]
    verdict = dict(zip(cell[~human], np.flatnonzero(~human), strict=True))
    fold = np.random.default_rng(0).integers(0, FOLDS, number)[cell]

    def of(rows, **changed):
        by_row = ("system", "opponent", "case", "rater", "value")
        some = {name: getattr(read, name)[rows] for name in by_row}
        return lay_out(replace(read, **some | changed), np.zeros((1, len(read.systems))))

    @jax.jit
    def scores(judged, nodes, parameters):
        nothing = judged.by_people._replace(kind=judged.by_people.kind[:0], size=0 * judged.by_people.size)
        return log_of_cells(judged, nodes, parameters) - log_of_cells(
            judged._replace(by_people=nothing), nodes, parameters
        )

    total, n = 0.0, 0
    start = time.perf_counter()
    for left in range(folds):
        train = of(~human | (fold != left))
        posterior = sample(train, read.systems, draws=250, chains=2, warmup=300, seed=left, progress=False)
        vote = np.flatnonzero(human & (fold == left))  # each with the verdict of its pair, as a cell of its own
        both = np.concatenate([vote, [verdict[one] for one in cell[vote]]])
        tested = of(both, case=np.tile(np.arange(len(vote)), 2))
        draws = to_groups(posterior)["posterior"].stack(sample=("chain", "draw")).transpose("sample", ...)
        each = [
            scores(tested.judged, tested.nodes, parameters_of(tested, draws.isel(sample=at)))
            for at in range(0, draws.sizes["sample"], 2)
        ]
        total -= float(tested.judged.times @ (logsumexp(each, axis=0) - np.log(len(each))))
        n += len(vote)
    seconds = time.perf_counter() - start
    remark = f"{n:,} votes, {seconds:.0f} s"
    return [Row(f"LLMFAO: left-out votes, {folds} of {FOLDS} folds", total / n, "nats", LEFT_OUT, remark=remark)]


def _fifth() -> list[Row]:
    """Estimate win rates from a fifth of the votes of people and GPT-4's verdicts; compare with those by all votes."""
    import numpy as np
    import pandas as pd

    import plausibly as pb

    table, people = votes()
    by_people = table[table["rater"] != "gpt-4"]
    said = by_people["outcome"].map({"a": 1.0, "tie": 0.5, "b": 0.0})
    both = pd.concat(
        [pd.Series(said.to_numpy(), by_people["system_a"]), pd.Series(1 - said.to_numpy(), by_people["system_b"])]
    )
    truth = both.groupby(level=0).mean()
    some = pd.concat([by_people.sample(frac=SHARE, random_state=1), table[table["rater"] == "gpt-4"]])
    start = time.perf_counter()
    result = pb.systems(some, people=sorted({*some["rater"]} & {*people}), model=True, progress=False)
    seconds = time.perf_counter() - start
    rows, width = [], {}
    for estimator in ("ppi++", "model"):
        found = result.table[result.table["estimator"] == estimator].set_index("system").loc[truth.index]
        inside = int(((found["lower"] <= truth) & (truth <= found["upper"])).sum())
        width[estimator] = float((found["upper"] - found["lower"]).mean())
        error = np.abs(found["mean"] - truth).mean()
        rows.append(f"{inside} of {len(truth)} inside, mean error {error:.3f}")
    remark = f"{rows[1]} (PPI++: {rows[0]}); {_chains(result)}"
    return [
        Row("LLMFAO, a fifth of the votes: width of intervals", width["model"], "", width["ppi++"], remark=remark),
        Row("LLMFAO, a fifth of the votes: model", seconds, "s"),
    ]

"""The page of a sweep: classifiers against annotations under one or more models."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from markupsafe import Markup

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app.report._by_group import results_by_group, what_cases_share
from plausibly.app.report._cases import (
    MOST_LISTED,
    OPEN,
    SETTLED,
    clear_cases,
    disagreements,
    most_ambiguous,
    need_labels,
    of_prior,
    undecided,
)
from plausibly.app.report._exhibits import render as render_page
from plausibly.app.report._exhibits import write
from plausibly.app.report._figures import SECTIONS, drawn, undrawn
from plausibly.app.report._summary import attainable, certainty_in_words, next_steps, order_over_runs
from plausibly.app.report.label_metrics import of_classes
from plausibly.app.report.page import Page, data_facts, page_of
from plausibly.app.report.tables import (
    SAME_AS_ACCURACY,
    accuracy_table,
    all_sizes,
    annotated_cases,
    certainty_table,
    checks_failed,
    headline_metrics,
    lead,
    not_converged_table,
    strata_table,
)
from plausibly.app.results import of
from plausibly.app.results.evaluation import of_sweep
from plausibly.app.results.posterior import worst_values
from plausibly.app.screen import About, Part, Screen
from plausibly.base.bootstrap import width_in_words
from plausibly.base.errors import ArgumentError, show
from plausibly.base.names import many
from plausibly.base.progress import Progress, logged
from plausibly.data.annotations.io.table_files import write_csv
from plausibly.decisions.planning import Plan
from plausibly.families.model import CARON, STUTZ
from plausibly.metrics import METRICS
from plausibly.metrics.words import metric_name
from plausibly.posterior import diagnostics
from plausibly.posterior.says import are_shares

RULE = (
    "A case has converged if no trajectory diverged, if every plausibility has an R-hat of at most "
    f"{diagnostics.R_HAT} and bulk and tail effective sample sizes of at least {diagnostics.ESS_PER_CHAIN} per chain, "
    f"and if E-BFMI is at least {diagnostics.E_BFMI} in every chain. Among many plausibilities, some R-hat values "
    f"exceed {diagnostics.R_HAT} by chance even though the chains have converged. The limit is therefore raised: if "
    f"all chains converged, the probability that any R-hat exceeds it is at most {diagnostics.FALSE_ALARM}."
)
AUDIT = ("check", "count", "of", "examples", "meaning")  #: columns of an audit
_ALL = ("uncertainty-adjusted metrics, annotation certainty and plausibilities", STUTZ)
_ENGINES = {
    "nuts": [
        (
            "sampling by NUTS",
            "Hoffman & Gelman (2014), The No-U-Turn Sampler, Journal of Machine Learning Research 15.",
        ),
        (
            "sampling by NUTS",
            "Phan, Pradhan & Jankowiak (2019), Composable effects for flexible and accelerated probabilistic "
            "programming in NumPyro, arXiv 1912.11554.",
        ),
        (
            "energies of the chains",
            "Betancourt (2016), Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo, arXiv "
            "1604.00695.",
        ),
    ],
    "gibbs": [("Gibbs sampling", CARON)],
}
_CHAINS = (
    "convergence of the chains",
    "Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and localization: an improved "
    "R-hat for assessing convergence of MCMC, Bayesian Analysis 16.",
)
READING = {
    "plausibilities": "Experts disagree, so the truth of a case is a distribution over classes rather than one label. "
    "The plausibility of a class is its share of this distribution.",
    "draw": "One set of plausibilities, for all cases, that fits the annotations. Numbers are averages over draws; how "
    "much the draws differ shows how much the annotations leave open.",
    "these cases, new cases": "An interval for these cases reflects what the annotations leave open. The one for new "
    "cases like these, the total interval, also reflects that other cases could have been sampled. Part of the "
    "variation between cases is due to their annotations, so the two cannot simply be added.",
    "certainty": "The largest share of draws that agree on which class (top-2: which two) is the most plausible: 1 "
    "means all, 0.5 half of them. Risk certainty: on its risk level; risk level certainty: on the level of the "
    "greatest total plausibility; score certainty: the probability that the next score is on the likelier side.",
    "reliability": "How far you trust the annotators. It is an assumption, not an estimate, so report results for "
    "several values. Models are written model@reliability.",
    "top-k accuracy": "Share of cases whose most plausible class is among the first k choices, averaged over draws.",
    "majority vote": "The same against the class with the most votes (the first in class order if votes tie).",
    "ambiguity": "Expected entropy of the plausibilities. With few labels, it reflects the prior.",
    "uncertainty": "Mutual information of the next label and the plausibilities: what it should tell (in nats).",
    "prior": "Share of the prior in what is known of a case.",
}
_EVIDENCE = (
    "Intervals rest on how the predictions and the annotations of all cases go together, and assume that the "
    "classifiers have not seen these annotations; if one has, its accuracy is too high."
)
_ALONE = (
    "Intervals assume that classifiers know no more about a case than its annotations say; for a classifier that knows "
    "more, the accuracy is too low."
)


def sweep_page(
    swept: Sweep,
    sources: Mapping[str, str] | None = None,
    *,
    screen: Screen | None = None,
    comparison: Any = None,
    checks: Any = None,
    sensitivity: Any = None,
    conformal: Any = None,
    plan: Any = None,
    audit: pd.DataFrame | None = None,
    certainty: str = "",
    requirements: Sequence[str] = (),
    progress: bool = False,
) -> Page:
    """Lay out a sweep, as :func:`report` describes it.

    ``conformal`` and ``plan`` may also be functions that return them, called last, so that another thread can
    compute them in the meantime.
    """
    run, problems = lead(swept), list(_audit(audit))
    figures: dict[str, list] = {section: [] for section in SECTIONS}
    with Progress(progress) as bars:
        for picture in drawn(undrawn(swept), bars):
            figures[picture.section].append(picture)
    screen = of_sweep(swept) if screen is None else screen
    screen = screen._replace(headline=" ".join(filter(None, [screen.headline, order_over_runs(swept)])))
    conformal, plan = (given() if callable(given) else given for given in (conformal, plan))
    planned = isinstance(plan, Plan)
    steps: list[str] = list(next_steps(swept, plan if planned else None))
    if planned and len(plan.chosen):
        link = Markup('<a href="{}" download="plan.csv">Save the planned cases</a> (plan.csv).')
        steps.append(link.format(_csv_uri(plan.chosen)))
    seed = {"seed": swept.runs[0].attrs["seed"], "versions": _versions(swept)}
    by, grouped = results_by_group(swept)
    of_labels, class_by_class = of_classes(swept)
    chains = any(one.has_chains for one in swept.runs)
    some = annotated_cases(swept.annotations)
    voted = f"; majority vote of the {swept.annotations.annotated.n_cases:,} cases with annotations" if some else ""
    accuracy = (
        {f"Accuracy with {width_in_words(lead(swept).results)} intervals{voted}": accuracy_table(swept)}
        if swept.classifiers
        else None
    )
    classifiers, settings = many(len(swept.classifiers), "classifier"), many(len(swept.runs), "setting")
    parts = [
        Part("How to read these numbers", list(_reading(run)), "read"),
        Part("Accuracy under every model", accuracy, "result"),
        Part(of_labels, [*class_by_class, *figures["classes"]], "classes"),
        Part("Where experts are sure and a classifier is wrong", clear_cases(swept, certainty), "clear"),
        Part(
            "Agreement with experts and panels",
            [*figures["panels"], *([all_sizes(swept.panels, swept.classifiers)] if figures["panels"] else [])],
            "panels",
        ),
        Part("What do the annotations settle?", list(_settled(swept, run, figures["certainty"])), "trust"),
        Part("Undecided cases", [_undecided(swept, run), *figures["cases"]], "undecided"),
        Part("Results by reliability", figures["reliability"], "reliability"),
        Part("Which classifier is better?", [*figures["better"], *figures["noise"]], "better"),
        Part("Groups of cases", strata_table(swept, SETTLED, OPEN), "strata"),
        Part(by, grouped, "by", open=True),
        Part("Annotators and classes across all cases", what_cases_share(swept), "shared"),
        Part("Which aggregation model?", comparison, "comparison"),
        Part("Does the model reproduce the annotations?", checks, "checks"),
        Part("Sensitivity to priors and conventions", sensitivity, "sensitivity"),
        Part("How large must a set of answers be?", conformal, "sets"),
        Part(f"Where would {f'{plan.budget:,.0f} ' if planned else ''}more labels help?", plan, "labels"),
        Part("Possible problems in the data", problems, "audit"),
        Part("Convergence", list(_convergence(swept, figures["chains"])), "chains", not swept.converged),
        Part("Settings and all metrics", [*_settings(swept), _metrics(swept)], "done"),
    ]
    facts = data_facts(swept.annotations, swept.classifiers) | seed
    understood = (
        f"{many(swept.annotations.n_cases, 'case')}{some}, "
        f"{many(swept.annotations.n_annotations, 'annotation')}, {classifiers}, {settings} of a model and reliability."
    )
    about = About("Classifiers under uncertain ground truth", facts, (), references(swept), parts, understood)
    page = page_of(screen._replace(about=about), sources, requirements)
    converged = swept.verdict() if chains or not swept.converged else ""
    return replace(page, converged=converged, failed=not swept.converged, steps=steps)


def render(swept: Any, sources: Mapping[str, str] | None = None, **further: Any) -> str:
    """Return a page as the text of one self-contained HTML file; equal results give equal text. See :func:`report`."""
    return render_page(_page(swept, sources, **further))


def _page(result: Any, sources: Mapping[str, str] | None, **further: Any) -> Page:
    if isinstance(result, Sweep):
        return sweep_page(result, sources, **further)
    screen, decision, _ = further.pop("screen", None), further.pop("requirements", ()), further.pop("progress", False)
    for name, value in further.items():
        if value is not None and value != "":
            raise ArgumentError(f"{name}= goes beside a sweep, but {show(result)} was given: leave it out.")
    return page_of(of(result) if screen is None else screen, sources, decision)


def report(
    swept: Any,
    path: str | os.PathLike,
    sources: Mapping[str, str] | None = None,
    *,
    progress: bool = True,
    **further: Any,
) -> None:
    """Write a result as one self-contained HTML file: what it says in short, what limits it, and all tables.

    Parameters
    ----------
    swept
        Results of :func:`plausibly.sweep`, or of any other function that answers a question, such as
        :func:`plausibly.evaluate`, :func:`plausibly.systems` or :func:`plausibly.agreement.judge`.
    path
        Path of the file; an existing file is replaced.
    sources
        Files the data come from, such as ``{"annotations": "annotations.json"}``.
    progress
        Whether to show a bar while figures are drawn.
    screen
        What the result says in short, by default as :func:`plausibly.results.of` has it; of a sweep whose model was
        named, or for which metrics were asked, another.
    requirements
        Sentences on whether what is required is met.
    comparison, checks, sensitivity, conformal, plan
        Further results beside a sweep, from :func:`plausibly.compare_models`, :func:`plausibly.predictive_check`,
        :func:`plausibly.prior_sensitivity`, :func:`plausibly.conformal_coverage` and :func:`plausibly.plan`; or
        sentences, data frames, Matplotlib figures or axes, or other results with a ``table`` and optionally a
        ``verdict``; or lists of these, or mappings from captions to these.
    audit
        Result of :func:`plausibly.audit` beside a sweep: a table with the columns ``check``, ``count``, ``of``,
        ``examples``, ``meaning``.
    certainty
        Name of a file beside the report of a sweep, such as ``"certainty.csv"``, with the table
        :attr:`Sweep.certainty`, to which the report links.

    Raises
    ------
    FileError
        If the file cannot be written.
    ArgumentError
        If it is no result, or a further result is none of these.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"]] * 4)
    >>> predictions = {"A": [[0.2, 0.8]] * 4, "B": [[0.9, 0.1]] * 4}
    >>> swept = pb.sweep(annotations, predictions, {"majority-vote": None}, progress=False)
    >>> report(swept, "report.html", checks="Not checked yet.")
    """
    with logged(f"Writing {path}"):
        write(_page(swept, sources, **further, progress=progress), path)


def _reading(run: Run) -> Iterator[Any]:
    """Explain the words of the page, for the run that stands for all."""
    rests_on = _EVIDENCE if "evidence" in run.attrs else _ALONE
    yield f"Unless a line says otherwise, numbers come from {run.label}. {rests_on}"
    yield {"Words of this page": pd.DataFrame(READING.items(), columns=["word", "meaning"])}


def _settled(swept: Sweep, run: Run, figures: Sequence[Any]) -> Iterator[Any]:
    """What annotations settle, and in which cases they do not."""
    if "annotation_certainty_1" in run.results and "withheld" not in run.results.attrs:
        yield certainty_in_words(swept, run)
    table = certainty_table(swept.runs)
    words = {name: metric_name(name).replace("annotation ", "") for name in table.columns[1:]}
    yield {"Certainty of the annotations, mean over cases": table.rename(columns=words | {"run": "model"})}
    if headline_metrics(swept)[0] == "top1_accuracy":
        yield attainable(swept, run)
    yield from figures
    ambiguous, needed = most_ambiguous(run), need_labels(run)
    n_of_prior = int(of_prior(ambiguous["prior_share"].head(MOST_LISTED)).sum())
    of = f" In {n_of_prior} of them, the prior counts as much as the annotations, or more." if n_of_prior else ""
    if not are_shares(run.attrs):
        yield f"Under {run.label}, plausibilities are not shares of annotators, so ambiguity is not theirs."
    yield {f"The most ambiguous cases, under {run.label}.{of}": _cases(ambiguous)}
    yield {"Cases that need more labels: their most plausible class is not settled; by uncertainty": _cases(needed)}
    apart = disagreements(swept)
    if len(apart):
        yield {"Cases where the models disagree on the most plausible class": apart}


def _cases(table: pd.DataFrame) -> pd.DataFrame | None:
    """Cases with what is known of them; none if there are none."""
    words = {"top_class": "most plausible class", "top_plausibility": "plausibility", "expected_entropy": "ambiguity"}
    words |= {"mutual_information": "uncertainty", "prior_share": "prior", "annotation_certainty_1": "certainty"}
    shown = [name for name in ("case", *words) if name in table]
    return table[shown].rename(columns=words).head(MOST_LISTED) if len(table) else None


def _undecided(swept: Sweep, run: Run) -> dict[str, pd.DataFrame]:
    caption = (
        f"The least certain cases under {run.label}: classes with their mean plausibility and, in brackets, the "
        "probability of being the most plausible one; A ≻ B: A is ranked before B; A = B: they are tied"
    )
    return {caption: undecided(swept, run)}


def _convergence(swept: Sweep, figures: Sequence[Any]) -> Iterator[Any]:
    """How chains converged, and the cases where they did not."""
    found = {run.label: run.convergence for run in swept.runs if run.has_chains}
    found |= {f"{run.label}, shared": of for run in swept.runs if (of := run.shared_convergence) is not None}
    table, failed = worst_values(found), not_converged_table(swept.runs)
    yield swept.verdict() if table is None else RULE
    yield table and table._replace(title="Worst value of every diagnostic")
    if len(failed):
        names = {"run": "model", "r_hat": "R-hat", "ess_bulk": "bulk ESS", "ess_tail": "tail ESS"}
        rows = failed[["case", *names, "n_diverging", "failed"]]
        rows = rows.assign(**{name: [f"{size:,.0f}" for size in rows[name]] for name in ("ess_bulk", "ess_tail")})
        yield {"Cases that did not converge": rows.rename(columns=names | {"n_diverging": "divergences"})}
        yield "certainty.csv lists all of them. Results that depend on these cases should not be trusted."
    yield from figures


def _metrics(swept: Sweep) -> Part:
    """Metrics that differ, without the accuracies of classifiers that must have seen the labels, by classifier."""
    table = swept.metrics
    same = table["metric"].isin(SAME_AS_ACCURACY)
    seen = table["classifier"].isin(checks_failed(swept, "ceiling")) & ~table["metric"].str.endswith("coverage")
    table = table.loc[~(same | seen)]
    reliability = ["" if np.isnan(one) else f"{one:g}" for one in table["reliability"]]
    table = table.assign(metric=table["metric"].map(metric_name), reliability=reliability)
    table = table.drop(columns=[name for name in ("undefined", "infinite") if not table[name].any()])
    tables = {
        f"All metrics of {name}": of.drop(columns="classifier").reset_index(drop=True)
        for name, of in table.groupby("classifier", sort=False)
    }
    return Part("All metrics, by classifier", tables)


def _audit(audit: pd.DataFrame | None) -> Iterator[Any]:
    """Checks with findings, and the names of those without; checks that do not apply are left out."""
    if audit is None:
        return
    if not isinstance(audit, pd.DataFrame) or not set(AUDIT) <= set(audit.columns):
        what = f"columns {list(audit.columns)}" if isinstance(audit, pd.DataFrame) else f"a {type(audit).__name__}"
        raise ArgumentError(
            f"an audit is a table with the columns {', '.join(AUDIT)}, but {what} was given: make one "
            "with plausibly.audit."
        )
    found = audit["count"] > 0
    if found.any():
        yield {"Possible problems in the data": audit.loc[found, list(AUDIT)].reset_index(drop=True)}
    if clean := audit.loc[~found & (audit["of"] > 0), "check"].tolist():
        yield f"Checks without findings: {', '.join(clean)}."


def _settings(swept: Sweep) -> Iterator[Any]:
    rows = []
    for name, runs in swept.models.items():
        given = {key: value for key, value in runs[0].arguments.items() if key != "reliability"}
        texts = {key: f"{value:g}" if isinstance(value, float) else value for key, value in given.items()}
        reliabilities = ", ".join(f"{run.reliability:g}" for run in runs if not np.isnan(run.reliability))
        arguments = ", ".join(f"{key} = {text}" for key, text in texts.items())
        rows.append((name, reliabilities or "none", runs[0].attrs["engine"], arguments or "none"))
    columns = ["model", "reliabilities", "engine", "arguments"]
    yield {"Models and their settings": pd.DataFrame(rows, columns=columns)}


def _versions(swept: Sweep) -> str:
    return ", ".join(f"{name} {value}" for name, value in json.loads(swept.runs[0].attrs["versions"]).items())


def _csv_uri(table: pd.DataFrame) -> str:
    """Table as a link to itself, which a browser saves as a file."""
    text = StringIO()
    write_csv(table, text)
    return f"data:text/csv;charset=utf-8,{quote(text.getvalue())}"


def references(swept: Sweep) -> list[tuple[str, str]]:
    """List what to cite for the models and engines of a sweep: each source once, and what for."""
    used = [_ALL]
    for run in swept.runs:
        citations = json.loads(run.attrs.get("declaration", "{}")).get("citations", [])
        used += [*map(tuple, citations), *_ENGINES.get(str(run.attrs.get("engine")), [])]
        if run.has_chains:
            used.append(_CHAINS)
    results = [str(name) for run in swept.runs for name in run.results.data_vars] if swept.classifiers else []
    for name, metric in METRICS.items():
        if metric.source and any(result.endswith(f"_{name}") for result in results):
            used.append((f"{metric.words or name} of lists", metric.source))
    purposes: dict[str, list[str]] = {}
    for what, source in used:
        if what not in purposes.setdefault(source, []):
            purposes[source].append(what)
    return [
        (", and for ".join(filter(None, [", for ".join(what[:-1]), what[-1]])), source)
        for source, what in purposes.items()
    ]

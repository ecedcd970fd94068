"""The report as one HTML page."""

import json
import os
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from plausibly.aggregation.sweeps import Sweep
from plausibly.app.report._ambiguity import MOST, OPEN, SETTLED, disagreements, most_ambiguous, need_labels, of_prior
from plausibly.app.report._by_group import results_by_group, what_cases_share
from plausibly.app.report._cases import clear_cases, undecided
from plausibly.app.report._environment import template, write_page
from plausibly.app.report._extras import extras
from plausibly.app.report._figures import MANY, SECTIONS, drawn, first_figure, undrawn
from plausibly.app.report._summary import attainable, next_steps, sentences
from plausibly.app.report.label_metrics import of_classes
from plausibly.app.report.tables import (
    MOST_ROWS,
    SAME_AS_ACCURACY,
    annotated_cases,
    certainty_table,
    checks_failed,
    convergence_table,
    headline,
    headline_metrics,
    lead,
    not_converged_table,
    panel_table,
    strata_table,
)
from plausibly.base.errors import ArgumentError
from plausibly.base.progress import Progress, logged
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.table_files import write_csv
from plausibly.decisions.planning import Plan
from plausibly.evaluation.summaries import FEW
from plausibly.families.model import CARON, STUTZ
from plausibly.metrics import METRICS
from plausibly.posterior import diagnostics
from plausibly.posterior.says import are_shares, learns

RULE = (
    "A case has converged if no trajectory diverged, if every plausibility has an R-hat of at most "
    f"{diagnostics.R_HAT} and bulk and tail effective sample sizes of at least {diagnostics.ESS_PER_CHAIN} per chain, "
    f"and if E-BFMI is at least {diagnostics.E_BFMI} in every chain. Among many plausibilities, some R-hat values "
    f"exceed {diagnostics.R_HAT} by chance even though the chains have converged. The limit is therefore raised: if "
    f"all chains converged, the probability that any R-hat exceeds it is at most {diagnostics.FALSE_ALARM}."
)
_PANELS = "Panels of n experts [94 % interval]"
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


def render(
    swept: Sweep,
    sources: Mapping[str, str] | None = None,
    *,
    comparison: Any = None,
    checks: Any = None,
    sensitivity: Any = None,
    conformal: Any = None,
    plan: Any = None,
    audit: pd.DataFrame | None = None,
    certainty: str = "",
    requirements: Sequence[str] = (),
    progress: bool = False,
) -> str:
    """Return a sweep as the text of one self-contained HTML file; equal sweeps give equal text. See :func:`report`.

    ``conformal`` and ``plan`` may also be functions that return them, called last, so that another thread can
    compute them in the meantime.
    """
    audited = _audit(audit)
    figures: dict[str, list] = {section: [] for section in SECTIONS}
    with Progress(progress) as bars:
        for picture in drawn(undrawn(swept), bars):
            figures[picture.section].append(picture)
    failed = not_converged_table(swept.runs)
    by, grouped = results_by_group(swept)
    of_labels, class_by_class = of_classes(swept)
    ambiguous = most_ambiguous(lead(swept)).head(MOST)
    shown = {
        "swept": swept,
        "many": MANY,
        "requirements": requirements,
        "data": data_facts(swept.annotations, swept.classifiers),
        "annotated": annotated_cases(swept.annotations),
        "sources": dict(sources or {}),
        "settings": _settings(swept),
        "versions": json.loads(swept.runs[0].attrs["versions"]),
        "rule": RULE,
        "has_chains": any(run.has_chains for run in swept.runs),
        "convergence": _records(convergence_table(swept.runs)),
        "failed": _records(failed.head(MOST_ROWS)),
        "n_failed": len(failed),
        "headline": [_records(rows) for _, rows in headline(swept).groupby("run", sort=False)],
        "headline_metrics": headline_metrics(swept),
        "certainty": _records(certainty_table(swept.runs)),
        "metrics": _records(_metrics(swept)),
        "figures": figures,
        "ambiguous": _records(ambiguous),
        "n_of_prior": int(of_prior(ambiguous["prior_share"]).sum()),
        "shares": are_shares(lead(swept).attrs),
        "learns": learns(lead(swept).attrs),
        "needed": _records(need_labels(lead(swept)).head(MOST)),
        "n_needed": len(need_labels(lead(swept))),
        "disagreements": _records(disagreements(swept).head(MOST)),
        "n_disagreements": len(disagreements(swept)),
        "n_clusters": int(lead(swept).results.attrs["clusters"]),
        "summary": list(sentences(swept)),
        "first": first_figure(swept),
        "attainable": attainable(swept, lead(swept)) if headline_metrics(swept)[0] == "top1_accuracy" else "",
        "lead": lead(swept),
        "cases": list(undecided(swept, lead(swept))),
        "strata": strata_table(swept, SETTLED, OPEN),
        "references": references(swept),
        "few": FEW,
        "audit": audited,
        "of_labels": of_labels,
        "panels": None if swept.panels is None else extras(panel_table(swept.panels, swept.classifiers), _PANELS)[0],
        "class_by_class": extras(class_by_class),
        "clear": extras(clear_cases(swept, certainty)),
    }
    conformal, plan = (given() if callable(given) else given for given in (conformal, plan))
    many = f"{plan.budget:,.0f} " if isinstance(plan, Plan) else ""
    others = [
        ("by", by, extras(grouped)),
        ("shared", "Annotators and classes across all cases", extras(what_cases_share(swept))),
        ("comparison", "Which aggregation model?", extras(comparison)),
        ("checks", "Does the model reproduce the annotations?", extras(checks)),
        ("sensitivity", "Sensitivity to priors and conventions", extras(sensitivity)),
        ("sets", "How large must a set of answers be?", extras(conformal)),
        ("labels", f"Where would {many}more labels help?", extras(plan)),
    ]
    shown["planned"] = _csv_uri(plan.chosen) if isinstance(plan, Plan) and len(plan.chosen) else ""
    shown["steps"] = list(next_steps(swept, plan if isinstance(plan, Plan) else None))
    shown["others"] = [(name, words, found) for name, words, found in others if found]
    return template("report.html.j2", number=_number, percent=_percent, case=_case).render(shown)


def report(
    swept: Sweep,
    path: str | os.PathLike,
    sources: Mapping[str, str] | None = None,
    *,
    comparison: Any = None,
    checks: Any = None,
    sensitivity: Any = None,
    conformal: Any = None,
    plan: Any = None,
    audit: pd.DataFrame | None = None,
    certainty: str = "",
    requirements: Sequence[str] = (),
    progress: bool = True,
) -> None:
    """Write a sweep as one self-contained HTML file.

    Parameters
    ----------
    swept
        Results of :func:`plausibly.sweep`.
    path
        Path of the file; an existing file is replaced.
    sources
        Files the data come from, such as ``{"annotations": "annotations.json"}``.
    comparison, checks, sensitivity, conformal, plan
        Further results, from :func:`plausibly.compare_models`, :func:`plausibly.predictive_check`,
        :func:`plausibly.prior_sensitivity`, :func:`plausibly.conformal_coverage` and :func:`plausibly.plan`; or
        sentences, data frames, Matplotlib figures or axes, or other results with a ``table`` and optionally a
        ``verdict``; or lists of these, or mappings from captions to these.
    audit
        Result of :func:`plausibly.audit`: a table with the columns ``check``, ``count``, ``of``, ``examples``,
        ``meaning``.
    certainty
        Name of a file beside the report, such as ``"certainty.csv"``, with the table :attr:`Sweep.certainty`, to which
        the report links.
    requirements
        Sentences on whether the classifiers meet what is required of them.
    progress
        Whether to show a bar while figures are drawn.

    Raises
    ------
    FileError
        If the file cannot be written.
    ArgumentError
        If a further result is none of these.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"]] * 4)
    >>> predictions = {"A": [[0.2, 0.8]] * 4, "B": [[0.9, 0.1]] * 4}
    >>> swept = pb.sweep(annotations, predictions, {"majority-vote": None}, progress=False)
    >>> report(swept, "report.html", checks="Not checked yet.")
    """
    further = {"comparison": comparison, "checks": checks, "sensitivity": sensitivity, "conformal": conformal}
    further |= {"plan": plan, "audit": audit, "certainty": certainty, "requirements": requirements}
    with logged(f"Writing {path}"):
        write_page(render(swept, sources, **further, progress=progress), path)


def _metrics(swept: Sweep) -> pd.DataFrame:
    """Metrics that differ, without the accuracies of classifiers that must have seen the labels."""
    table = swept.metrics
    same = table["metric"].isin(SAME_AS_ACCURACY)
    seen = table["classifier"].isin(checks_failed(swept, "ceiling")) & ~table["metric"].str.endswith("coverage")
    return table.loc[~(same | seen)]


def _audit(audit: pd.DataFrame | None) -> dict[str, list[dict[str, Any]]]:
    """Split checks into those with findings and those without; leave out checks that do not apply."""
    if audit is None:
        return {"found": [], "clean": []}
    if not isinstance(audit, pd.DataFrame) or not set(AUDIT) <= set(audit.columns):
        what = f"columns {list(audit.columns)}" if isinstance(audit, pd.DataFrame) else f"a {type(audit).__name__}"
        raise ArgumentError(
            f"an audit is a table with the columns {', '.join(AUDIT)}, but {what} was given: make one "
            "with plausibly.audit."
        )
    rows = _records(audit)
    for row in rows:
        examples = row["examples"]
        row["examples"] = examples if isinstance(examples, str) else ", ".join(map(str, examples))
    return {
        "found": [row for row in rows if row["count"]],
        "clean": [row for row in rows if not row["count"] and row["of"]],
    }


def data_facts(annotations: Annotations, classifiers: Sequence[str]) -> dict[str, str]:
    """Describe the data in a table."""
    per_case = annotations.annotated.per_case
    blocks = annotations.block_sizes
    named = len(np.unique(annotations.entry_class))
    return {
        "cases": f"{annotations.n_cases:,}{annotated_cases(annotations)}",
        "annotations": f"{annotations.n_annotations:,}, {per_case.min()} to {per_case.max()} per case, on average "
        f"{per_case.mean():.1f}",
        "annotators": "unknown: the data do not name them"
        if annotations.anonymous
        else f"{len(annotations.annotators):,}",
        "cases with a single annotation": f"{int((per_case == 1).sum()):,} ({_percent((per_case == 1).mean())})",
        "classes": f"{annotations.n_classes:,}, of which annotators name {named:,}",
        "tied blocks": f"{int((blocks > 1).sum()):,} of {len(blocks):,}"
        + (f"; the largest has {blocks.max()} classes" if blocks.max() > 1 else ""),
        "classifiers": ", ".join(classifiers) or "none",
    }


def _settings(swept: Sweep) -> list[dict[str, Any]]:
    rows = []
    for name, runs in swept.models.items():
        given = {key: value for key, value in runs[0].arguments.items() if key != "reliability"}
        texts = {key: f"{value:g}" if isinstance(value, float) else value for key, value in given.items()}
        row = {"model": name, "engine": runs[0].attrs["engine"]}
        row["reliabilities"] = ", ".join(f"{run.reliability:g}" for run in runs if not np.isnan(run.reliability))
        rows.append(row | {"arguments": ", ".join(f"{key} = {text}" for key, text in texts.items())})
    return rows


def _csv_uri(table: pd.DataFrame) -> str:
    """Table as a link to itself, which a browser saves as a file."""
    text = StringIO()
    write_csv(table, text)
    return f"data:text/csv;charset=utf-8,{quote(text.getvalue())}"


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return table.rename(columns=str).to_dict("records")


def _case(name: str) -> str:
    return name if name.lower().startswith("case") else f"Case {name}"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _number(value: float, digits: int = 3) -> str:
    """Print a number with some decimals; NaN is empty."""
    return "" if pd.isna(value) else f"{value:,.{digits}f}"


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

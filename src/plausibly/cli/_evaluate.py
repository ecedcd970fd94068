"""``plausibly evaluate``: annotations and predictions in; tables, posteriors and a report out."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from plausibly import annotations as annotated
from plausibly.aggregation import parse_variants
from plausibly.annotations._usual_models import one_truth_model, recommended_models, usual_models
from plausibly.audit import audit, serious
from plausibly.cli import _options as options
from plausibly.cli._against_labels import against_labels, refuse_model
from plausibly.cli._app import NOT_CONVERGED, example
from plausibly.cli._asked_metrics import (
    chosen_thresholds,
    graded,
    how_chosen,
    parse_metrics,
    show,
    show_groups,
    with_class,
    write_curves,
)
from plausibly.cli._further_labels import plan_labels
from plausibly.cli._groups import read_by, read_column
from plausibly.cli._model_names import EvaluatedModelNames
from plausibly.cli._output import complain, console, main_table, make_folder, say, speaker, write_table, writing
from plausibly.cli._sets_of_answers import measure_sets
from plausibly.errors import ArgumentError
from plausibly.evaluation._evidence_checks import check_fresh
from plausibly.evaluation._limits import cautions
from plausibly.report import (
    accuracies,
    agreement,
    alike,
    choice_of_cases,
    freed_shape,
    lead,
    prior_notes,
    report,
    rests_on,
)
from plausibly.report._label_metrics import truths
from plausibly.report._tables import checks_failed
from plausibly.sweeps import Folder, Plan, Sweep

OF_MODELS = "ties", "mode", "unranked", "concentration"  #: options after which models are as published
OF_SAMPLES = "prior_kappa", "prior", "draws", "chains", "warmup", "k"  #: further options that only models have
METRICS, CERTAINTY, GROUPS, REPORT = "metrics.csv", "certainty.csv", "groups.csv", "report.html"


@example(
    """
    plausibly evaluate annotations.json \\
        --classes conditions.txt --risks risks.txt \\
        --predictions A=a.csv --predictions B=b.npy \\
        --model plackett-luce@1,3,10 --model prirn@10,30,100 \\
        --seed 0 --out results/
    """
)
def evaluate(
    annotations: options.AnnotationsFile,
    classes: options.ClassesFile = None,
    choices: options.Choices = None,
    risks: options.RisksFile = None,
    predictions: options.PredictionFiles = None,
    clusters: options.Clusters = None,
    by: options.By = None,
    intersections: options.Intersections = False,
    model: EvaluatedModelNames = None,
    annotations_only: Annotated[
        bool,
        options.modelling(
            "--annotations-only",
            help="Leave predictions out of the posterior, for classifiers that have seen these very annotations. "
            "Classifiers that look at the case are then underrated.",
        ),
    ] = False,
    one_truth: Annotated[
        bool,
        options.modelling(
            "--one-truth",
            help="Each case has one true class, which annotators miss at times, as where a biopsy would settle it. "
            "Takes the recommended model for such a task: dawid-skene if annotators are named and have enough labels, "
            "else common-confusion. For labels and counts.",
        ),
    ] = False,
    fresh_labels: Annotated[
        Path | None,
        options.data(
            "--fresh-labels",
            metavar="FILE",
            help="Further annotations of some cases, chosen at random, by people that the classifiers have not learned "
            "from; any format of annotations. Less agreement with them than with the others: a classifier has seen "
            "those.",
        ),
    ] = None,
    *,
    given: options.SweepOptions,
    asked: options.MetricOptions,
    format: Annotated[
        Literal["csv", "parquet"],
        typer.Option(help="Format of the tables; parquet is smaller and faster for many cases."),
    ] = "csv",
    store: options.StoreOptions,
    dask: options.Dask = None,
    out: options.ResultsFolder = Path("results"),
    strict: options.Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate classifiers against the annotations under one or more aggregation models.

    Writes report.html, metrics.csv (one row per classifier, model, reliability and metric), certainty.csv (one row per
    case, model and reliability), and posterior-….nc for each model and reliability. Models that assume one true class
    add annotators.csv and confusions.csv; population priors add shifts.csv; --by adds groups.csv (every metric by group
    of cases), and metrics that are curves or confusion matrices add curves.csv and confusion.csv. A metric that has a
    value for every class has a row for each. With --format parquet, tables are .parquet files. Other files in FOLDER
    are left alone.

    With --truth annotator or panel, no model is fitted: report.html, metrics.csv and the tables that --by, curves and
    confusion matrices add are about the metrics that are named, against the labels themselves.

    Each option under Models applies to every model that accepts it.

    Posteriors in FOLDER are reused if data, arguments and versions are the same, and replaced otherwise. If there are
    more cases than fit in one shard, posteriors are Zarr folders, posterior-….zarr, and an interrupted run continues
    where it stopped. A posterior that an earlier run left in the other format (.nc or .zarr) is removed.
    """
    if asked.truth != "most-plausible":
        of_models: dict[str, Any] = {"--model": model, "--annotations-only": annotations_only}
        if "expected_cost" not in (asked.metrics or ""):
            of_models["--risks"] = risks
        of_models |= {"--one-truth": one_truth, "--fresh-labels": fresh_labels, "--dask": dask}
        of_models |= {"--resume": store.resume, "--fresh": store.fresh, "--extra include": given.extra == "include"}
        names = (*OF_MODELS, *OF_SAMPLES)
        of_models |= {f"--{name.replace('_', '-')}": getattr(given, name) for name in names}
        refuse_model(asked.truth, of_models)
        options_of_labels = ("threshold", "logits", "extra", "break_ties", "replicates", "seed")
        against_labels(
            annotations,
            classes,
            options.parse_files(predictions),
            asked,
            out,
            choices=choices,
            risks=risks,
            clusters=clusters,
            by=by,
            intersections=intersections,
            suffix=f".{format}",
            quiet=quiet,
            **{name: value for name, value in given.arguments().items() if name in options_of_labels},
        )
        return
    swept = run(
        annotations,
        classes,
        risks,
        options.parse_files(predictions),
        model,
        choices=choices,
        quiet=quiet,
        suffix=f".{format}",
        folder=Folder(out, **vars(store)),
        dask=dask,
        clusters=clusters,
        by=by,
        intersections=intersections,
        annotations_only=annotations_only,
        one_truth=one_truth,
        fresh_labels=fresh_labels,
        asked=asked,
        **given.arguments(),
    )
    finish(swept, out, quiet=quiet, strict=strict, suffix=f".{format}")


def run(
    annotations: Path,
    classes: Path | None,
    risks: Path | None,
    predictions: Mapping[str, str],
    models: Sequence[str] | None,
    *,
    folder: Folder,
    quiet: bool,
    choices: str | None = None,
    suffix: str = ".csv",
    dask: str | None = None,
    clusters: str | None = None,
    by: str | None = None,
    annotations_only: bool = False,
    one_truth: bool = False,
    fresh_labels: Path | None = None,
    asked: options.MetricOptions | None = None,
    **given: Any,
) -> Sweep:
    """Run a sweep from files to files, and write each file as soon as its contents are known."""
    asked = options.MetricOptions() if asked is None else asked
    evidence, split = bool(predictions) and not annotations_only, given.get("threshold")
    read = graded(annotations, classes, asked, choices=choices, threshold=split, progress=not quiet)
    scale = None if isinstance(read, annotated.Scores) else read.classes
    if one_truth:
        if models:
            raise ArgumentError(f"--one-truth chooses the model, but --model {models[0]} was given: leave one out.")
        name, why = one_truth_model(read, predictions=evidence)
        models = (name,)
        if not quiet:
            say(f"One true class in each case: {name.partition(':')[0]}, because {why}", stderr=True)
    elif not models:
        published = any(given.get(name) is not None for name in OF_MODELS)
        if isinstance(read, annotated.Scores) and evidence and not published and given.get("prior") is None:
            read, given["threshold"] = read.split(split), None
            if not quiet:
                names = " and ".join(map(str, read.classes))
                say(f"Scores are labels, {names}: models of scores know no predictions", stderr=True)
        models = usual_models(read) if published else recommended_models(read, predictions=evidence)
        if given["extra"] == "include":  # of which nothing is known but by evidence
            models = models[:1]
    if asked.threshold_from is not None:
        if given.get("threshold") is not None:
            raise ArgumentError("--threshold and --threshold-from were given, but each names a threshold: keep one.")
        other = graded(asked.threshold_from, classes, asked, choices=choices, scale=scale, progress=not quiet)
        given |= {
            "threshold": chosen_thresholds(asked, other, read, predictions, given.get("logits", False)),
            "extra": "ignore",
        }
    plan = Plan.of(
        read,
        predictions,
        parse_variants(models),
        metrics=parse_metrics(asked, 2 if isinstance(read, annotated.Scores) else read.n_classes, drawn=True),
        ordered=asked.ordered,
        positive=asked.positive,
        prevalence=asked.prevalence,
        risks=None if risks is None else str(risks),
        clusters=read_column(clusters, annotations),
        by=read_by(by, annotations),
        **given,
    )
    fresh = None
    if fresh_labels is not None:
        if not predictions:
            raise ArgumentError("--fresh-labels checks classifiers, but no --predictions were given: add some.")
        fresh = graded(fresh_labels, classes, asked, choices=choices, scale=scale, progress=not quiet)
        fresh = fresh.split(split) if isinstance(fresh, annotated.Scores) else fresh
        check_fresh(fresh, plan.annotations)
    out = folder.path
    make_folder(out)

    labels = read.split(split) if isinstance(read, annotated.Scores) else read
    annotated_cases = np.flatnonzero(plan.annotations.per_case)
    of_annotated = {name: scores[annotated_cases] for name, scores in plan.predictions.items()}
    audited = audit(labels, of_annotated)
    if not quiet and (grave := serious(audited)):
        complain(f"the data have {', '.join(grave)}: see the report, or run plausibly audit.", "Note")
    runs, curves, chosen = [], {}, how_chosen(asked)
    for done in plan.runs(folder, progress=not quiet, say=speaker(quiet), scheduler=dask):
        if not runs:
            with writing(out / REPORT):
                (out / REPORT).unlink(missing_ok=True)  # the report of an earlier run does not belong to these tables
        if chosen:
            done.results.attrs["threshold_from"] = chosen
        write_table(with_class(done.metrics()), (out / METRICS).with_suffix(suffix), append=bool(runs))
        write_table(done.certainty(), (out / CERTAINTY).with_suffix(suffix), append=bool(runs))
        if by is not None:
            write_table(with_class(done.groups()), (out / GROUPS).with_suffix(suffix), append=bool(runs))
        curves |= dict.fromkeys(write_curves(done.results, done.names, out, suffix, append=bool(curves)))
        for name, table in done.shared.items():
            path = (out / name).with_suffix(suffix)
            write_table(table.assign(model=done.label), path, append=any(name in run.shared for run in runs))
        runs.append(done)
    swept = plan.sweep(runs, fresh)
    for results in truths(swept) if chosen else ():
        results.attrs["threshold_from"] = chosen
    if not quiet and plan.predictions:
        shown = truths(swept)[0] if "withheld" in lead(swept).results.attrs else lead(swept).results
        seen = checks_failed(swept, "ceiling")  # whose numbers say nothing
        shown = shown.sel(classifier=[name for name in swept.classifiers if name not in seen])
        for print_numbers in (show, show_groups) if shown.sizes["classifier"] else ():
            print_numbers(shown)
        if curves:
            say(f"Curves and confusion matrices are in {' and '.join(curves)}")
    if not quiet:
        say("Writing the report", stderr=True)
    sources = {"annotations": str(annotations), "classes": classes, "risks": risks, "fresh labels": fresh_labels}
    sources |= {f"predictions of {name}": path for name, path in predictions.items()}
    if asked.threshold_from is not None:
        sources |= {f"threshold at {asked.rule} of": asked.threshold_from}
    named = {what: str(path) for what, path in sources.items() if path is not None}
    linked = {"audit": audited, "certainty": Path(CERTAINTY).with_suffix(suffix).name}
    with ThreadPoolExecutor(1) as pool:  # while figures are drawn
        sets, further = (
            pool.submit(make, plan, swept, folder, progress=not quiet) for make in (measure_sets, plan_labels)
        )
        report(swept, out / REPORT, named, **linked, conformal=sets.result, plan=further.result, progress=not quiet)
    return swept


def finish(swept: Sweep, out: Path, *, quiet: bool, strict: bool, suffix: str = ".csv") -> None:
    """Print the table and the verdict, and exit with the matching status."""
    if not quiet:
        terminal = console()
        terminal.print(main_table(swept, terminal.width))
        shared = dict.fromkeys(name for run in swept.runs for name in run.shared)
        groups = [GROUPS] if "group" in swept.runs[0].results.coords else []
        tables = [str(Path(name).with_suffix(suffix)) for name in (METRICS, CERTAINTY, *groups, *shared)]
        n = len(swept.runs)
        written = ", ".join((*tables, f"{n} posterior{'s' if n > 1 else ''}", REPORT))
        say(f"Wrote {written} to {out}")
        for run in swept.runs:
            if "assumes" in run.attrs:
                say(f"{run.label} assumes {run.attrs['assumes']} in every case")
        for told in agreement(swept, swept.classifiers):
            say(told)
        freed = freed_shape(swept, lead(swept))
        for told in [row["meaning"] for row in freed.values()] or accuracies(swept):
            say(told)
        if swept.classifiers and (told := rests_on(lead(swept))):
            say(told)
        limiting = cautions(swept.annotations, lead(swept).results, swept.checks) if swept.classifiers else ()
        for note in (*limiting, *choice_of_cases(swept), *prior_notes(alike(swept.runs, lead(swept)))):
            complain(note, "Note")
    where = "" if swept.converged else f" {(out / CERTAINTY).with_suffix(suffix)} lists all of them."
    say(swept.verdict() + where)
    if strict and not swept.converged:
        raise typer.Exit(NOT_CONVERGED)

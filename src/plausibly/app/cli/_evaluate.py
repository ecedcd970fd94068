"""``plausibly evaluate``: annotations and predictions in; tables, posteriors and a report out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from plausibly.aggregation import parse_variants
from plausibly.aggregation.sweeps import Folder, Plan, Sweep, posterior_name
from plausibly.app.cli import _options as options
from plausibly.app.cli._against_labels import REPORT, against_labels
from plausibly.app.cli._app import example
from plausibly.app.cli._asked_metrics import (
    arguments_of,
    graded,
    how_chosen,
    look_for_problems,
    parse_metrics,
)
from plausibly.app.cli._folder import keep_others, make_folder, writing
from plausibly.app.cli._groups import groups_and_clusters
from plausibly.app.cli._model_names import EvaluatedModelNames
from plausibly.app.cli._output import (
    NOTES_FILE,
    WITHOUT_QUICK,
    TablesInParts,
    check_answers,
    say,
    say_written,
    show,
    speaker,
)
from plausibly.app.cli._ratings import describe_ratings
from plausibly.app.cli._requirements import (
    REQUIREMENTS,
    check_requirements,
    parse_requirements,
    requirement_sentences,
    requirement_table,
)
from plausibly.app.report import lead, order_over_runs
from plausibly.app.report.label_metrics import truths
from plausibly.app.report.tables import GROUPS, checks_failed, curve_tables, headline_metrics, with_class
from plausibly.app.report.tables import METRICS_TABLE as METRICS
from plausibly.app.results.evaluation import of_sweep
from plausibly.app.screen import Screen
from plausibly.base.errors import ArgumentError
from plausibly.base.names import many
from plausibly.base.pools import small_products, threads
from plausibly.base.programs import kept_on_disk
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.usual_models import (
    OF_RATINGS,
    are_ratings,
    one_truth_model,
    recommended_models,
    usual_models,
)
from plausibly.data.rounds import tell
from plausibly.evaluation.checks import check_fresh
from plausibly.evaluation.comparison import differences
from plausibly.posterior import opened

if TYPE_CHECKING:
    from plausibly.decisions.conformal import Coverage
    from plausibly.decisions.planning import Plan as LabelPlan

OF_MODELS = "ties", "mode", "unranked", "concentration"  #: options after which models are as published
OF_SAMPLES = "prior_kappa", "prior", "draws", "chains", "warmup", "k"  #: further options that only models have
CERTAINTY = "certainty.csv"
DIFFERENCES, RANKINGS = "differences.csv", "rankings.csv"
ALPHA, SPLITS = 0.1, 20  #: of the sets in the report
LEAST, MOST = 40, 2**24  #: cases, and scores of a classifier, between which sets are measured
_WRITTEN, _ORDER, _MET = 2, 2, 5  # lines for what was written, the order under other models, and requirements
BUDGET = 100  #: labels of the plan in the report
MOST_PLANNED = 20_000  #: cases up to which the report has a plan


@dataclass
class ModelChoice:
    """Aggregation models, and what they are given.

    Options
    -------
    annotations_only
        Leave predictions out of the posterior, for classifiers that have seen these very annotations. Classifiers that
        look at the case are then underrated.
    one_truth
        Assume that each case has one true class, as if a biopsy could settle it, which annotators sometimes miss. The
        model is dawid-skene if annotators are named and have enough labels, else common-confusion. For labels and
        counts.
    fresh_labels FILE
        Further annotations of some cases, chosen at random, by people that the classifiers have not learned from. A
        classifier that agrees less with these than with the others has seen the others.
    """

    model: EvaluatedModelNames = None
    annotations_only: bool = False
    one_truth: bool = False
    fresh_labels: Path | None = None

    @property
    def as_published(self) -> bool:
        """Whether a model is named, and not with the recommended prior, which knows predictions; or a true class."""
        return self.one_truth or (bool(self.model) and "class_prior=predictions" not in self.model[0])


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
    data: options.EvaluatedData,
    *,
    models: ModelChoice,
    settings: options.SweepOptions,
    asked: options.MetricOptions,
    format: Literal["csv", "parquet"] = "csv",
    store: options.StoreOptions,
    dask: str | None = None,
    quick: bool = False,
    output: options.IntoResults,
) -> None:
    """Evaluate classifiers against the annotations under one or more aggregation models.

    Prints one screen as soon as the first model is fitted: how often each classifier decides as five experts would
    together (or as many as cases have labels), how often it agrees with one, next to how often experts agree with each
    other, and how far ahead it is. If a model is named, its accuracy comes first, as published. Then fits other models
    for comparison, says whether the order changes, and draws the report.

    Writes report.html, metrics.csv (one row per classifier, model, reliability and metric), certainty.csv (one row per
    case, model and reliability), and posterior-….nc for each model and reliability; of several classifiers,
    differences.csv (which is better, by how much and how probably) and, under several models or reliabilities,
    rankings.csv (where the ranking changes). Models that assume one true class
    add annotators.csv and confusions.csv, ratings by raters who differ severities.csv and mean_ratings.csv;
    --by adds groups.csv (every metric by group of cases), and metrics that are curves or
    confusion matrices add curves.csv and confusion.csv. A metric that has a value for every class has a row for each.
    With --format parquet, tables are .parquet files. Other files in FOLDER are left alone.

    Ratings without a threshold are modelled if they have few values and raters are named. Others are only described:
    ratings.csv (means by case), raters.csv (by rater) and, on the screen, how well raters agree.

    With --truth annotator or panel, no model is fitted, and report.html and all tables are about the metrics that are
    named, against the labels themselves. With --gold, annotators who are named are evaluated, too: readers.csv, points
    in the ROC curve, and a note.

    An option of a model applies to every model that accepts it.

    Posteriors in FOLDER are reused if data, arguments and versions are the same, and replaced otherwise. If there are
    more cases than fit in one shard, posteriors are Zarr folders, posterior-….zarr, and an interrupted run continues
    where it stopped. A posterior that an earlier run left in the other format (.nc or .zarr) is removed. Results of
    other data in FOLDER are refused without --fresh, and files of other commands renamed.

    ANNOTATIONS may be a folder, whose files plausibly doctor identifies as annotations, predictions by classifier, gold
    labels, classes and risks; the first line says so.

    With --require, requirements.csv and the last lines say with what probability each classifier meets each
    requirement, under every run that uses as much evidence as the first. Exit status: 0, or 3 if a requirement is not
    met, 2 after bad input, 1 if chains did not converge with --strict.

    Options
    -------
    format
        Format of the tables; parquet is smaller and faster for many cases.
    quick
        Stop at the numbers that are printed: no report, no further metrics of lists and, unless models are named, no
        models for comparison.
    """
    suffix = f".{format}"
    data, asked = _of_folder(data, models, asked, quiet=output.quiet)
    if asked.truth != "most-plausible":
        of_models: dict[str, Any] = {"--model": models.model, "--annotations-only": models.annotations_only}
        if "expected_cost" not in (asked.metrics or ""):
            of_models["--risks"] = data.risks
        of_models |= {"--one-truth": models.one_truth, "--fresh-labels": models.fresh_labels, "--dask": dask}
        of_models |= {"--resume": store.resume, "--extra include": settings.extra == "include"}
        names = (*OF_MODELS, *OF_SAMPLES)
        of_models |= {f"--{name.replace('_', '-')}": getattr(settings, name) for name in names}
        for option in (option for option, value in of_models.items() if value not in (None, False)):
            raise ArgumentError(
                f"--truth {asked.truth} fits no model, but {option} was given, which needs one: leave one of them out."
            )
        against_labels(data, settings, asked, output, suffix=suffix, fresh=store.fresh, quick=quick)
        return
    read = graded(data, asked, threshold=settings.threshold, progress=not output.quiet)
    if isinstance(read, Scores) and not are_ratings(read) and _asks_nothing(data, models, settings, asked):
        describe_ratings(read, output, data=data.annotations, suffix=suffix, fresh=store.fresh)
        return
    given: dict[str, Any] = {"read": read, "store": vars(store), "dask": dask, "suffix": suffix}
    finish(run(data, models, settings, asked, output, **given, quick=quick), output, suffix=suffix)


def _of_folder(
    data: options.EvaluatedData, models: ModelChoice, asked: options.MetricOptions, *, quiet: bool
) -> tuple[options.EvaluatedData, options.MetricOptions]:
    """Take the files of a folder for what they are; options that are given prevail."""
    folder = data.annotations
    if not (isinstance(folder, Path) and folder.is_dir()):
        return data, asked
    from plausibly.app.cli._study import read_study

    given = [name for name in ("classes", "risks", "predictions") if getattr(data, name) is not None]
    given += ["risks"] if asked.truth != "most-plausible" else []  # which only a model knows
    modelled = asked.truth != "most-plausible" or models.model or models.one_truth
    study = read_study(folder, [*given, *(["gold"] if modelled or asked.gold is not None else [])])
    if study is None:
        return data, asked
    if not quiet:
        say(study.told)
    found = {name: value for name in ("classes", "risks", "predictions") if (value := getattr(study, name))}
    data = replace(data, annotations=[str(study.annotations)], **found)
    return data, asked if study.gold is None else replace(asked, gold=study.gold)


class Done(NamedTuple):
    """What was run, what it says, whether requirements are met, and the files that were written."""

    swept: Sweep
    screen: Screen
    judged: pd.DataFrame
    files: Sequence[str]


@kept_on_disk()
@small_products()
def run(
    data: options.EvaluatedData,
    models: ModelChoice,
    settings: options.SweepOptions,
    asked: options.MetricOptions,
    output: options.IntoResults,
    *,
    store: Mapping[str, Any],
    read: Annotations | Scores | None = None,
    suffix: str = ".csv",
    dask: str | None = None,
    quick: bool = False,
    below: int = 0,
) -> Done:
    """Run a sweep from files to files; write each file, and print each answer, as soon as its contents are known.

    `below` lines are left for what is printed afterwards.
    """
    named, quiet, folder = models.as_published, output.quiet, Folder(output.out, **store)
    if read is None:
        read = graded(data, asked, threshold=settings.threshold, progress=not quiet)
    observed, variants = _observed_and_models(read, bool(data.files), models, settings, quiet=quiet)
    arguments = arguments_of(data, settings, asked, observed, progress=not quiet)
    if observed is not read:
        arguments["threshold"] = None
    if (quick or settings.extra == "include") and not (models.model or models.one_truth):
        variants = variants[:1]  # of cases without annotations, nothing is known but by evidence
    kept = observed.cases if data.fewer_cases else None
    by, clusters = groups_and_clusters(data.by, data.clusters, data.source, kept)
    plan = Plan.of(
        observed,
        data.files,
        parse_variants(variants),
        metrics=parse_metrics(asked, _labels(observed, settings.threshold).n_classes, drawn=True),
        ordered=asked.ordered,
        positive=asked.positive,
        prevalence=asked.prevalence,
        risks=data.risks,
        clusters=clusters,
        by=by,
        intersections=data.intersections,
        brief=quick and not asked.require,
        **arguments,
    )
    plan = replace(plan, brief=quick)
    required = parse_requirements(asked.require)
    check_requirements(required, list(plan.predictions), plan.metrics, settings.replicates)
    fresh = None
    if models.fresh_labels is not None:
        if not data.files:
            raise ArgumentError("--fresh-labels checks classifiers, but no --predictions were given: add some.")
        further = replace(data, annotations=models.fresh_labels)
        fresh = _labels(graded(further, asked, like=read, progress=not quiet), settings.threshold)
        check_fresh(fresh, plan.annotations)
    out = folder.path
    make_folder(out, [data.annotations], fresh=folder.fresh)

    tell(plan.annotations.rounds)
    annotated_cases = np.flatnonzero(plan.annotations.per_case)
    of_annotated = {name: scores[annotated_cases] for name, scores in plan.predictions.items()}
    audited = look_for_problems(_labels(observed, settings.threshold), of_annotated, quiet=quiet)
    runs, files, chosen = [], TablesInParts(out, suffix), how_chosen(asked)
    first: Sweep | None = None
    rest, noted = str(out / REPORT) + WITHOUT_QUICK * quick, False
    below += _WRITTEN + (_ORDER if len(plan.labels) > 1 else 1) + min(2 * len(required) * len(plan.predictions), _MET)
    keep_others(out / Path(METRICS).with_suffix(suffix))
    for done in plan.runs(folder, progress=not quiet, say=speaker(quiet), scheduler=dask):
        if not (runs or quick):
            with writing(out / REPORT):
                keep_others(out / REPORT)
                (out / REPORT).unlink(missing_ok=True)  # the report of an earlier run does not belong to these tables
        if chosen:
            done.results.attrs["threshold_from"] = chosen
        files.write(METRICS, with_class(done.metrics()))
        files.write(CERTAINTY, done.certainty())
        if data.by is not None:
            files.write(GROUPS, with_class(done.groups()))
        shared = ((name, table.assign(model=done.label)) for name, table in done.shared.items())
        for name, table in (*curve_tables(done.results, done.names), *shared):
            files.write(name, table)
        runs.append(done)
        if len(runs) == 1 and plan.leading == 0 and not quiet:
            first = plan.sweep(runs, fresh)
            noted = show(_screen_of(first, chosen, asked, named=named), rest, below, out / NOTES_FILE)
    swept = plan.sweep(runs, fresh, like=first)
    screen = _screen_of(swept, chosen, asked, named=named)
    if not quiet:
        if first is None:
            noted = show(screen, rest, below, out / NOTES_FILE)
        chains = "All chains converged." if swept.converged and any(run.has_chains for run in runs) else ""
        if told := " ".join(filter(None, [order_over_runs(swept, asked.names), chains])):
            say(told)
    judged = requirement_table(swept, required, panels_first=not (named or asked.metrics or asked.metric))
    if required:
        files.write(REQUIREMENTS, judged)
    if quick:
        return Done(swept, screen, judged, [*files.names, *[NOTES_FILE] * noted])
    for name, table in _compared(swept):
        files.write(name, table)
    from plausibly.app.report import report  # and what only it needs

    speaker(quiet)("Writing the report")
    sources = data.sources({"fresh labels": models.fresh_labels})
    if asked.threshold_from is not None:
        sources[f"threshold at {asked.rule} of"] = str(asked.threshold_from)
    linked: dict[str, Any] = {"screen": screen, "audit": audited, "certainty": Path(CERTAINTY).with_suffix(suffix).name}
    linked["requirements"] = list(requirement_sentences(judged))
    with threads(1) as pool:  # while figures are drawn
        sets, further = (
            pool.submit(make, plan, swept, folder, progress=not quiet) for make in (measure_sets, plan_labels)
        )
        report(swept, out / REPORT, sources, **linked, conformal=sets.result, plan=further.result, progress=not quiet)
    return Done(swept, screen, judged, [*files.names, REPORT, *[NOTES_FILE] * noted])


def _compared(swept: Sweep) -> Iterator[tuple[str, pd.DataFrame]]:
    """Differences of several classifiers in each run, by the first metric of the report; rankings in several runs.

    Some runs may lack the metric, as where a single one may state accuracies; then there are no rankings.
    """
    metric = headline_metrics(swept)[0] if len(swept.classifiers) > 1 else ""
    having = [run for run in swept.runs if metric in run.results]
    for run in having:
        yield DIFFERENCES, differences(run.results, metric).assign(metric=metric, **run.names)
    if len(having) == len(swept.runs) > 1:
        yield RANKINGS, swept.rankings(metric).assign(metric=metric)


def _screen_of(swept: Sweep, chosen: str | None, asked: options.MetricOptions, *, named: bool) -> Screen:
    """Screen of the run that stands for all."""
    for results in (*truths(swept), lead(swept).results) if chosen else ():
        results.attrs["threshold_from"] = chosen
    return of_sweep(swept, named=named, metrics=asked.names)


def measure_sets(plan: Plan, swept: Sweep, folder: Folder, *, progress: bool) -> "Coverage | None":
    """Measure sets under the run that stands for the sweep; None where they are too few, or some are not annotated."""
    from plausibly.decisions.conformal import conformal_coverage

    n_cases, n_classes = plan.annotations.n_cases, plan.annotations.n_classes
    if not plan.predictions or n_cases < LEAST or n_cases * n_classes > MOST or not plan.annotations.per_case.all():
        return None
    source = kept_posterior(folder, lead(swept).label)
    splits = {"alpha": ALPHA, "splits": SPLITS, "seed": plan.seed}
    return None if source is None else conformal_coverage(source, plan.predictions, **splits, progress=progress)


def plan_labels(plan: Plan, swept: Sweep, folder: Folder, *, progress: bool) -> "LabelPlan | None":
    """Plan a hundred labels; None where it cannot be known what they are worth.

    That is without classifiers, with one that must have seen the labels, for many or unannotated cases, and for some
    models.
    """
    from plausibly.decisions.planning import can_plan
    from plausibly.decisions.planning import plan as make_plan

    seen = checks_failed(swept, "ceiling")
    if seen or not plan.predictions or plan.annotations.n_cases > MOST_PLANNED or not plan.annotations.per_case.all():
        return None
    runs = [lead(swept), *swept.runs]
    sources = [source for run in runs if (source := kept_posterior(folder, run.label)) is not None]
    for source in sources:
        with opened(source) as posterior:
            if can_plan(posterior):
                metric = headline_metrics(swept)[0]
                return make_plan(
                    posterior, plan.predictions, metric=metric, budget=BUDGET, seed=plan.seed, progress=progress
                )
    return None


def kept_posterior(folder: Folder, label: str) -> Path | None:
    """Where the posterior of a run is kept, if it is."""
    paths = [folder.path / posterior_name(label, in_shards=in_shards) for in_shards in (False, True)]
    return next((path for path in paths if path.exists()), None)


def _observed_and_models(
    read: Annotations | Scores, predicted: bool, models: ModelChoice, settings: options.SweepOptions, *, quiet: bool
) -> tuple[Annotations | Scores, Sequence[str]]:
    """Annotations, or scores as labels if the recommended model needs these, and names of models."""
    tell = speaker(quiet)
    evidence = predicted and not models.annotations_only
    if models.one_truth:
        if models.model:
            raise ArgumentError(
                f"--one-truth chooses the model, but --model {models.model[0]} was given: leave one out."
            )
        name, why = one_truth_model(read, predictions=evidence)
        tell(f"One true class in each case: {name.partition(':')[0]}, because {why}")
        return read, (name,)
    if models.model:
        return read, models.model
    if any(getattr(settings, name) is not None for name in OF_MODELS):
        return read, usual_models(read)
    if settings.threshold is None and settings.raters != "alike" and are_ratings(read):
        tell("Ratings are grades in order, and raters may differ; if they are names: --label COLUMN --classes 1,2,…")
        return read, (f"{OF_RATINGS}:class_prior=predictions" if evidence else OF_RATINGS,)
    if isinstance(read, Scores) and evidence and settings.prior is None:
        read = read.split(settings.threshold)
        tell(f"Scores are labels, {' and '.join(map(str, read.classes))}: models of scores know no predictions")
    return read, recommended_models(read, predictions=evidence)


def _asks_nothing(
    data: options.EvaluatedData, models: ModelChoice, settings: options.SweepOptions, asked: options.MetricOptions
) -> bool:
    """Whether nothing is asked of ratings that needs a threshold."""
    given = [data.predictions, data.by, data.clusters, asked.metrics, asked.metric, asked.threshold_from]
    given += [models.model, models.one_truth, models.fresh_labels, settings.raters, settings.prior, settings.threshold]
    return not any(one is not None and one is not False and one != [] for one in given)  # a threshold may be 0


def _labels(read: Annotations | Scores, threshold: float | None) -> Annotations:
    """Labels of scores: of classes at a threshold, or of ratings."""
    if not isinstance(read, Scores):
        return read
    return read.grades() if threshold is None and are_ratings(read) else read.split(threshold)


def finish(done: Done, output: options.IntoResults, *, suffix: str = ".csv") -> None:
    """Print what was written, the verdict and whether requirements are met, and exit with the matching status."""
    swept, out = done.swept, output.out
    if not output.quiet:
        say_written([*done.files, many(len(swept.runs), "posterior")], out)
    where = "" if swept.converged else f" {(out / CERTAINTY).with_suffix(suffix)} lists all of them."
    answered, results = (f"{done.screen.headline} ", f" Results: {out}.") if output.quiet else ("", "")
    if output.quiet or not swept.converged:
        say(f"{answered}{swept.verdict()}{where}{results}")
    where = (out / REQUIREMENTS).with_suffix(suffix)
    check_answers(requirement_sentences(done.judged), where, swept.converged, strict=output.strict)

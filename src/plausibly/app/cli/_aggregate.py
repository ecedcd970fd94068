"""``plausibly aggregate``: annotations in, one posterior out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from plausibly.aggregation import aggregate as infer
from plausibly.aggregation import find_model, parse_variant, run_label, unjudged
from plausibly.aggregation.inferred_reliability import check_inferable
from plausibly.aggregation.inferred_reliability import infer_reliability as with_reliability
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._model_names import MODEL_NAMES
from plausibly.app.cli._output import check_converged, say, show
from plausibly.app.results.posterior import screen
from plausibly.base.bootstrap import CI_PROB
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Scores
from plausibly.data.annotations.usual_models import OF_RATINGS, are_ratings, usual_models
from plausibly.posterior import save
from plausibly.posterior.diagnostics import diagnose


@example(
    """
    plausibly aggregate annotations.json --classes conditions.txt \\
        --model plackett-luce@3 --seed 0 --out posterior.nc

    plausibly aggregate annotations.json --shard 10000 --dask tcp://10.0.0.1:8786
    plausibly aggregate scores.csv --model normal-scores --threshold 0
    plausibly aggregate ratings.csv --raters differ --case-groups systems.csv
    plausibly aggregate annotations.csv --infer-reliability annotator --out posterior.nc

    and in Python: posterior = plausibly.load("posterior.nc")
    """
)
@options.of(infer)
def aggregate(
    data: options.AnnotatedData,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME@R:OPTION=VALUE",
            help="Aggregation model with its reliability and options; without @, its default reliability. NAME is "
            f"one of {MODEL_NAMES}, or a Python file that declares a model. By default the first of the "
            "models that the command evaluate would use.",
        ),
    ] = None,
    infer_reliability: Literal["dataset", "annotator"] | None = None,
    *,
    modelling: options.ModelOptions,
    scores: options.ScoreOptions,
    sampling: options.SamplingOptions,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    out: Path | None = None,
    shard: options.Shard = 2000,
    fresh: bool = False,
    log_likelihood: bool = False,
    dask: str | None = None,
    strict: bool = False,
    quiet: bool = False,
) -> None:
    """Infer the plausibilities of every case under one model and write all draws.

    A Zarr folder is written shard by shard; after an interruption, the same command continues with the missing shards.

    Options
    -------
    infer_reliability
        Infer the reliability (Plackett-Luce): one for all annotators or one for each.
    out PATH
        File or folder for the posterior: netCDF if the name ends in .nc, else a Zarr folder. By default posterior.nc,
        or posterior.zarr if there are more cases than fit in one shard.
    """
    variant = None if model is None else parse_variant(model)
    given = () if variant is None or variant.reliabilities is None else variant.reliabilities
    if infer_reliability is not None and given:
        raise ArgumentError(
            f"--infer-reliability leaves reliability open, but --model {model!r} gives one: leave out @{given[0]:g}."
        )
    if len(given) > 1:
        raise ArgumentError(
            f"--model takes one reliability here, but {model!r} was given: use plausibly evaluate for several."
        )
    read = data.read(progress=not quiet)
    ratings = scores.threshold is None and scores.raters != "alike" and are_ratings(read)
    variant = variant or parse_variant(OF_RATINGS if ratings else usual_models(read)[0])
    if out is None:
        of_scores = find_model(variant.model, isinstance(read, Scores)).of_scores
        whole = infer_reliability is not None or of_scores or read.n_cases <= shard
        out = Path("posterior.nc" if whole else "posterior.zarr")
    make_folder(out.parent)
    common = {key: value for key, value in (vars(modelling) | vars(sampling)).items() if value is not None}
    common |= {"seed": seed, "progress": not quiet}
    if infer_reliability is None:
        common |= vars(scores) | {"prior": options.parse_numbers(scores.prior, *options.PRIOR)}
        posterior = unjudged(infer)(
            read,
            variant.model,
            reliability=variant.reliabilities[0] if variant.reliabilities else None,
            out=out,
            shard=shard,
            fresh=fresh,
            scheduler=dask,
            log_likelihood=log_likelihood,
            **(common | dict(variant.arguments)),
        )
    else:
        check_inferable(variant.model, common.pop("mode", None))
        useless = {"ties": modelling.ties, "prior-kappa": modelling.prior_kappa, **vars(scores), "dask": dask}
        for option, text in useless.items():
            if text is not None:
                raise ArgumentError(f"--infer-reliability does not accept --{option} {text}: leave it out.")
        posterior = unjudged(with_reliability)(
            read, variant.model, per=infer_reliability, **(common | dict(variant.arguments))
        )
        save(posterior, out)
    found = diagnose(posterior)
    if not quiet:
        sizes = posterior["posterior"].sizes
        say(f"Wrote {sizes['chain']} × {sizes['draw']} draws of {read.n_cases:,} cases to {out}")
    label = run_label(variant.label, float(posterior.attrs.get("reliability", float("nan"))))
    told = screen(posterior, found, label, ci_prob)
    if quiet:
        say(told.headline)
    else:
        show(told, str(out), kept=3)
    check_converged(found["converged"].values.all(), strict=strict)

"""What is measured, against what, and what ratio is asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.main_job import _agreement as agreement
from benchmarks.main_job._measure import Sample

WORK = Path(__file__).parent / "_work.py"
BASELINE, WORKING = "baseline", "working"


@dataclass(frozen=True)
class Place:
    """Where a command runs, and what it needs to know."""

    environment: Path
    folder: Path  #: a folder of its own, kept until the end
    shared: Path  #: a folder that all commands may read
    data: Path  #: real data


Command = Callable[[Place], Sequence[str]]


@dataclass(frozen=True)
class Job:
    """One comparison.

    Attributes
    ----------
    what
        Title in the table.
    ours, theirs
        Commands that do the same work; without ``theirs``, the same command.
    against
        Environment that ``theirs`` runs in.
    aims
        Phases that are measured, with the ratio of theirs to ours that is asked for; None where none is.
    check
        Function of the folders and the samples, theirs first, that returns what differs, or nothing.
    real
        Whether it needs the real data.
    """

    what: str
    ours: Command
    theirs: Command | None = None
    against: str = BASELINE
    aims: Mapping[str, float | None] = field(default_factory=lambda: {"cold": None, "warm": None})
    check: Callable[[Path, Path, Sample, Sample], list[str]] = lambda *_: []
    real: bool = False

    def commands(self) -> dict[str, Command]:
        """The command of each side."""
        return {"theirs": self.theirs or self.ours, "ours": self.ours}


def _plausibly(*words: str) -> Command:
    return lambda place: [str(place.environment / "bin" / "plausibly"), *words]


def _python(code: str) -> Command:
    return lambda place: [str(place.environment / "bin" / "python"), "-c", code]


def _work(name: str, *words: str) -> Command:
    def command(place: Place) -> Sequence[str]:
        places = {"DATA": str(place.data), "SHARED": str(place.shared), "OUT": str(place.folder / "draws.npz")}
        words_here = [places.get(word, word) for word in words]
        return [str(place.environment / "bin" / "python"), str(WORK), name, *words_here]

    return command


def _evaluate(place: Place) -> Sequence[str]:
    real = place.data / "dermatology_ddx"
    words = ["evaluate", str(real / "dermatology_selectors.json")]
    words += ["--classes", str(real / "dermatology_conditions.txt"), "--risks", str(real / "dermatology_risks.txt")]
    for path in sorted(place.shared.glob("*.npy")):
        words += ["--predictions", f"{path.stem}={path}"]
    for model in ("plackett-luce@1,3,10", "prirn@10,30,100"):
        words += ["--model", model]
    return _plausibly(*words, "--seed", "0", "--out", "results")(place)


PREPARATION: Command = _work("predictions", "DATA", "SHARED")  #: run once, before the jobs on real data

JOBS: dict[str, Job] = {
    "demo": Job(
        "plausibly demo",
        _plausibly("demo", "--out", "results"),
        aims={"cold": 4, "warm": 8},
        check=agreement.of_metrics,
    ),
    "evaluate": Job(
        "plausibly evaluate, real cases, 6 runs",
        _evaluate,
        aims={"cold": 4, "warm": 5},
        check=agreement.of_metrics,
        real=True,
    ),
    "aggregate": Job(
        "aggregate, real cases, defaults",
        _work("aggregate", "DATA", "auto", "OUT"),
        aims={"cold": None, "warm": 4},
        check=agreement.of_draws,
        real=True,
    ),
    "aggregate-nuts": Job(
        "aggregate, real cases, NUTS",
        _work("aggregate", "DATA", "nuts", "OUT"),
        aims={"cold": None, "warm": 1.6},
        check=agreement.of_draws,
        real=True,
    ),
    "metrics-plackett-luce": Job(
        "evaluate(posterior), real cases, Plackett-Luce",
        _work("evaluation", "DATA", "SHARED", "plackett-luce", "3", "OUT"),
        aims={"cold": None, "again": 1 / 1.3},
        check=agreement.of_numbers("means", 0.02),
        real=True,
    ),
    "metrics-prirn": Job(
        "evaluate(posterior), real cases, PrIRN",
        _work("evaluation", "DATA", "SHARED", "prirn", "30", "OUT"),
        aims={"cold": None, "again": 1 / 1.3},
        check=agreement.of_numbers("means", 0.02),
        real=True,
    ),
    "one-case": Job(
        "one real case by NUTS, against NumPyro",
        _work("cases_ours", "DATA", "1"),
        _work("cases_numpyro", "DATA", "1"),
        WORKING,
        {"cold": 1, "again": None},
        real=True,
    ),
    "hundred-cases": Job(
        "100 real cases by NUTS, against vmap of NumPyro",
        _work("cases_ours", "DATA", "100"),
        _work("cases_numpyro", "DATA", "100"),
        WORKING,
        {"cold": 0.5, "again": None},
        real=True,
    ),
    "diagnostics-1": Job(
        "R-hat and ESS of 12,000 × 4 × 250, one core, ArviZ",
        _work("diagnostics", "plausibly", "1"),
        _work("diagnostics", "arviz", "1"),
        WORKING,
        {"warm": 8},
        agreement.of_numbers("means", 1e-5),
    ),
    "diagnostics-2": Job(
        "R-hat and ESS of 12,000 × 4 × 250, two cores, ArviZ",
        _work("diagnostics", "plausibly", "2"),
        _work("diagnostics", "arviz", "2"),
        WORKING,
        {"warm": 12},
        agreement.of_numbers("means", 1e-5),
    ),
    "import": Job(
        "import plausibly, against numpyro and arviz",
        _python("import plausibly"),
        _python("import numpyro, arviz"),
        WORKING,
        {"warm": 2},
    ),
    "first-answer": Job(
        "plausibly evaluate --quick, 1,000 cases of 5 labels, against its imports",
        _work("first_answer"),
        _python("import jax, numpyro, arviz"),
        WORKING,
        {"cold": 1 / 3, "warm": 1},
    ),
    "help": Job(
        "plausibly --help, against import jax",
        _plausibly("--help"),
        _python("import jax"),
        WORKING,
        {"warm": 1},
    ),
    "gleu": Job(
        "GLEU of 3,000,000 pairs, against nltk",
        _work("gleu", "plausibly"),
        _work("gleu", "nltk"),
        WORKING,
        {"warm": 20},
        agreement.of_numbers("mean", 1e-9),
    ),
}

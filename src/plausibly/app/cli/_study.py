"""A folder as input: which of its files an evaluation takes, and what for."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from plausibly.app.doctor import Looked, doctor
from plausibly.app.doctor._between import PREDICTING, unfit
from plausibly.app.doctor._checkup import named_by_file
from plausibly.base.errors import ArgumentError
from plausibly.base.names import listed

PREFLIB = ".soc", ".soi", ".toc", ".toi"
STORE = ".zarr"  #: suffix of posteriors that are folders
_NOTES = "readme", "notes", "license", "changelog"  # files about a folder


class Study(NamedTuple):
    """Files of a folder by what they are for."""

    annotations: Path
    predictions: list[str]  #: NAME=FILE
    classes: Path | None
    risks: Path | None
    gold: Path | None
    told: str  #: a sentence on all of this


def files_of(folder: Path) -> list[Path]:
    """Files of a folder, and stores of posteriors, in the order of their names; hidden ones and notes are left out."""
    found = (one for one in folder.iterdir() if not one.name.startswith(".") and one.stem.lower() not in _NOTES)
    return sorted(one for one in found if one.is_file() or one.suffix == STORE)


def read_study(folder: Path, given: Sequence[str] = ()) -> Study | None:
    """Say what each file of a folder is for; None if it is a folder of files by one annotator each, or of PrefLib.

    Roles that are `given` by options, such as ``gold``, are not looked for.

    Raises
    ------
    ArgumentError
        If several files may have one role, or a file of predictions does not fit the annotations.
    """
    paths = files_of(folder)
    if not paths:
        raise ArgumentError(f"{folder} holds no files: name a file, or another folder.")
    looked = doctor(paths).files
    if is_by_annotators(looked):
        return None
    by_role = {role: [one for one in looked if one.role == role] for role in ("classes", "risks", "gold labels")}
    by_role["predictions"] = [one for one in looked if one.role in PREDICTING]
    main = _one(folder, looked)
    taken: dict[str, Looked] = {}
    for option, role in (("classes", "classes"), ("risks", "risks"), ("gold", "gold labels")):
        if by_role[role] and option not in given:
            if len(by_role[role]) > 1:
                files = listed([one.path.name for one in by_role[role]])
                raise ArgumentError(f"{folder} holds several files of {role}, {files}: say which by --{option}.")
            taken[role] = by_role[role][0]
    classifiers = {} if "predictions" in given else named_by_file(by_role["predictions"])
    for sentence in (told for one in classifiers.values() for told in unfit(one, main)):
        raise ArgumentError(f"{sentence.rstrip('.')}. Or name the predictions to evaluate by --predictions.")
    if "gold labels" in taken:  # no model is fitted then, which alone knows risks
        taken.pop("risks", None)
    used = {id(one) for one in (main, *taken.values(), *classifiers.values())}
    parts = {
        "annotations": [main.path.name],
        "predictions": [f"{one.path.name} ({name})" for name, one in classifiers.items()],
        **{role: [one.path.name] for role, one in taken.items()},
        "not used": [f"{one.path.name} ({one.role or 'not read'})" for one in looked if id(one) not in used],
    }
    told = "; ".join(f"{what} {listed(names)}" for what, names in parts.items() if names)
    predictions = [f"{name}={one.path}" for name, one in classifiers.items()]
    files = (taken[role].path if role in taken else None for role in ("classes", "risks", "gold labels"))
    return Study(main.path, predictions, *files, f"{folder}: {told}.")


def is_by_annotators(looked: Sequence[Looked]) -> bool:
    """Whether each file may hold the answers of a single annotator, who is not named; or is one of PrefLib."""
    alone = (one.role == "labels of one rater" or one.path.suffix in PREFLIB or one.by_one for one in looked)
    return all(one.files or own for one, own in zip(looked, alone, strict=True))


def _one(folder: Path, looked: Sequence[Looked]) -> Looked:
    """The only annotations of a folder."""
    mains = [one for one in looked if one.role in ("annotations", "labels")]
    if not mains:
        why = "".join(f" {one.path.name}: {one.words.rstrip('.')}." for one in looked if one.role is None)
        raise ArgumentError(
            f"{folder} holds no annotations that are recognised: run plausibly doctor {folder}, and give the file in "
            f"place of the folder, with --case, --annotator and --label if its columns have other names.{why}"
        )
    if len(mains) > 1:
        raise ArgumentError(
            f"{folder} holds several files of annotations, {listed([one.path.name for one in mains])}: give one of "
            "them in place of the folder, with --predictions NAME=FILE for each classifier, or NAME=FILE for each of "
            "them if they are of one annotator each."
        )
    return mains[0]

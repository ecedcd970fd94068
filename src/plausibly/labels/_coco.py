"""Boxes and keypoints in the format of COCO."""

from collections.abc import Iterable, Mapping
from typing import Any

from plausibly.errors import AnnotationError, ArgumentError, show

_WHO = ("annotator", "annotator_id", "worker", "worker_id", "annotated_by")


def coco_labels(content: Mapping, kind: str, *, one_annotator: bool = False) -> list[tuple[str, str, Any]]:
    """Read objects by image and annotator: case (the image's file name, or its id), annotator, objects.

    Objects are boxes ``(left, top, right, bottom)`` or mappings with ``keypoints``, ``bbox`` and ``area``. Categories
    are not compared, and crowds (``iscrowd``) are objects like others. If all objects are one annotator's, images
    without objects have a label of none; otherwise it is unknown who saw them.
    """
    if kind not in ("boxes", "keypoints"):
        raise ArgumentError(
            f'of COCO "boxes" or "keypoints" are read, but kind {kind!r} was given: choose one of the two.'
        )
    for part in ("images", "annotations"):
        rows = content.get(part, [])
        what = f"the {part} of COCO are a list of objects{', each with an id' if part == 'images' else ''}, got"
        if not isinstance(rows, list):
            raise AnnotationError(f"{what} {show(rows)}; correct it")
        for number, row in enumerate(rows, 1):
            if not isinstance(row, Mapping) or (part == "images" and not isinstance(row.get("id"), int | float | str)):
                raise AnnotationError(f"{what} {show(row)} as number {number}; correct it")
    images = _images(content.get("images", ()))
    found: dict[tuple[str, str], list[Any]] = {(name, ""): [] for name in images.values()} if one_annotator else {}
    for number, one in enumerate(content["annotations"], 1):
        image = one.get("image_id")
        if not isinstance(image, int | float | str) or (images and image not in images):
            raise AnnotationError(f"annotation {number}: there is no image {image!r}; correct its image_id")
        who = "" if one_annotator else next((str(one[name]) for name in _WHO if name in one), None)
        if who is None:
            raise AnnotationError(
                f"annotation {number} does not name its annotator; give one file per annotator, or every annotation a "
                "field 'annotator'"
            )
        found.setdefault((images.get(image, str(image)), who), []).append(_object(one, kind, number))
    return [(case, who, objects) for (case, who), objects in found.items()]


def _images(rows: Iterable[Mapping]) -> dict[Any, str]:
    """Name images by file, or else by id."""
    names: dict[Any, str] = {}
    first: dict[str, Any] = {}
    for image in rows:
        number = image["id"]
        name = str(image.get("file_name", number))
        if number in names:
            raise AnnotationError(f"two images have the id {number!r}; keep one")
        if name in first:
            raise AnnotationError(
                f"the images {first[name]!r} and {number!r} have the same name {name!r}; name each by another file, "
                f"with its folder if need be"
            )
        names[number], first[name] = name, number
    return names


def _object(one: Mapping, kind: str, number: int) -> Any:
    field = "bbox" if kind == "boxes" else "keypoints"
    if field not in one:
        raise AnnotationError(f"annotation {number} has no {field!r}; add it, or remove the annotation")
    if kind == "keypoints":
        return {name: one[name] for name in ("keypoints", "bbox", "area") if name in one}
    try:
        left, top, width, height = one["bbox"]
        if width < 0 or height < 0:
            raise ValueError
        return (left, top, left + width, top + height)
    except (TypeError, ValueError):
        raise AnnotationError(
            f"annotation {number}: a bbox is [left, top, width, height], got {show(one['bbox'])}; correct it"
        ) from None

"""What posteriors refuse: parts that somebody has changed, requests, files."""

from functools import partial

import numpy as np
import xarray as xr

import plausibly as pb
from plausibly.base.arviz import from_groups, to_groups
from plausibly.base.errors import ArgumentError, FileError
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior import annotations_of, build_posterior, case_draws, dense, load, save, slots_of, top_classes
from tests.refused import each, refused, table

ANNOTATIONS = Annotations.from_rankings([[[["a"], ["b"]], [["c", "b"]]], [[["a"]]]], classes=["a", "b", "c", "d"])
SLOTS = Slots.of(ANNOTATIONS)
DRAWS = np.broadcast_to(np.float32([0.4, 0.3, 0.2, 0.1, 0.7, 0.3]), (2, 30, len(SLOTS)))
SCORES = {"A": np.eye(2, 4)}
REFUSED = []


def build(draws=DRAWS, point=DRAWS[0, 0], **given):
    return build_posterior(draws, ANNOTATIONS, SLOTS, point=point, concentration=1.0, **given)


def spoiled(group, change, **attrs):
    posterior = build()
    groups = dict(to_groups(posterior))
    groups[group] = change(groups[group])
    return from_groups(groups, {**posterior.attrs, **attrs})


def set_to(name, *places, by=None):
    """Change values of a variable, in a copy."""

    def change(data):
        values = np.array(data[name].values)
        if by is not None:
            values = by(values)
        for place, value in places:
            values[place] = value
        both = data.assign_coords if name in data.coords else data.assign
        return both({name: (data[name].dims, values)})

    return change


def no_constants():
    groups = {name: group for name, group in to_groups(build()).items() if name != CONSTANT}
    return from_groups(groups, build().attrs)


def without(name):
    return lambda data: data.drop_vars(name)


CONSTANT, DRAWN = "constant_data", "posterior"
SPOILED = {
    "a slot is of a class beyond the 4 there are": (CONSTANT, set_to("class_index", (0, 99))),
    "a slot is of a class beyond the 4 there are.*": (CONSTANT, set_to("class_index", (0, -5))),
    "the classes of a case are not in order": (CONSTANT, set_to("class_index", (1, 0))),
    "slots are not those of the cases 1 to 2": (CONSTANT, set_to("case_index", (-1, 99))),
    "slots are not those of the cases 1 to 2.*": (CONSTANT, set_to("case_index", by=np.flip)),
    "slots are not those of the cases 1 to 2.?.*": (CONSTANT, set_to("case_index", by=np.zeros_like)),
    "n_classes is not 1 for a class": (CONSTANT, set_to("n_classes", (-1, 999))),
    "slots with draws": (CONSTANT, lambda data: data.isel(slot=slice(0, -1))),
    "n_classes is 4, and 2 classes have names": (CONSTANT, lambda data: data.isel(class_id=slice(0, 2))),
    "this one has no 'case_index'": (CONSTANT, without("case_index")),
    "not floating-point numbers": (CONSTANT, set_to("point_plausibility", by=lambda x: x.astype(str))),
    "this one has no 'p": (DRAWN, without("plausibility")),
    "plausibility has the dimensions": (DRAWN, lambda data: data.isel(draw=slice(0, 0))),
    "plausibility has the dimensions.*": (DRAWN, lambda data: data.isel(draw=0)),
    "not floating-point numbers.*": (DRAWN, set_to("plausibility", by=lambda x: x.astype(int))),
    "slots are not those of the cases 1 to 1": ("observed_data", lambda data: data.isel(case=slice(0, 1))),
}
for use in (slots_of, dense, lambda posterior: top_classes(posterior, 1)):
    REFUSED += each(lambda *how, use=use: use(spoiled(*how)), SPOILED, ArgumentError, f"{use.__name__} of a change")
# Maybe for the annotations, which are read first.
REFUSED += [
    refused(f"evaluate: {words}", partial(lambda how: pb.evaluate(spoiled(*how), SCORES, k=1), how), ".")
    for words, how in SPOILED.items()
]
for value in (-0.1, 7, np.inf):
    words = "plausibilities must be from 0 to 1, but those of cases 1 to 2 are"
    spoil = set_to("plausibility", ((0, 3, 1), value))
    call = partial(lambda spoil: pb.evaluate(spoiled(DRAWN, spoil), SCORES, k=1), spoil)
    REFUSED += [refused(f"a plausibility of {value}", call, words, error=ArgumentError)]
ASKS = {
    "dense": dense,
    "slots_of": slots_of,
    "annotations_of": annotations_of,
    "diagnose": pb.diagnose,
    "top_classes": lambda posterior: top_classes(posterior, 1),
    "case_draws": lambda posterior: case_draws(posterior, "0"),
}
NOTHING = "a posterior of plausibly.aggregate .* needed, but None was"
OTHER = "a posterior of plausibly.aggregate .* needed, but {'posterior': 1} was"
for name, ask in ASKS.items():
    REFUSED += each(ask, {NOTHING: (None,), OTHER: ({"posterior": 1},)}, ArgumentError, name)
    REFUSED += [
        refused(
            f"{name}, no constants", partial(lambda ask: ask(no_constants()), ask), "this one has no 'constant_data'"
        )
    ]
    if name != "case_draws":
        lost = partial(lambda ask: ask(from_groups(to_groups(build()), {})), ask)
        REFUSED += [refused(f"{name}, no attributes", lost, "this one has no 'n_classes'", error=ArgumentError)]


def write(path, content):
    path.write_bytes(content)
    return path


def cut_off(path):
    save(build(), path)
    return write(path, path.read_bytes()[:3000])


def other(path):
    xr.DataTree.from_dict({"posterior": xr.Dataset({"a": 1.0})}).to_netcdf(path, engine="h5netcdf")
    return path


TEXT = r"text\.nc is not a posterior: give a file that plausibly aggregate or pb\.save wrote\.$"
PLACE = r"a\.nc cannot be written \(No such file or directory\): choose another place"
REFUSED += [
    refused(what, call, words, error=FileError)
    for what, call, words in (
        ("a folder", lambda folder: load(folder), "is a folder, and no posterior: give a file"),
        ("no file", lambda folder: load(folder / "missing.nc"), r"missing\.nc does not exist: check the path\.$"),
        ("a name that is too long", lambda: load("a" * 5000), r"cannot be read .*too long"),
        ("half a file", lambda folder: load(cut_off(folder / "cut.nc")), r"cut\.nc cannot be read \(.*"),
        ("a text", lambda folder: load(write(folder / "text.nc", b"not netCDF")), TEXT),
        ("other data", lambda folder: load(other(folder / "o.nc")), r"o\.nc holds no posterior, only \['posterior'\]"),
        ("into no folder", lambda folder: save(build(), folder / "no such folder" / "a.nc"), PLACE),
        (
            "into a folder",
            lambda folder: save(build(), folder),
            r"cannot be written \(Is a directory\): choose another",
        ),
        ("diagnosis of no file", lambda folder: pb.diagnose(folder / "none.nc"), "does not exist"),
    )
]
for shard in (0, None):
    call = partial(lambda shard, folder: pb.aggregate(ANNOTATIONS, out=folder / "p.zarr", shard=shard), shard)
    words = "shard must be a whole number of at least 1, but"
    REFUSED += [refused(f"a shard of {shard}", call, words, error=ArgumentError)]
for path in (3, "a\0.nc"):
    call = partial(lambda path: pb.aggregate(ANNOTATIONS, "irn", out=path, progress=False), path)
    words = "the name of a file is needed, but .* was given"
    REFUSED += [refused(f"a posterior at {path!r}", call, words, error=ArgumentError)]

ROWS = {
    (lambda **attrs: slots_of(spoiled(DRAWN, lambda data: data, **attrs)), ArgumentError, "attributes"): {
        "n_classes is 'x'": {"n_classes": "x"},
        "n_classes is 5, and 4 classes have names": {"n_classes": 5},
        "the concentration is nan": {"concentration": np.nan},
        r"the concentration is -1\.0": {"concentration": -1.0},
    },
    (build, ArgumentError): {
        r"point must have the shape \(6,\), but has \(3,\)": {"point": np.ones(3)},
        r"log_likelihood must have the shape \(2, 30, 3\), but has \(2, 30, 9": {"log_likelihood": np.ones((2, 30, 9))},
        r"energy must have the shape \(2, 30, 2\), but has \(2, 30\)": {"sample_stats": {"energy": np.ones((2, 30))}},
        r"plausibility must have the shape \('any', 'any', 6\), but has \(1, 2\)": {"draws": np.ones((1, 2))},
    },
    (lambda use, *given, **options: use(build(), *given, **options), ArgumentError, "requests"): {
        "there is no case 'p9' in this posterior: its cases are '0'": {"use": dense, "cases": ["0", "p9"]},
        "there is no case 'p9'": (case_draws, "p9"),
        "there is no case '3' in this posterior": (case_draws, 3),
        r"the name of one case, but \['0', '1'\] was given": (case_draws, ["0", "1"]),
        "k must be .* between 1 and .* 4, but 5 was given": (top_classes, 5),
        "seed must be a whole number from 0 to 4294967295, but -1 was": {"use": dense, "seed": -1},
        "the name of a file is needed, but None was given": (save, None),
        "the name of a file is needed, but 3 was given": (save, 3),
    },
    (lambda **given: top_classes(build(), 1, **given), ArgumentError, "top_classes"): {
        "seed must be a whole number from 0 to 4294967295, but -1 was": {"seed": -1},
        'ties must be "order" or "random", but \'x\'': {"break_ties": "x"},
    },
    (load, ArgumentError): {
        "the name of a file is needed, but None was given": (None,),
        "the name of a file is needed, but 3 was given": (3,),
    },
}
REFUSED += table(ROWS)

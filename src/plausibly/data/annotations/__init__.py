"""Annotations as partial rankings with names, and one reader per file format.

An annotation of a case by one annotator is a *partial ranking*: blocks of tied classes, best block first. A single
label is a block of one class; a set of labels is one block; a full ranking has one block per class; a count of 3 stands
for three annotators with one label each. Classes that an annotator did not name share an implicit last block.

The same two annotations of one case in every form:

* rankings, list form: ``[[[["eczema"], ["psoriasis", "tinea"]], [["tinea"]]]]``, or with class indices;
* rankings, object form: ``{"classes": ["eczema", "psoriasis", "tinea"], "cases": {"p7": {"ann": [["eczema"],
  ["psoriasis", "tinea"]], "bob": [["tinea"]]}}}``;
* long table: the rows ``p7,ann,eczema,1``; ``p7,ann,psoriasis,2``; ``p7,ann,tinea,2``; ``p7,bob,tinea,1`` under the
  header ``case,annotator,class,rank``.

* one row per case: ``{"case": "p7", "annotators": ["ann", "bob"], "annotations": [[["eczema"], ["psoriasis", "tinea"]],
  [["tinea"]]], "site": "north"}``, as JSON lines, in tables whose columns hold lists, or in exports of annotation
  tools; :func:`read_metadata` reads the other fields.

Numbers are another kind of annotation. They have their own container, :class:`Scores`, and are read from tables with
the header ``case,annotator,score``. A threshold turns them into labels of two classes.

All forms share the same conventions. Cases are in the order in which they first appear; without names, they are called
"0", "1", …. Annotators without names are anonymous: "1", "2", … within each case. Classes are those in ``classes`` or,
by default, the names in use, sorted; indices start at 0 and need ``classes``.
"""

from plausibly.data.annotations._classes import read_classes as read_classes
from plausibly.data.annotations._classes import read_risks as read_risks
from plausibly.data.annotations._container import Annotations as Annotations
from plausibly.data.annotations._slots import REMAINDER as REMAINDER
from plausibly.data.annotations._slots import Slots as Slots
from plausibly.data.annotations.io.exports import read_metadata as read_metadata
from plausibly.data.annotations.io.read import read_annotations as read_annotations
from plausibly.data.annotations.io.write import write_annotations as write_annotations
from plausibly.data.annotations.scores import Scores as Scores

"""Files that are known and not read, with what to do: exports of one system, of objects, or without annotators."""

from collections.abc import Collection

from plausibly.base.errors import AnnotationError

#: Fields of such files.
_UNREAD = {
    ("data_row", "projects"): "this is Labelbox's export, which is not read here: write a table with the case "
    "(data_row.global_key), the annotator (label_details.created_by) and the label (the name of the answer)",
    ("spec", "final_report"): "this is a log of OpenAI's evals, with the marks of one system and no annotators: for "
    "plausibly systems, write a table with the columns system, case (sample_id), rater and outcome (data.correct)",
    ("shapes", "imagePath"): "this is LabelMe's file of one image, which is not read here: write the boxes of each "
    "annotator as {image: [[left, top, right, bottom], …]}, and give ann=ann.json bob=bob.json to plausibly agreement "
    "--kind boxes",
    ("images", "annotations", "categories"): "these are objects in images (COCO), which plausibly agreement compares: "
    "give a file for each annotator, ann=ann.json bob=bob.json --kind boxes (pb.agreement.read_labels)",
    ("expert_annotations", "turker_annotations"): "these are SummEval's, with several numbers by each annotator: write "
    "a table of one of them, with a case (id and model_id), an annotator and a score",
    ("datasetObjectId", "annotations"): "these are answers of SageMaker Ground Truth's workers, which are not read "
    "here: write a table with the case (datasetObjectId), the annotator (workerId) and the label (in "
    "annotationData.content)",
    ("source-ref",): "this is SageMaker Ground Truth's manifest, which holds one label per case, made of those of all "
    "workers: write a table of these (worker-response files: datasetObjectId, workerId, annotationData), with the "
    "columns case, annotator and class",
    ("label_annotations", "span_annotations"): "this is potato's output of one annotator, which is not read here: "
    "write a table with the case (id), the annotator and the label (the name in label_annotations)",
    ("instance_id", "stats"): "these are HELM's statistics of one system, without annotators: for plausibly systems, "
    "write a table with the columns system, case (instance_id), rater and outcome (mean of the metric in stats)",
    ("generator_1", "generator_2"): "these are comparisons of two systems: for plausibly systems, write a table with "
    "system_a (generator_1), system_b (generator_2), case, rater, and as outcome the system that is preferred, or tie",
}


def refuse_unread(names: Collection[str]) -> None:
    """Refuse a file by the names of its columns or fields, if one that is known and not read has them."""
    for fields, told in _UNREAD.items():
        if {*fields} <= {*names}:
            raise AnnotationError(told)

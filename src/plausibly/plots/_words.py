"""Names of metrics in words, without Matplotlib."""

_NAMES = {name: name.upper() for name in ("auroc", "ppv", "npv", "f1", "mcc")} | {"brier": "Brier score"}


def metric_name(metric: str) -> str:
    """Put the name of a metric into words.

    Examples
    --------
    >>> metric_name("top3_average_overlap"), metric_name("top2_kendall_tau"), metric_name("annotation_certainty_1")
    ('top-3 average overlap', "top-2 Kendall's tau", 'top-1 annotation certainty')
    >>> metric_name("auroc_macro"), metric_name("f1"), metric_name("brier")
    ('AUROC macro', 'F1', 'Brier score')
    """
    words = metric.split("_")
    if words[-1].isdigit():
        words = [f"top-{words[-1]}", *words[:-1]]
    elif words[0].startswith("top") and words[0][3:].isdigit():
        from plausibly.metrics import METRICS  # which needs JAX, unlike most figures

        declared = METRICS.get("_".join(words[1:]))
        words = [f"top-{words[0][3:]}", *([declared.words] if declared and declared.words else words[1:])]
    return " ".join(_NAMES.get(word, word) for word in words)


def capitalised(words: str) -> str:
    """Begin with a capital and keep the rest, in which there may be names.

    Examples
    --------
    >>> capitalised("top-2 Kendall's tau"), capitalised("AUC")
    ("Top-2 Kendall's tau", 'AUC')
    """
    return words[:1].upper() + words[1:]

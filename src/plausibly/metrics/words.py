"""Names of metrics in words, without Matplotlib."""

import re

_NAMES = {name: name.upper() for name in ("auroc", "ppv", "npv", "f1", "mcc")} | {"brier": "Brier score"}
_WHOLE = {"within_one": "share within one grade"}
_AT_SHARE = re.compile(r"(.+?)_(?:at_)?(specificity|sensitivity|prevalence|)_?(0?\.\d+)")
_SHARES = {"prevalence": "{} at a prevalence of {}", "": "{} at a threshold of {}"}


def metric_name(metric: str) -> str:
    """Put the name of a metric into words.

    Examples
    --------
    >>> metric_name("top3_average_overlap"), metric_name("top2_kendall_tau"), metric_name("annotation_certainty_1")
    ('top-3 average overlap', "top-2 Kendall's tau", 'top-1 annotation certainty')
    >>> metric_name("auroc_macro"), metric_name("f1"), metric_name("brier")
    ('AUROC macro', 'F1', 'Brier score')
    >>> metric_name("sensitivity_at_specificity_0.9"), metric_name("net_benefit_0.2")
    ('sensitivity at 90 % specificity', 'net benefit at a threshold of 20 %')
    """
    if found := _AT_SHARE.fullmatch(metric):
        name, of, share = found.groups()
        percent = f"{100 * float(share):g} %"
        return _SHARES.get(of, f"{{}} at {{}} {of}").format(metric_name(name), percent)
    if metric in _WHOLE:
        return _WHOLE[metric]
    words = metric.split("_")
    if words[-1].isdigit():
        words = [f"top-{words[-1]}", *words[:-1]]
    elif words[0].startswith("top") and words[0][3:].isdigit():
        from plausibly.metrics.list_metric import METRICS  # which needs JAX, unlike most figures

        declared = METRICS.get("_".join(words[1:]))
        words = [f"top-{words[0][3:]}", *([declared.words] if declared and declared.words else words[1:])]
    return " ".join(_NAMES.get(word, word) for word in words)


def capitalised(words: str) -> str:
    """Begin with a capital and keep the rest, in which there may be names."""
    return words[:1].upper() + words[1:]

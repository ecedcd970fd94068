"""A sweep as one self-contained HTML file: tables, figures with captions, settings, versions.

The function :func:`report` and its folder share a name: ``plausibly.report`` is the function.
"""

from plausibly.report._judge import judge_report as judge_report
from plausibly.report._page import render as render
from plausibly.report._page import report as report
from plausibly.report._summary import accuracies as accuracies
from plausibly.report._summary import agreement as agreement
from plausibly.report._summary import agreement_in_words as agreement_in_words
from plausibly.report._summary import alike as alike
from plausibly.report._summary import choice_of_cases as choice_of_cases
from plausibly.report._summary import freed_shape as freed_shape
from plausibly.report._summary import prior_notes as prior_notes
from plausibly.report._summary import rests_on as rests_on
from plausibly.report._systems import systems_report as systems_report
from plausibly.report.label_metrics import at_threshold as at_threshold
from plausibly.report.of_labels import about_few as about_few
from plausibly.report.of_labels import by_group_table as by_group_table
from plausibly.report.of_labels import headline_of_labels as headline_of_labels
from plausibly.report.of_labels import labels_report as labels_report
from plausibly.report.of_labels import metric_rows as metric_rows
from plausibly.report.of_labels import operating_point as operating_point
from plausibly.report.of_labels import unusual as unusual
from plausibly.report.tables import headline as headline
from plausibly.report.tables import lead as lead

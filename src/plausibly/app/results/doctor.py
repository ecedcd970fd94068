"""What files are, and which commands they are enough for: what it says."""

from plausibly.app.doctor import Checkup
from plausibly.app.screen import About, Screen, Table
from plausibly.base.names import many


def screen(checkup: Checkup) -> Screen:
    """Questions with the commands that answer them; what files are taken for, and what does not fit."""
    rows = [(one.question, one.command) for one in checkup.proposals]
    answer = f"answer {many(len(rows), 'question')}" if rows else "answer no question: give annotations, such as a "
    answer += "" if rows else "table of case, annotator, class"
    notes = [f"First: {caution}" for caution in checkup.cautions]
    notes += [f"Does not fit: {problem}" for problem in checkup.problems]
    table = Table(("question", "command"), rows, n_left=2)
    told = f"{many(len(checkup.files), 'file')} {answer}."
    return Screen(told, table, [*notes, *map(str, checkup.files)], about=About("What are these files for?"))

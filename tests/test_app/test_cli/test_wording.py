"""Messages from below the command line name options, not arguments."""

import pandas as pd
import pytest

from plausibly.app.cli._app import load_command
from plausibly.app.cli._wording import in_options
from tests.test_app.test_cli.run import refuse, succeed

#: Command, message, and the message as it is printed.
MESSAGES = [
    ("agreement", "say with annotator= which one it is", "say with --annotator which one it is"),
    ("agreement", "pass classes= (--classes), the names", "pass --classes, the names"),
    ("agreement", 'pass cross="sample", or a number of pairs.', "pass --cross sample, or a number of pairs."),
    ("agreement", "for that, pass same_annotator=True (--same-annotator)", "for that, pass --same-annotator"),
    ("agreement", "replicates must be at least 1", "--replicates must be at least 1"),
    ("agreement", "a.csv: seed must be a whole number", "a.csv: --seed must be a whole number"),
    ("agreement", "leave ci_prob out", "leave --ci-prob out"),
    ("evaluate", "write for example threshold=0 (--threshold 0), or more", "write for example --threshold 0, or more"),
    ("evaluate", 'say form="counts" or form="wide" (--from counts, --from wide)', "say --from counts, --from wide"),
    ("evaluate", "mark logits as such (logits=True, --logits)", "mark logits as such (--logits)"),
    ("evaluate", "pass predictions={'A': scores} instead", "pass --predictions NAME=FILE instead"),
    ("evaluate", "name it with positive=.", "name it with --positive."),
    (
        "evaluate",
        'infer these cases: pb.aggregate(…, extra="include") (--extra include)',
        "infer these cases: --extra include",
    ),
    (
        "judge",
        'give by="site" or model=None (--model none), ci_prob=0.9, or p=1.',
        "give --by site or --model none, --ci-prob 0.9, or p=1.",
    ),
    ("judge", "longer (draws=1000, warmup=1000; --draws 1000 --warmup 1000)", "longer (--draws 1000 --warmup 1000)"),
    ("conformal", 'choose target="annotator", which needs no model', "choose --target annotator, which needs no model"),
    ("conformal", 'by="risk" needs the risk: add risks=….', "--by risk needs the risk: add --risks FILE."),
    ("evaluate", "write 'mode=power', a/seed=3 and plackett-luce@1:mode=power", None),
    ("evaluate", "compare models with class_prior='uniform'", None),
    ("judge", "name it with nothing=.", None),
]  # fmt: skip


@pytest.mark.parametrize(("command", "said", "printed"), MESSAGES)
def test_arguments_are_options(command, said, printed):
    parameters = {one.name: one for one in load_command(command).params}
    assert in_options(said, parameters) == (printed or said)


def test_errors_and_notes_and_sentences_name_options(tmp_path):
    table = pd.DataFrame({"case": ["p", "p", "q", "q"] * 2, "annotator": ["a", "b"] * 4, "label": ["x", "n/a"] * 4})
    table.to_csv(tmp_path / "a.csv", index=False)
    result = succeed("agreement", tmp_path / "a.csv", "--replicates", 0, "--quiet")
    assert "say --missing 'n/a'" in result.stderr
    assert "missing=" not in result.stderr
    result = refuse("reliability", tmp_path / "a.csv", "--competence", "known")
    assert "Error: --competence known needs the true labels: pass --truth." in " ".join(result.stderr.split())

"""Tasks whose inputs are sentences: split into words, unless asked otherwise, wherever they are read."""

import csv
import json
import shlex
from pathlib import Path

import pytest

from tam.learner.learner import Learner, load
from tam.store.store import Store
from tam.tasks.sources import tasks_from
from tests.commands.own import Said, write_examples
from tests.in_process import tam

EXAMPLES = [
    {"x": "my card was stolen", "y": "card"},
    {"x": "someone took my card", "y": "card"},
    {"x": "the app crashes", "y": "app"},
    {"x": "this app is slow", "y": "app"},
]
NEAREST = ("--preset", "smoke", "--method", "nearest", "--shots", "1")
NOTE = "note: inputs are text, split into words"


def write_table(file: Path) -> None:
    """Write the examples in each split, as CSV."""
    with file.open("w", newline="") as stream:
        rows = [
            {"task": name, "split": name, **one} for name in ("train", "valid", "test") for one in EXAMPLES
        ]
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_lines(file: Path) -> None:
    """Write the examples in each split, as JSONL; the last task has inputs of one word."""
    lines = [
        {"task": name, "split": name, "kind": "classification", "examples": examples}
        for name, examples in (
            ("train", EXAMPLES),
            ("valid", EXAMPLES),
            ("test", [one | {"x": one["x"].split()[2]} for one in EXAMPLES]),
        )
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("name", ["tasks.csv", "tasks.jsonl"])
def test_sentences_are_split_into_words(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], said: Said
) -> None:
    file, given, run, rule = tmp_path / name, tmp_path / "e.jsonl", str(tmp_path / "run"), str(tmp_path / "r")
    (write_table if name.endswith("csv") else write_lines)(file)
    tam("train", str(file), *NEAREST, "--out", run)
    assert NOTE in capsys.readouterr().err
    write_examples(given, EXAMPLES)
    tam("adapt", run, str(given), "--out", rule)
    assert said("predict", run, rule, "my card was stolen").endswith("→  card\n")
    tam("eval", run, "--tasks", str(file))
    tam("train", str(file), *NEAREST, "--text", "characters", "--out", str(tmp_path / "characters"))
    assert NOTE not in capsys.readouterr().err


def test_one_word_is_text_to_a_model_of_sentences(tmp_path: Path) -> None:
    table, lines = tmp_path / "tasks.csv", tmp_path / "tasks.jsonl"
    write_table(table)
    write_lines(lines)
    pairs = [(one["x"], one["y"]) for one in EXAMPLES]
    for source in (table, lines, dict.fromkeys("abc", pairs)):
        learner = Learner("nearest", preset="smoke", shots=(1,)).fit(tasks_from(source))
        learner.save(tmp_path / "saved")
        for one in (learner, load(tmp_path / "saved")):
            assert one.predict(one.adapt([("card", "yes"), ("the app", "no")]), ["card"]) == ["yes"]


def test_single_words_are_words_of_which_training_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "tasks.csv"
    rows = [f"{task},{x},{x}ed" for task in "abc" for x in ("walk", "talk", "jump")]
    table.write_text("\n".join(["task,x,y", *rows]))
    tam("train", str(table), *NEAREST, "--kind", "transduction", "--out", str(tmp_path / "run"))
    assert NOTE in capsys.readouterr().err


def test_lists_and_symbols_are_read_as_ever(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, lines = tmp_path / "tasks.csv", tmp_path / "tasks.jsonl"
    rows = [f"{task},{x},{y}" for task in "abc" for x, y in (("1 2", 0), ("2 1", 1), ("[1]", 0), ("2", 1))]
    table.write_text("\n".join(["task,x,y", *rows]))
    tam("train", str(table), *NEAREST, "--out", str(tmp_path / "run"))
    assert json.loads((tmp_path / "run" / "learner.json").read_text())["vocabulary"] == [1, 2]
    assert NOTE not in capsys.readouterr().err
    lines.write_text(json.dumps({"task": "a", "kind": "classification", "examples": [{"x": "1 2", "y": 0}]}))
    with pytest.raises(SystemExit, match="to split text, give text"):
        tam("tasks", str(lines))


@pytest.mark.parametrize("how", ["characters", "tokenizer", "words"])
def test_a_model_remembers_how_its_text_is_split(how: str, tmp_path: Path, said: Said) -> None:
    """Packed or saved, and as runs of earlier versions did, which had it in config.json alone."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    pieces = {word: number for number, word in enumerate(["my", "card", "was", "stolen", "the", "app"])}
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 6, **pieces}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "mine.json"))
    table, given, rule = tmp_path / "tasks.csv", tmp_path / "e.jsonl", str(tmp_path / "rule")
    run, packed, saved = (tmp_path / name for name in ("run", "packed", "saved"))
    write_table(table)
    write_examples(given, EXAMPLES)
    text = str(tmp_path / "mine.json") if how == "tokenizer" else how
    words = ("--preset", "smoke", "--shots", "1", "--positions", "rotary", "--text", text)
    tam("train", str(table), *words, "--out", str(run))
    (tmp_path / "mine.json").unlink()
    tam("eval", str(run))
    tam("pack", str(run), "--out", str(packed))
    load(packed).save(saved)
    old = json.loads((run / "learner.json").read_text())
    assert old.pop("text") == {"tokenizer": "tokenizer.json"}.get(how, how)
    (run / "learner.json").write_text(json.dumps(old))
    for folder in (run, packed, saved):
        hint = said("adapt", str(folder), str(given), "--out", rule).splitlines()[-1]
        said(*shlex.split(hint.removeprefix("next: tam ")))
        answer = json.loads(said("predict", str(folder), rule, "my card was stolen", "--json"))
        assert len(answer["x"]) == (18 if how == "characters" else 4)
    examples, learner = [(one["x"], one["y"]) for one in EXAMPLES], load(saved)
    learned = learner.adapt(examples)
    assert learner.predict(learned, ["my card was stolen"]) == [answer["y"]]
    with Store(tmp_path / "store", learner) as store:
        assert store.put("t", learned, examples).examples[0].x == answer["x"]
    hint = said("adapt", str(run), str(given), "--out", rule, "--text", "characters").splitlines()[-1]
    assert hint == f"next: tam predict {run} {rule} 'my card was stolen' --text characters"

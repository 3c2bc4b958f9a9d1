"""The same tasks from every source, in memory and in files, and what errors say about them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.errors import UserError
from tests.tasks.jsonl_files import names, record, save

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

SPLITS = {"upper": "train", "lower": "train", "first": "valid", "last": "test"}
LABELS: dict[str, list[tuple[list[int], str]]] = {
    task: [([number, 1, place], "yes" if number % 2 else "no") for number in range(4)]
    for place, task in enumerate(SPLITS)
}
SEQUENCES: dict[str, list[tuple[list[str], list[str]]]] = {
    task: [(list(word), list(word[::-1])) for word in ("tea", "cup", "ä b")] for task in SPLITS
}


def as_jsonl(tasks: Any, kind: str, folder: Path) -> tam.TaskSet:
    """The set as a JSONL file gives it: what every other source must give."""
    lines = [
        record(name, kind=kind, split=SPLITS[name], examples=[{"x": x, "y": y} for x, y in examples])
        for name, examples in tasks.items()
    ]
    return tam.read_tasks(save(folder, lines))


def rows_of(tasks: Any) -> list[dict[str, Any]]:
    return [
        {"task": name, "x": x, "y": y, "split": SPLITS[name]} for name, some in tasks.items() for x, y in some
    ]


def write_csv(rows: list[dict[str, Any]], file: Path, text: Callable[[list[Any]], str] = json.dumps) -> str:
    """Write a table in which lists are text."""
    frame = pd.DataFrame([{k: text(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows])
    frame.to_csv(file, index=False, sep="\t" if file.suffix == ".tsv" else ",")
    return str(file)


def words(tokens: list[Any]) -> str:
    return " ".join(map(str, tokens))


def by_split(tasks: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, examples in tasks.items():
        found.setdefault(SPLITS[name], {})[name] = examples
    return found


def dataset_dict(rows: list[dict[str, Any]]) -> Any:
    """As Hugging Face gives it: a dataset for each split, which has another name for that of validation."""
    from datasets import Dataset, DatasetDict

    hugging = {"train": "Training", "valid": "validation", "test": "TEST"}
    return DatasetDict(
        {
            other: Dataset.from_list(
                [{k: row[k] for k in ("task", "x", "y")} for row in rows if row["split"] == own]
            )
            for own, other in hugging.items()
        }
    )


SOURCES: dict[str, Callable[[Any, Path], Any]] = {
    "dictionaries by split": lambda tasks, _: by_split(tasks),
    "tasks": lambda tasks, _: [
        {"task": name, "split": SPLITS[name], "examples": some} for name, some in tasks.items()
    ],
    "lines of JSONL": lambda tasks, folder: [
        json.loads(line) for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    ],
    "pandas": lambda tasks, _: pd.DataFrame(rows_of(tasks)),
    "pyarrow": lambda tasks, _: pa.Table.from_pylist(rows_of(tasks)),
    "dataset": lambda tasks, _: dataset_dict(rows_of(tasks)),
    "parquet": lambda tasks, folder: (
        pd.DataFrame(rows_of(tasks)).to_parquet(folder / "t.parquet") or folder / "t.parquet"
    ),
    "csv of JSON": lambda tasks, folder: write_csv(rows_of(tasks), folder / "t.csv"),
    "rows of tasks in turn": lambda tasks, _: [
        row
        for turn in range(4)
        for row in rows_of({name: some[turn : turn + 1] for name, some in tasks.items()})
    ],
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_set_of_the_jsonl(source: str, tmp_path: Path) -> None:
    for tasks, kind in ((LABELS, "classification"), (SEQUENCES, "transduction")):
        expected = as_jsonl(tasks, kind, tmp_path)
        found = tam.tasks_from(SOURCES[source](tasks, tmp_path))
        assert found.kind == kind
        assert found.fingerprint == expected.fingerprint


def test_words_of_a_table_are_integers_if_all_are(tmp_path: Path) -> None:
    rows = rows_of(LABELS)
    expected = as_jsonl(LABELS, "classification", tmp_path).fingerprint
    for name in ("t.tsv", "t.csv"):
        assert tam.tasks_from(write_csv(rows, tmp_path / name, words)).fingerprint == expected
    rows[0]["x"] = ["a", 1, 0]
    assert tam.tasks_from(write_csv(rows, tmp_path / "t.csv", words)).train[0][1].x == ["1", "1", "0"]
    for no, expected_label in (("03", "03"), ("3", 3)):
        labels = [row | {"y": no if row["y"] == "no" else "4"} for row in rows]
        assert tam.read_tasks(write_csv(labels, tmp_path / "t.csv")).train[0][0].y == expected_label


def test_strings_in_lists_stay_strings(tmp_path: Path) -> None:
    """Only words of text become integers: `1` and `"1"` are different tokens."""
    numerals = {task: [(["1", "2"], "a"), (["3"], "b")] for task in SPLITS}
    expected = as_jsonl(numerals, "classification", tmp_path).fingerprint
    assert tam.tasks_from(by_split(numerals)).fingerprint == expected
    cells = [row | {"x": "3" if row["x"] == ["3"] else "[1, 2]"} for row in rows_of(numerals)]
    assert tam.read_tasks(write_csv(cells, tmp_path / "t.csv")).vocabulary.tokens == (1, 2, 3)


def test_text_is_split_as_asked(tmp_path: Path) -> None:
    expected = as_jsonl(SEQUENCES, "transduction", tmp_path).fingerprint
    texts = {name: [("".join(x), "".join(y)) for x, y in some] for name, some in SEQUENCES.items()}
    assert tam.tasks_from(by_split(texts), text="characters", kind="transduction").fingerprint == expected
    lines = [
        record(name, kind="transduction", split=SPLITS[name], examples=[{"x": x, "y": y} for x, y in some])
        for name, some in texts.items()
    ]
    found = tam.read_tasks(save(tmp_path, lines, "texts.jsonl"), text="characters")
    assert (found.fingerprint, found.options["text"]) == (expected, "characters")
    with pytest.raises(UserError, match=r"texts.jsonl:1: .*'tea'; to split text"):
        tam.read_tasks(tmp_path / "texts.jsonl")
    found = tam.tasks_from({key: [("a [b] 3", 0)] for key in "abc"}, text="words")
    assert found.vocabulary.tokens == ("3", "[b]", "a")


def test_tasks_in_a_list_have_the_kind_they_say() -> None:
    lines = [{"task": name, "kind": "transduction", "examples": [("a b", "b a")]} for name in "abc"]
    assert tam.tasks_from(lines).train[0][0].y == ["b", "a"]
    different = [("a", "one"), ("b", "two"), ("c", "three"), ("d", "four")]
    lines = [{"task": name, "kind": "classification", "examples": different} for name in "abc"]
    assert tam.tasks_from(lines).n_classes == 4


def test_a_tokenizer_splits_text(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    corpus = ["low lower lowest", "low low"]
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=15, show_progress=False))
    file = str(tmp_path / "tokenizer.json")
    tokenizer.save(file)
    found = tam.tasks_from({name: [("lowest low", 0)] for name in "abc"}, text=file)
    assert "".join(map(str, found.train[0][0].x)) == "lowestlow"
    assert found.train[0][0].x == tokenizer.encode("lowest low").tokens
    assert len(found.train[0][0].x) < 9
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(UserError, match=r"broken.json: not the file of a tokenizer"):
        tam.tasks_from({}, text=str(tmp_path / "broken.json"))
    with pytest.raises(UserError, match=r"text must be .* no file 'letters'"):
        tam.tasks_from({}, text="letters")


def test_columns_of_other_names_and_drawn_splits(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": [7, 8, 9] * 2, "said": ["a b", "b", "c"] * 2, "meant": ["hi", "no"] * 3})
    found = tam.tasks_from(frame, task="who", x="said", y="meant", seed=3)
    assert sorted(task.name for task in found) == ["7", "8", "9"]
    assert found.options == {"seed": 3}
    numbered = frame.set_axis([0, 1, 2], axis="columns")
    assert tam.tasks_from(numbered, task="0", x="1", y="2", seed=3).fingerprint == found.fingerprint
    with pytest.raises(UserError, match=r"the table: no column 'task': .*got who, said, meant; .*--columns"):
        tam.tasks_from(frame)
    file = tmp_path / "said.csv"
    frame.to_csv(file, index=False)
    assert tam.read_tasks(file, seed=3, columns="who, said,meant").fingerprint == found.fingerprint
    for wrong in ("who,said", "who,said,", "a,b,c,d,e,f"):
        with pytest.raises(UserError, match="columns must name"):
            tam.read_tasks(file, columns=wrong)


def test_splits_by_a_file(tmp_path: Path) -> None:
    file = tmp_path / "splits.json"
    file.write_text(json.dumps({"train": ["upper", "lower"], "valid": ["last"], "test": ["first"]}))
    found = tam.tasks_from(LABELS, splits=file)
    assert names(found) == {"train": ["upper", "lower"], "valid": ["last"], "test": ["first"]}


GOOD = {"task": "a", "x": [1], "y": 0}
PAIR = [([1], 0)]
NAN = float("nan")
BAD: list[tuple[Any, str]] = [
    (None, "expected .* got None"),
    ({}, "the tasks: empty"),
    ({"a": []}, "task 'a': .*examples"),
    ({"a": [([1], 0), 5]}, "task 'a', example 1: .* got 5"),
    ({"a": [{"x": [1], "z": 0}]}, "task 'a', example 0: .* got x, z"),
    ([GOOD, {"task": "a", "x": [1]}], "item 1: no field 'y'"),
    ([GOOD, 3], "item 1: .* got 3"),
    ([GOOD, GOOD | {"x": [1, 2.5]}], r"item 1: x\[1\] must be .* got 2.5"),
    ([GOOD, GOOD | {"y": 1.0}], "item 1: y must be a label, .*: got 1.0"),
    ([GOOD, GOOD | {"y": NAN}], "item 1: y must be a label, .*: got nothing"),
    ([GOOD | {"x": None}], "item 0: x must be .* got nothing"),
    ([GOOD | {"task": ""}], "item 0: task must be a name"),
    ([GOOD, GOOD | {"y": [1]}], r"item 1: answers must .* got \[1\], and labels before; .*--kind"),
    ([GOOD | {"y": [1]}, GOOD], "item 1: answers must .* got 0, and a list before"),
    ([GOOD | {"y": "[1]"}, GOOD | {"y": "a"}], "item 1: answers must .* got 'a', and a list before"),
    ([GOOD | {"split": "train"}, GOOD | {"split": "test"}], "item 1: .* 'a' is in 'test' .* item 0"),
    ([{"task": "a", "examples": PAIR}] * 2, "item 1: .* 'a' is also item 0"),
    ([{"task": "a", "examples": PAIR, "primitives": "add"}], ".* primitives must be"),
    ([GOOD | {"split": "hold"}], "item 0: split must be .* 'hold'"),
    ([GOOD | {"split": b"train"}], "item 0: split must be .* got b'train'"),
    ([GOOD | {"role": "train"}], "item 0: role must be .* 'train'"),
    (
        [
            {"task": kind, "kind": kind, "examples": [("x", "y")]}
            for kind in ("transduction", "classification")
        ],
        "task 'classification', example 0: all tasks must be of one kind",
    ),
    (
        [{"task": "a", "x": "w", "y": word} for word in ("one", "two", "three", "four")],
        "item 0: .* 'a' all differ; .*--kind",  # as sequences do
    ),
]


@pytest.mark.parametrize(("source", "message"), BAD)
def test_mistakes_say_where_they_are(source: Any, message: str) -> None:
    with pytest.raises(UserError, match=f"^{message}"):
        tam.tasks_from(source)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"task,x\na,1\n", ":1: no column 'y'"),
        (b"", ": no column 'task'"),
        (b"task,x,y\na,1,0\n\na,1\n", ":4: there must be 3 cells, .* got 2"),
        (b"task,x,x,y\na,1,2,0\n", ":1: .* 'x' occurs 2 times"),
        (b'task,x,y\na,1,0\na,"1,0\n', ":3: not CSV"),
        (b"task,x,y\na,\xff,0\n", ": not UTF-8: byte 0xff"),
        (b"task,x,y\na,1,0\na,1,\n", ":3: y must be a label, .*: got nothing"),
        (b'task,x,y\na,"1\n2",0\n,1,0\n', ":4: task must be a name"),
        (b"task,x,y,split\na,1,0,train\nb,1,0,test\na,1,0,test\n", ":4: .*'train' at .*:2"),
    ],
)
def test_mistakes_in_csv_name_the_line(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tasks.csv"
    file.write_bytes(content)
    with pytest.raises(UserError, match=f"^{file}{message}"):
        tam.read_tasks(file)


def test_booleans_are_labels_wherever_they_come_from(tmp_path: Path) -> None:
    examples = [{"x": [n], "y": n > 1} for n in range(4)]
    found = tam.read_tasks(save(tmp_path, [record(name, examples=examples) for name in "abc"]))
    assert [example.y for example in found.train[0]] == ["false", "false", "true", "true"]
    frame = pd.DataFrame([{"task": name, **example} for name in "abc" for example in examples])
    frame.to_parquet(tmp_path / "tasks.parquet")
    in_memory = tam.tasks_from(frame), tam.tasks_from(dict.fromkeys("abc", examples))
    for other in (tam.read_tasks(tmp_path / "tasks.parquet"), *in_memory):
        assert other.fingerprint == found.fingerprint


def test_mistakes_in_parquet_name_the_row(tmp_path: Path) -> None:
    file = tmp_path / "tasks.parquet"
    pd.DataFrame({"task": ["a", "b"], "x": [[1], None], "y": [0, 1]}).to_parquet(file)
    with pytest.raises(UserError, match=f"^{file}: row 1: x must be text or a list of tokens: got nothing"):
        tam.read_tasks(file)
    file.write_bytes(b"PAR1")
    with pytest.raises(UserError, match=f"^{file}: not Parquet"):
        tam.read_tasks(file)
    with pytest.raises(UserError, match=r"none\.parquet: cannot be read"):
        tam.read_tasks(tmp_path / "none.parquet")

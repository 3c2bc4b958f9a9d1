import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tam
from tam.tasks import benchmark as benchmark_module
from tam.tasks import cache
from tam.tasks.task import Classes, Label, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"train": 2, "valid": 1, "test": 1, "examples": 5}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, a set that is not in the cache cannot be had."""

    def refuse(*_: object) -> None:
        raise AssertionError("the set is made again")

    monkeypatch.setattr(benchmark_module, "_generate", refuse)


def only_file(folder: Path) -> Path:
    [file] = folder.iterdir()
    return file


def content(tasks: TaskSet) -> list[object]:
    """Everything in a set, whether or not the fingerprint covers it."""
    found: list[object] = [tasks.vocabulary.tokens, dict(tasks.options), list(tasks.splits)]
    for task in tasks:
        labels = task.y.labels if isinstance(task.y, Classes) else None
        found.append((task.name, task.primitives, list(task), labels, task.x.ids.dtype, task.y.ids.dtype))
    return found


# Kept and found again


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("classification", {"n": 3}),
        ("transduction", {"compositional": True, "holdout": 2}),
        ("pathfinding", {}),
    ],
)
def test_the_second_call_reads_the_file(
    name: Any, options: dict[str, Any], folder: Path, request: pytest.FixtureRequest
) -> None:
    made = tam.benchmark(name, **SMALL, **options)
    assert only_file(folder).name.startswith(f"{name}-")
    request.getfixturevalue("no_generator")
    assert content(tam.benchmark(name, **SMALL, **options)) == content(made)


def test_other_options_are_other_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tam.benchmark("pathfinding", **SMALL)
    tam.benchmark("pathfinding", **SMALL, seed=1)
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setattr(benchmark_module, "VERSION", benchmark_module.VERSION + 1)
    tam.benchmark("pathfinding", **SMALL)
    assert len(list(folder.iterdir())) == 3


def test_any_set_can_be_kept(tmp_path: Path) -> None:
    """Empty sequences, strings as tokens and labels, several test splits, more than 256 tokens."""
    vocabulary = Vocabulary(["ä", *range(300)])
    x = Sequences.from_lists([[0, 300], [], [7]], len(vocabulary))
    empty = Sequences.from_lists([[]], len(vocabulary))
    y: list[tuple[list[int], tuple[Label, ...]]] = [
        ([0, 1, 0], ("no", 4)),
        ([2], (1, "1", "2")),
        ([0, 0, 0], ("no",)),
    ]
    first, second, third = (Classes(np.array(ids, dtype=np.uint8), labels) for ids, labels in y)
    splits: dict[str, tuple[Task, ...]] = {
        "train": (Task("one", vocabulary, x, first, ("p", "q")),),
        "valid": (Task("two →", vocabulary, empty, second, ("p", "r")),),
        "test_b": (Task("three", vocabulary, x, third, ("q",)),),
        "test_a": (Task("four", vocabulary, x, first, ("q",)),),
    }
    written = TaskSet(splits, vocabulary, {"seed": 3})
    cache.write(tmp_path / "any.safetensors", written)
    read = cache.read(tmp_path / "any.safetensors", {"seed": 3})
    assert read is not None
    assert content(read) == content(written)


# Damage


DAMAGE: list[Callable[[bytes], bytes]] = [
    lambda raw: b"",
    lambda raw: raw[:-1],
    lambda raw: b"PK\x03\x04 not one of ours" * 20,
    lambda raw: raw.replace(b",0)", b",1)", 1),  # in a name
    lambda raw: raw.replace(b'"tam"', b'"tom"'),  # no header of ours
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_again(damage: Callable[[bytes], bytes], folder: Path) -> None:
    made = tam.benchmark("pathfinding", **SMALL)
    raw = (file := only_file(folder)).read_bytes()
    file.write_bytes(damage(raw))
    assert file.read_bytes() != raw
    with pytest.warns(UserWarning, match=r"pathfinding-.*\.safetensors is damaged \(.+\); .* made again"):
        again = tam.benchmark("pathfinding", **SMALL)
    assert content(again) == content(made)
    assert only_file(folder).read_bytes() == raw


def test_no_flipped_bit_goes_unnoticed(folder: Path, tmp_path: Path) -> None:
    """Each is either found, or does no harm, as in the space between two numbers."""
    made = tam.benchmark("pathfinding", **SMALL, compositional=True)
    raw = only_file(folder).read_bytes()
    header = 8 + int.from_bytes(raw[:8], "little")
    places = [*range(0, header, 7), *range(header, len(raw), 397)]
    file = tmp_path / "flipped.safetensors"
    noticed = 0
    for number, place in enumerate(places):
        flipped = bytearray(raw)
        flipped[place] ^= 1 << (0, 1, 3, 5)[number % 4]
        file.write_bytes(flipped)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read = cache.read(file, made.options)
        if read is None:
            noticed += 1
            assert len(caught) == 1
        else:
            assert content(read) == content(made), (place, raw[place - 10 : place + 10])
    assert noticed > 0.95 * len(places)


# Folders that do not work


@pytest.mark.parametrize("place", ["a file", "a file/below", "x" * 300])
def test_a_folder_that_cannot_be_written(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").write_text("in the way")
    monkeypatch.setenv("TAM_CACHE", str(tmp_path / place))
    with pytest.warns(UserWarning, match="the task set is not cached: .* cannot be written"):
        made = tam.benchmark("pathfinding", **SMALL)
    assert made.fingerprint == tam.benchmark("pathfinding", **SMALL, use_cache=False).fingerprint
    assert (tmp_path / "a file").read_text() == "in the way"


FULL_DISK = """
import resource, warnings, tam
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tasks = tam.benchmark("pathfinding", train=2, valid=1, test=1, examples=5)
print(len(tasks), *(warning.message for warning in caught))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("4 the task set is not cached")
    assert list(folder.iterdir()) == []


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.setenv("TAM_CACHE", "")
    assert cache.folder() == tmp_path / "xdg" / "tam"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == tmp_path / "home" / ".cache" / "tam"

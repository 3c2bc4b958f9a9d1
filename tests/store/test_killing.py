"""Writers that are killed at any moment lose nothing that was acknowledged; four write at once."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import tam
from tests.store import writer as writers

pytestmark = pytest.mark.slow


def test_what_was_acknowledged_is_there_after_100_kills(tmp_path: Path) -> None:
    command = [sys.executable, str(Path(writers.__file__)), str(tmp_path), "26", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    counts: dict[str, dict[str, int]] = {}
    for line in done.stdout.splitlines():
        file, writer, count, killed = json.loads(line)
        assert killed, done.stderr
        counts.setdefault(file, {})[writer] = count
    assert sum(map(len, counts.values())) == 104
    assert sum(counts["tasks.db"].values()) >= 19
    for file, of_file in counts.items():
        check(tmp_path / file, of_file)


def check(file: Path, counts: dict[str, int]) -> None:
    """Each writer's tasks are those of what was acknowledged, and perhaps of one operation more."""
    found: dict[str, set[str]] = {writer: set() for writer in counts}
    with tam.Store(file) as store:
        for one in store.list():
            found[one.name.split()[0]].add(one.name)
            kept, original = store.get(one.name), one.name.removesuffix(" renamed")
            assert kept.embedding == writers.embedding(original)
            assert len(kept.examples) == 20
        for writer, count in counts.items():
            expected = (writers.names_after(writer, count), writers.names_after(writer, count + 1))
            assert found[writer] in expected, writer
        store.put("after", writers.embedding("after"), [([1], 0)])
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

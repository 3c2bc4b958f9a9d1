"""Files are there whole or not at all, and what cannot be read or written says why."""

import os
import re
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.errors import UserError, shown
from tam.io import exists, path_of, read_json, replacing
from tam.training.checkpoint import read_tensors, remove_leftovers, write_json, write_tensors


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_there_stays_until_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before")
    (tmp_path / "link").symlink_to(file)
    with suppress(KeyboardInterrupt), replacing(file) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert file.read_text() == "before"
    with replacing(tmp_path / "link") as temporary:
        temporary.write_text("after")
        assert file.read_text() == "before"
    assert file.read_text() == "after"
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path) == ["a.txt", "link"]


@pytest.mark.parametrize("path", [".", "none/a.txt", "file/a.txt", "a" * 300, "/dev/full", "/"])
def test_what_cannot_be_written_says_so(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"), replacing(path) as temporary:
        temporary.write_text("text")
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize(("umask", "mode"), [(0o027, 0o640), (0o077, 0o600)])
def test_files_have_the_permissions_of_the_umask(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_json(tmp_path / "a.json", {})
        write_tensors(tmp_path / "a.safetensors", {"a": torch.ones(1)}, {})
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {mode}


def test_temporary_files_follow_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.write_text("untouched")
    with replacing(tmp_path / "a.txt") as first, replacing(tmp_path / "a.txt") as second:
        assert first != second
    monkeypatch.setattr("secrets.token_hex", lambda _: "0123")
    (tmp_path / ".a.txt.0123.part").symlink_to(other)
    with pytest.raises(UserError, match="cannot be written: File exists"), replacing(tmp_path / "a.txt"):
        pass
    assert other.read_text() == "untouched"


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    with replacing(tmp_path / "a.txt") as temporary:
        pass
    for name in (temporary.name, ".a.txt.4711.part", "b.part", ".hidden.part"):
        (tmp_path / name).write_text("half")
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".hidden.part", "a.txt", "b.part"]


@pytest.fixture
def locked(tmp_path: Path) -> Generator[Path]:
    """A folder that we may not look into."""
    folder, user = tmp_path / "locked", os.geteuid()
    folder.mkdir()
    write_json(folder / "a.json", {})
    write_tensors(folder / "a.safetensors", {}, {})
    folder.chmod(0)
    if user == 0:
        os.seteuid(65534)  # root may do anything
    yield folder
    os.seteuid(user)
    folder.chmod(0o700)


def test_denied_access_is_said_as_such(locked: Path) -> None:
    for use, name in ((read_json, "a.json"), (read_tensors, "a.safetensors"), (exists, "none")):
        with pytest.raises(UserError, match=f"{name}: cannot be read: Permission denied"):
            use(locked / name)
    with pytest.raises(UserError, match="cannot be written: Permission denied"):
        write_json(locked / "b.json", {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{\n "seed": 1,\n "device" "cpu"\n}', r"config\.json:3: not JSON"),
        (b"[1]", r"config\.json: expected an object"),
        (b"\xff\xfe{}", r"config\.json: not JSON"),
        (b"[" * 100_000, r"config\.json: not JSON"),
        (None, r"config\.json: cannot be read: No such file"),
    ],
)
def test_a_file_that_is_not_json_is_an_error_that_says_where(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_json(file)


@pytest.mark.parametrize("name", ["", None, 5, b"a"])
def test_only_a_string_or_a_path_is_a_name(name: Any) -> None:
    for use in (path_of, lambda name: replacing(name).__enter__()):
        with pytest.raises(UserError, match=f"^a path must be .* got {re.escape(repr(name))}$"):
            use(name)


def test_errors_are_short_and_print_no_control_characters() -> None:
    assert str(UserError("\x1b]0;title\x07.json: é → θ\nmore\r\u202e")) == (
        "\\x1b]0;title\\x07.json: é → θ\nmore\\r\\u202e"
    )
    message = str(UserError(f"task {'a' * 10_000!r} has too few examples; give it more"))
    assert len(message) < 1_000
    assert message.startswith("task 'aaa")
    assert message.endswith("give it more")
    assert (len(shown("a" * 10_000)), shown(10**5000)) == (60, "int with too many digits")

"""A file is there whole or not at all, and one that is no JSON says where it is wrong."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tam.errors import UserError
from tam.io import path_of, read_json, replacing


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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "link"]


@pytest.mark.parametrize("path", [".", "none/a.txt", "file/a.txt", "a" * 300, "/dev/full", "/"])
def test_what_cannot_be_written_says_so(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"), replacing(path) as temporary:
        temporary.write_text("text")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_half_a_character_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="lone surrogate"), replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("\ud800", encoding="utf-8")
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_json_are_errors_that_say_where(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    with pytest.raises(UserError, match=r"config\.json: cannot be read: No such file"):
        read_json(file)
    file.write_text('{\n "seed": 1,\n "device" "cpu"\n}')
    with pytest.raises(UserError, match=r"config\.json:3: not JSON"):
        read_json(file)
    file.write_text("[1]")
    with pytest.raises(UserError, match=r"config\.json: expected an object"):
        read_json(file)
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(UserError, match=r"config\.json: not JSON"):
        read_json(file)


def test_an_empty_name_is_none() -> None:
    assert path_of(".") == Path()
    with pytest.raises(UserError, match=r"^a path is the name of a file or folder, not ''$"):
        path_of("")
    with pytest.raises(UserError, match=r"^--out is the name"):
        path_of("", "--out")
    with pytest.raises(UserError, match=r"^a path is the name"), replacing(""):
        pass


@pytest.mark.parametrize("name", [None, 5, b"a", ["a"]])
def test_only_a_string_or_a_path_is_a_name(name: Any) -> None:
    for use in (path_of, lambda name: replacing(name).__enter__()):
        with pytest.raises(
            UserError, match=f"^a path is the name of a file or folder, not {re.escape(repr(name))}$"
        ):
            use(name)

"""Results name the code that made them."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from tam import provenance


def test_the_hash_follows_content_and_names_of_python_files_alone(tmp_path: Path) -> None:
    def hash_of(folder: str, files: dict[str, str]) -> str:
        for name, text in files.items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text)
        return provenance.hash_of_code(tmp_path / folder)

    same = {"a.py": "x = 1", "b/c.py": "y = 2"}
    first = hash_of("first", same)
    assert first == hashlib.sha256(b"a.py 5\nx = 1b/c.py 5\ny = 2").hexdigest()[:12]
    assert hash_of("again", same | {"data.json": "{}"}) == first
    others = (
        {"a.py": "x = 1", "b/c.py": "y = 3"},
        {"a.py": "x = 1", "b/d.py": "y = 2"},
        {"a.py": "x = 1b/c.py 5\ny = 2"},
    )
    assert len({first, *(hash_of(f"other {n}", files) for n, files in enumerate(others))}) == 4
    assert provenance.provenance()["code"] == provenance.hash_of_code()


def test_the_commit_has_a_plus_if_files_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    package = tmp_path / "src" / "tam"
    package.mkdir(parents=True)
    monkeypatch.setattr(provenance, "_PACKAGE", package)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.commit_of_code() is None
    (package / "a.py").write_text("x = 1")
    git("init", "--quiet")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "first")
    clean = provenance.commit_of_code()
    assert clean is not None
    assert re.fullmatch("[0-9a-f]{12}", clean)
    (tmp_path / "README.md").write_text("")
    assert provenance.commit_of_code() == clean
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "speed.py").write_text("")
    assert provenance.commit_of_code() == f"{clean}+"
    (tmp_path / "installed").mkdir()  # as in a virtual environment within somebody's repository
    monkeypatch.setattr(provenance, "_PACKAGE", tmp_path / "installed")
    assert provenance.commit_of_code() is None

"""The code version and time that result files record."""

import hashlib
import subprocess
import time
from pathlib import Path

_PACKAGE = Path(__file__).parent


def provenance() -> dict[str, str | None]:
    """The code that made a result, as its file records it: the `commit`, and a hash of the `code`.

    The hash identifies the code even if it is a copy inside a checkout of another commit.
    """
    return {"commit": commit_of_code(), "code": hash_of_code()}


def commit_of_code() -> str | None:
    """The checked-out commit, with a + if the package or `benchmarks/` differs.

    None outside a checkout, or for an installed copy that a checkout of something else ignores.
    """
    commands = ("rev-parse --short=12 HEAD", "ls-files --cached .", "status --porcelain . :/benchmarks")
    try:
        commit, files, changes = (
            subprocess.run(
                ["git", *words.split()], cwd=_PACKAGE, capture_output=True, text=True, check=True, timeout=10
            ).stdout.strip()
            for words in commands
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changes else "") if files else None


def hash_of_code(package: Path = _PACKAGE) -> str:
    """Twelve hex digits of the SHA-256 of the package's Python files: sorted paths, and contents."""
    digest = hashlib.sha256()
    files = {file.relative_to(package).as_posix(): file for file in package.rglob("*.py")}
    for name, file in sorted(files.items()):
        content = file.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def now() -> str:
    """The current time in the format of result files."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

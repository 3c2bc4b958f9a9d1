"""Which code made a result, and when."""

import hashlib
import subprocess
import time
from pathlib import Path

_PACKAGE = Path(__file__).parent


def provenance() -> dict[str, str | None]:
    """What every result file says about the code that made it: its `commit`, and a hash of the `code` itself.

    A copy of the code may lie in a checkout of another commit; the hash tells what ran all the same.
    """
    return {"commit": commit_of_code(), "code": hash_of_code()}


def commit_of_code() -> str | None:
    """The commit that is checked out, where tam runs from a checkout.

    A + follows if the files of the package, or of `benchmarks/`, differ from it.
    """
    commands = (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", ".", ":/benchmarks"])
    try:
        commit, changes = (
            subprocess.run(
                ["git", *words], cwd=_PACKAGE, capture_output=True, text=True, check=True, timeout=10
            ).stdout.strip()
            for words in commands
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changes else "")


def hash_of_code(package: Path = _PACKAGE) -> str:
    """Twelve hex digits of the SHA-256 of the package's Python files: their paths, in order, and contents."""
    digest = hashlib.sha256()
    files = {file.relative_to(package).as_posix(): file for file in package.rglob("*.py")}
    for name, file in sorted(files.items()):
        content = file.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def now() -> str:
    """The current time, as result files write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

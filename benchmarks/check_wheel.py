"""Build the wheel, install it into an empty environment, and run the demo there.

    python benchmarks/check_wheel.py [--python /path/to/python3]

torch and the other packages come from the index that pip is configured for, which must have torch for the
given Python.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = [
    {"x": [3, 1, 4, 1, 5], "y": [5, 1, 4, 1, 3]},
    {"x": [2, 7, 1, 8, 2], "y": [2, 8, 1, 7, 2]},
    {"x": [1, 2, 3, 4, 5], "y": [5, 4, 3, 2, 1]},
    {"x": [6, 0, 9, 0, 1]},
]


def run(*words: str | Path, cwd: Path) -> str:
    print("$", *words, flush=True)
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}failed with exit code {done.returncode}")
    return done.stdout


def check(python: str, folder: Path) -> None:
    environment, dist = folder / "environment", folder / "dist"
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", dist, ROOT, cwd=folder)
    (wheel,) = dist.glob("*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    run(python, "-m", "venv", environment, cwd=folder)
    own = environment / "bin" / "python"
    run(own, "-m", "pip", "install", "-q", wheel, cwd=folder)
    print(
        run(own, "-c", "import sys, torch; print(sys.version.split()[0], torch.__version__)", cwd=folder),
        end="",
    )
    print(run(environment / "bin" / "tam", "models", cwd=folder))
    file = folder / "examples.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in EXAMPLES))
    started = time.monotonic()
    answered = run(environment / "bin" / "tam", "demo", "transduction", "--examples", file, cwd=folder)
    print(f"{answered}{time.monotonic() - started:.1f} s from start to end")
    if "6 0 9 0 1  →  1 0 9 0 6" not in answered:
        sys.exit("the demo answered wrongly")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="the Python to install into")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check(given.python, Path(folder))


if __name__ == "__main__":
    main()

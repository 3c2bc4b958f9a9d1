"""Choices that are the same for every run, made on validation tasks: what was tried, and how it did.

Run `.venv/bin/python benchmarks/choices.py`; it trains one small network a variant, on classification, and
writes results/choices.json. No test task is looked at. Give names of variants to run only those; the
others keep what the file says of them.
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from tam.config import Config
from tam.models import model
from tam.provenance import now, provenance
from tam.report.table import table
from tam.tasks.benchmark import BenchmarkOptions, make
from tam.training.loop import Trainer

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "results" / "choices.json"

VARIANTS: dict[str, tuple[float, dict[str, Any]]] = {
    "place 0.3": (0.3, {}),
    "place 0.1": (0.1, {}),
    "place 0.03": (0.03, {}),
    "place 0.01": (0.01, {}),
    "rate 6e-4": (0.03, {"rate": 6e-4}),
    "mixed supports": (0.03, {"support": "mixed", "small_after": 150}),
}
"""Of each variant the spread of z's place at the start, and what differs from the preset quick."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"a variant: {', '.join(VARIANTS)}")
    names: list[str] = parser.parse_args().names or list(VARIANTS)
    if unknown := [name for name in names if name not in VARIANTS]:
        parser.error(f"there is no variant {unknown[0]!r}: it is one of {list(VARIANTS)}")
    facts: dict[str, Any] = {"variants": {}}
    if FILE.exists():
        facts |= json.loads(FILE.read_text(encoding="utf-8"))
    facts |= {
        "what": "validation scores of classification, preset quick, with one thing changed at a time",
        "command": "python benchmarks/choices.py",
        "torch": torch.__version__,
        "device": platform.machine(),
        **provenance(),
    }
    for name in names:
        facts["variants"][name] = run(name)
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(facts, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    shots = [str(k) for k in Config.from_preset("quick").protocol.shots]
    rows = [
        [name, f"{one['loss']:.3f}", *(f"{one['accuracy'][k]:.1%}" for k in shots)]
        for name, one in facts["variants"].items()
    ]
    print(table(["", "training loss", *(f"k = {k}" for k in shots)], rows))
    print(f"written: {FILE}")


def run(name: str) -> dict[str, Any]:
    """Train a variant, and score the validation tasks."""
    place, values = VARIANTS[name]
    model.PLACE_STD = place
    config = Config.from_preset("quick", supports=4, queries=100, **values)
    tasks = make(BenchmarkOptions(name="classification"))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, tasks, Path(folder))
        losses = [float(trainer.step().end) for _ in range(config.training.steps)]
        scores = trainer.validate()
    return {
        "place": place,
        "settings": values,
        "steps": config.training.steps,
        "loss": sum(losses[-20:]) / 20,
        "accuracy": {str(one.k): one.accuracy for one in scores},
        "inner_steps": {str(one.k): one.choice.steps for one in scores},
        "seconds": round(time.monotonic() - started, 1),
        "finished": now(),
    }


if __name__ == "__main__":
    main()

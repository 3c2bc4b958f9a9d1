"""Time the start of a process up to its first outer step on a GPU, and up to the first replayed step.

gpu.py runs this script with the time at which it started the process. It prints seconds by part, as JSON.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

STARTED = float(sys.argv[1])
marks: list[tuple[str, float]] = []


def mark(name: str) -> None:
    """Mark the end of the part with this name."""
    marks.append((name, time.time()))


if __name__ == "__main__":
    mark("python")
    import torch

    mark("import torch")
    from tam.config.config import Config
    from tam.tasks.benchmark import BenchmarkOptions, make
    from tam.training.preflight import prepare
    from tam.training.trainer import Trainer

    mark("import tam")
    tasks = make(BenchmarkOptions(name="classification"))
    mark("tasks")
    torch.zeros(1, device="cuda")
    mark("GPU")
    config = Config.from_preset("best", "tam", "classification", device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(prepare(config, tasks), Path(folder))
        torch.cuda.synchronize()
        mark("model and data")
        trainer.compile()
        torch.cuda.synchronize()
        mark("kernels")
        trainer.step()
        torch.cuda.synchronize()
        mark("first step")
        for _ in range(3):
            trainer.step()
        torch.cuda.synchronize()
        mark("three steps and recording")
    ends = [STARTED, *(time for _, time in marks)]
    parts = {name: round(end - begin, 2) for (name, end), begin in zip(marks, ends, strict=False)}
    first = dict(marks)["first step"] - STARTED
    print(json.dumps({"seconds": round(first, 2), "parts": parts}))

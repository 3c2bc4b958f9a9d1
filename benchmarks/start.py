"""From the start of a process to its first outer step on a GPU, and to the first that is replayed.

Run by gpu.py with the time at which it started this process. Prints what took how long, in seconds, as JSON.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

STARTED = float(sys.argv[1])
marks: list[tuple[str, float]] = []


def mark(name: str) -> None:
    """What came until now was this."""
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

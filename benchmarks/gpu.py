"""Time the start and the outer steps of Algorithm 1 on a GPU, and check the fast code against plain code.

Run `python benchmarks/gpu.py` on a machine with a CUDA GPU; it needs only torch, triton, numpy and
safetensors, takes some minutes and writes results/gpu.json. Each measurement has its own process.

The network is the paper's, with bfloat16 products; B = 16 and N = 300, or as in the preset best. The work
counted is that of the paper's algorithm: 6 operations per token and weight of the blocks, T + 1 passes, with
the tokens [x, z, y₁ … y_{m−1}]. Reuse raises the rate, padding lowers it. The start of a process is timed up
to the end of its first outer step: cold, with an empty Triton cache, and warm.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from agreement import Case, Example, disagreement
from record import Facts, about, in_fresh_process, no_options, write

from tam.cli.exit import command
from tam.config.config import Config
from tam.config.methods import TamSettings
from tam.models.fast.context import plain
from tam.models.fast.gpu_device import compile_only
from tam.tasks.benchmark import BenchmarkOptions, make
from tam.tasks.task import Sequences
from tam.tasks.taskset import TaskSet
from tam.training.preflight import check_device, prepare
from tam.training.trainer import Trainer


class Step(NamedTuple):
    """An outer step to time; without `inner_steps`, that of the preset best."""

    benchmark: str
    inner_steps: int | None = None
    theta_update: str | None = None
    kernels: bool = True

    def config(self) -> Config:
        """The settings of the run to which the step belongs."""
        if self.inner_steps is None:
            return Config.from_preset("best", "tam", self.benchmark, device="cuda")
        return _config(self.benchmark, theta_update=self.theta_update, inner_steps=self.inner_steps)


STEPS = (
    Step("classification", 25, "accumulated"),
    Step("classification", 25, "interleaved"),
    Step("transduction", 15, "accumulated"),
    Step("transduction", 15, "interleaved"),
    Step("pathfinding", 25, "accumulated"),
    Step("pathfinding", 25, "interleaved"),
    Step("pathfinding", 25, "accumulated", kernels=False),
    Step("classification"),
    Step("transduction"),
    Step("pathfinding"),
)
MUST = {
    ("classification", "accumulated"): 23.0,
    ("classification", "interleaved"): 23.0,
    ("transduction", "accumulated"): 30.0,
    ("transduction", "interleaved"): 45.0,
}
"""Milliseconds per outer step; path-finding must be twice as fast as the captured step of plain code."""
MUST_TFLOPS = 140.0
"""For the preset best."""
MUST_START = {"cold": 15.0, "warm": 5.0}
"""Seconds from process start to the end of the first outer step."""

CASES = (
    Case(601, 6, causal=False, last=1),
    Case(301, 11, first=5),
    Case(101, 31, first=8),
    Case(31, 100),
    Case(301, 6, before=5),
    Case(4801, 6, masked=False, before=5),
    Case(101, 23, before=8),
    Case(37, 1, masked=False, before=1),
    Case(31, 40, heads=2, before=64),
)
"""Sequences on which to check the kernels."""

_MIXED = {"support": "mixed", "small_after": 10}
CAPTURED = (
    ("tam", "classification", {}),
    ("tam", "classification", {"theta_update": "interleaved", **_MIXED}),
    ("tam", "transduction", _MIXED),
    ("tam", "transduction", {"precision": "bfloat16", **_MIXED}),
    ("cavia", "classification", {"precision": "bfloat16", "order": "first", "support_sizes": (1, 16)}),
)
"""Methods, benchmarks and settings whose captured outer steps are compared with eager ones."""

TRAINING_STEPS = 300
"""Outer steps of the short trainings."""


def main() -> None:
    no_options(__doc__)
    with command():
        check_device("cuda")
    first = start()
    peak = matmul_peak()
    print(f"{'outer step':52}{'ms':>8}{'must':>8}{'TFLOP/s':>9}{'GiB':>7}")
    steps = [in_fresh_process(timed, step) for step in STEPS]
    checks = {
        "captured": [in_fresh_process(compare_captured, *case) for case in CAPTURED],
        "training": {
            "steps": TRAINING_STEPS,
            "loss": {kernels: in_fresh_process(losses, kernels) for kernels in ("ours", "plain")},
        },
        "kernels": in_fresh_process(compare_kernels),
    }
    for name, found in checks.items():
        print(name, found)
    facts = about("gpu", "outer steps of Algorithm 1 on a GPU, and that fast and plain code compute the same")
    device = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    measured = {"start": first, "peak_tflops": round(peak, 1), "steps": steps, "checks": checks}
    write("gpu", facts | device | measured)


def matmul_peak() -> float:
    """TFLOP/s of a large bfloat16 matrix product."""
    size = 8192
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return 2 * size**3 / _milliseconds(lambda: a @ b, 20) / 1e9


def words(row: Facts) -> str:
    """A line of the printed table."""
    plain = "" if row["kernels"] == "ours" else ", plain"
    label = f"{row['benchmark']}, {row['preset']}, T = {row['inner_steps']}, {row['theta_update']}{plain}"
    must = "" if row["must_ms"] is None else f"{row['must_ms']:.0f}"
    return f"{label:52}{row['ms']:8.2f}{must:>8}{row['tflops']:9.0f}{row['gib']:7.1f}"


def timed(step: Step) -> Facts:
    """Time an outer step that has been recorded, and print it."""
    tasks = make(BenchmarkOptions(name=step.benchmark))  # pyright: ignore[reportArgumentType]
    config = step.config()
    training, network, settings = config.training, config.network, config.settings
    assert isinstance(settings, TamSettings)
    with tempfile.TemporaryDirectory() as folder, nullcontext() if step.kernels else plain():
        trainer = Trainer(prepare(config, tasks), Path(folder))
        trainer.state.step = training.steps // 2  # in the last phase of training
        for _ in range(6):
            trainer.step()
        torch.cuda.synchronize()
        ms = _milliseconds(trainer.step, 5, repeats=5)
    passed = tokens(tasks) * training.tasks * training.rows * (settings.inner_steps + 1)
    work = passed * 6 * 12 * network.width**2 * network.layers
    best, must = step.inner_steps is None, MUST.get((step.benchmark, settings.theta_update))
    row: Facts = {
        "preset": "best" if best else "paper",
        "benchmark": step.benchmark,
        "tasks": training.tasks,
        "rows": training.rows,
        "theta_update": settings.theta_update,
        "inner_steps": settings.inner_steps,
        "kernels": "ours" if step.kernels else "plain",
        "ms": round(ms, 3),
        "must_ms": must if step.kernels and not best else None,
        "tokens": round(tokens(tasks), 2),
        "tflops": round(work / ms / 1e9, 1),
        "must_tflops": MUST_TFLOPS if best else None,
        "gib": round(torch.cuda.max_memory_allocated() / 2**30, 2),
    }
    print(words(row), flush=True)
    return row


def start() -> dict[str, Facts]:
    """Seconds from the start of a process to the end of its first outer step, cold and then warm.

    The cold process has neither compiled kernels nor Python's bytecode; the warm one has both.
    """
    make(BenchmarkOptions(name="classification"))  # so that it is in the cache
    found: dict[str, Facts] = {}
    with tempfile.TemporaryDirectory() as cache:
        for name, must in MUST_START.items():
            script = [sys.executable, Path(__file__).with_name("start.py"), str(time.time())]
            environment = os.environ | {
                "TRITON_CACHE_DIR": f"{cache}/triton",
                "PYTHONPYCACHEPREFIX": f"{cache}/python",
                "PYTHONDONTWRITEBYTECODE": "",
            }
            done = subprocess.run(script, env=environment, stdout=subprocess.PIPE, check=True)
            found[name] = json.loads(done.stdout) | {"must": must}
            print(name, "start", found[name], flush=True)
    return found


def tokens(tasks: TaskSet) -> float:
    """Mean length of the training tasks' sequences, as the paper's model reads them."""
    lengths = [
        float((task.x.lengths + 1).mean())
        + (float((task.y.lengths - 1).clip(0).mean()) if isinstance(task.y, Sequences) else 0.0)
        for task in tasks.train
    ]
    return statistics.mean(lengths)


def compare_kernels() -> list[Facts]:
    """The errors of kernels and plain code against float64."""
    precisions = [(case, half) for case in CASES for half in (False, True)]
    with compile_only():
        for case, half in precisions:
            Example(case, "cuda").gradients(kernels=True, half=half)
    return [disagreement(case, "cuda", half=half) for case, half in precisions]


def compare_captured(method: str, name: str, settings: Mapping[str, Any], steps: int = 20) -> Facts:
    """The relative difference in θ between captured and eager outer steps, with the same kernels."""
    tasks = make(BenchmarkOptions(name=name))  # pyright: ignore[reportArgumentType]
    given = {"precision": "float32", "inner_steps": 3, "tasks": 4, "rows": 32, "steps": 100, **settings}
    config = Config.from_preset("paper", method, name, device="cuda", **given)
    eager, captured = (_weights_after(config, tasks, steps, how) for how in (False, True))
    row: Facts = {"method": method, "benchmark": name, "precision": given["precision"], "steps": steps}
    if method == "tam":
        row |= {name: getattr(config.settings, name) for name in ("theta_update", "support")}
    difference = float((captured - eager).norm() / eager.norm())
    return row | {"relative_difference": difference, "must": 1e-5}


def _weights_after(config: Config, tasks: TaskSet, steps: int, captured: bool) -> torch.Tensor:
    """θ after this many outer steps."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(prepare(config, tasks), Path(folder), captured=captured)
        for _ in range(steps):
            trainer.step()
        return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])


def losses(kernels: str) -> list[float]:
    """The losses of four seeds after a short training with our kernels or with plain code."""
    tasks = make(BenchmarkOptions(name="classification"))
    values: list[float] = []
    for seed in range(4):
        settings = {"inner_steps": 10, "rows": 100, "steps": TRAINING_STEPS, "theta_update": "interleaved"}
        config = _config("classification", seed=seed, **settings)
        with tempfile.TemporaryDirectory() as folder, nullcontext() if kernels == "ours" else plain():
            trainer = Trainer(prepare(config, tasks), Path(folder))
            ends = [float(trainer.step().end) for _ in range(TRAINING_STEPS)]
        values.append(round(statistics.mean(ends[-30:]), 4))
        if not math.isfinite(values[-1]):
            raise RuntimeError(f"training with {kernels} kernels diverged")
    return values


def _config(name: str, **values: Any) -> Config:
    given = {"device": "cuda", "precision": "bfloat16", "patience": None} | values
    return Config.from_preset("paper", "tam", name, **given)


def _milliseconds(call: Any, count: int, repeats: int = 3) -> float:
    """The median time of a call."""
    call()
    found = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) / count)
    return statistics.median(found)


if __name__ == "__main__":
    main()

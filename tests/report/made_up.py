"""A folder of results with every run on the list, made up, as the runner writes them."""

import math
import shutil
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any

from tam.experiments.job import Job
from tam.experiments.jobs import all_jobs
from tam.experiments.results import Folders, versions, with_budget
from tam.io import json_text

ROOT = Path(__file__).resolve().parents[2]
STEPS, STEP_MS = 4000, 12.0
_SKILL = {"tam": 1.0, "cavia": 0.9, "multitask": 0.7, "snail": 0.5, "matching": 0.6, "maml": 0.55}


def complete(folder: Path, only: str = "*") -> Path:
    """Fill a folder as results/: two trials of every job and both maps, or of some jobs and no maps."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("paper.json", "tasks.json"):
        shutil.copy(ROOT / "results" / name, folder / name)
    folders = Folders(folder / "runs", folder / "runs", "cuda")
    folders.results.mkdir()
    for job in all_jobs():
        if job.trial < 2 and fnmatch(job.name, only):
            ready = with_budget(job, folders)
            assert ready is not None  # the runs of TAM come first
            folders.result_file(ready).write_text(json_text(result_of(ready, folders.device)))
    for method in ("tam", "multitask") if only == "*" else ():
        (folder / f"embeddings-{method}.json").write_text(json_text(embedding_map(method)))
    return folder


def result_of(job: Job, device: str) -> dict[str, Any]:
    """What the result file of a job says."""
    config = job.config(device)
    steps = 0 if job.method == "nearest" else min(STEPS, config.training.steps)
    if job.seconds is not None and config.training.steps > STEPS:
        config = config.override(steps=STEPS, validate_every=STEPS // 5)
    quality = _SKILL.get(job.method, 0.45) - 0.02 * (job.seed + job.tasks.get("holdout", 0))
    classes = job.options["name"] == "classification"
    curve = [
        {
            "step": step,
            "seconds": step * 0.05,
            "scores": {str(k): _score(quality * share, k) for k in config.protocol.shots},
        }
        for step, share in ((steps * part // 5, 1 - 0.5**part) for part in range(1, 6))
    ]
    shots = config.protocol.shots
    timed = config.device != "cpu" and steps
    return {
        "method": job.method,
        **versions(job),
        "kind": "classification" if classes else "transduction",
        "tasks": job.options,
        "config": config.to_json(),
        "scores": [{"k": k, **_score(quality, k), "steps": 5, "rate": 0.1, "tasks": 64} for k in shots],
        "best_steps": {str(k): steps for k in shots} if steps else {},
        "device": "a made-up device",
        "finished": "2026-11-16T17:49:20Z",
        "commit": "0123456789ab",
        "code": "ba9876543210",
        "group": job.group,
        "budget_seconds": job.seconds,
        "steps": steps,
        "step_ms": STEP_MS if timed else None,
        "gpu_seconds": steps * STEP_MS / 1000 if timed else None,
        "first_step_seconds": 8.5,
        "seconds_to_paper": 33.3,
        "curve": curve if steps else [],
    }


def _score(quality: float, k: int) -> dict[str, Any]:
    learned = quality * (1 - math.exp(-(k + 2) / 5))
    return {
        "accuracy": round(0.25 + 0.75 * learned, 4),
        "accuracy_interval": 0.021,
        "perplexity": round(12 ** (1 - learned), 4),
        "perplexity_interval": 0.05,
    }


def embedding_map(method: str) -> dict[str, Any]:
    """A map of all ends but the start, (4, 4), on a bent grid."""
    return {
        "method": method,
        "name": f"{method}-table1-pathfinding-0",
        "points": [
            {"row": row, "column": column, "x": column + 0.3 * math.sin(row), "y": row + 0.05 * column**2}
            for row, column in product(range(10), range(10))
            if (row, column) != (4, 4)
        ],
        "explained_variance": [0.41, 0.32],
        "r2": {"row": 0.97, "column": 0.93},
    }

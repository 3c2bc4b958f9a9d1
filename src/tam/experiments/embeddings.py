"""The paper's map of task embeddings: path-finding from (4,4) to all other cells, from 20 examples each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tam.errors import UserError
from tam.experiments.job import Job
from tam.experiments.projection import held_out_r2
from tam.experiments.results import HEX_DIGITS, Folders, Result, Status, mismatch, result_of
from tam.io import exists, read_json
from tam.learner.learner import Learner, load
from tam.learner.task_embedding import TaskEmbedding
from tam.methods import weights
from tam.pretrained import folder_of
from tam.pretrained.card import read_card
from tam.provenance import now, provenance
from tam.store.index import principal_components
from tam.tasks.benchmark import VERSION, BenchmarkOptions, draw_recipes
from tam.tasks.pathfinding import CELLS, SIDE, PathfindingFamily
from tam.tasks.rng import Rng
from tam.tasks.task import Example, Floats, Task
from tam.training.checkpoint import write_json
from tam.training.run import load_tasks, read_result

FROM = 4 * SIDE + 4
EXAMPLES = 20
SEARCHES = 2
"""Searches per task. Scores of `best` use eight, but a map shows a single point."""


def embedding_map(
    folder: Path,
    result: Mapping[str, Any],
    device: str = "cpu",
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Map the task embeddings of a finished run on path-finding; return JSON values.

    The trained model is in `folder`. A point has the row and column of a task's end, its embedding on two
    principal components (x, y), and whether the model was trained on that task. `r2` measures how well a
    linear map of the embeddings predicts row and column of held-out tasks.
    """
    source = result["tasks"]
    if source.get("name") != "pathfinding" or source.get("compositional"):
        raise UserError(f"{folder}: must be a run on pathfinding, not compositional: got {source}")
    if load_tasks(source).fingerprint != result["fingerprint"]:
        raise UserError(f"{folder}: the run must have the tasks that this version of tam generates")
    learner, family = load(folder, device), PathfindingFamily(waypoint=False)
    ends = [end for end in range(CELLS) if end != FROM]
    learned = _learn(learner, family, ends, report)
    z = np.stack([_point(learner, one) for one in learned]).astype(np.float64)
    recipes = draw_recipes(family, BenchmarkOptions(**source))["train"]
    trained = {end for start, end in recipes if start == FROM}
    places, explained = principal_components(z)
    order = Rng("embedding map", "held out").permutation(len(ends))
    rows, columns = np.divmod(np.array(ends, dtype=np.float64), SIDE)
    points = [
        {"row": end // SIDE, "column": end % SIDE, "x": float(x), "y": float(y), "trained": end in trained}
        for end, (x, y) in zip(ends, places, strict=True)
    ]
    return {
        "method": result["method"],
        "start": list(divmod(FROM, SIDE)),
        "shots": EXAMPLES,
        "numbers": z.shape[1],
        "explained_variance": list(explained),
        "r2": {"row": held_out_r2(z, rows, order), "column": held_out_r2(z, columns, order)},
        "loss": float(np.mean([one.loss for one in learned])),
        "points": points,
        "run": {name: result[name] for name in ("config", "tasks", "fingerprint", "version", "finished")},
        "finished": now(),
        **provenance(),
    }


def _learn(
    learner: Learner, family: PathfindingFamily, ends: Sequence[int], report: Callable[[str], None]
) -> list[TaskEmbedding]:
    """Learn the tasks of the map, a tenth at a time."""
    learned = list[TaskEmbedding]()
    for chunk in np.array_split(ends, SIDE):
        examples = (_examples(family, int(end)) for end in chunk)
        learned += learner.adapt_many(examples, searches=SEARCHES)
        report(f"{len(learned)} of {len(ends)} tasks are learned")
    return learned


def _examples(family: PathfindingFamily, end: int) -> list[Example]:
    """Draw the examples from which a task of the map is learned."""
    recipe = (FROM, end)
    x, y = family.examples(recipe, EXAMPLES, Rng("embedding map", end))
    return list(Task(family.title(recipe), family.vocabulary, x, y))


def _point(learner: Learner, rule: TaskEmbedding) -> Floats:
    """The task embedding z alone, even if the other weights were fine-tuned too."""
    if len(rule.point) == learner.model_.task_size:
        return rule.point.astype(np.float64)
    return weights.from_rows(learner.model_, torch.from_numpy(rule.vector)[None])["z"][0].double().numpy()


class EmbeddingMaps:
    """The published maps, `embeddings-METHOD.json` in `folder`, and the trained models behind them."""

    def __init__(self, folders: Folders, folder: Path) -> None:
        self._folders, self._folder = folders, folder

    def status(self, job: Job) -> Status:
        """Whether the map of a job exists, or at least the trained model to make it from."""
        if self._is_made(job) or self._trained(job) is not None:
            return Status(True)
        return Status(False, "its trained model is missing")

    def _trained(self, job: Job) -> tuple[Path, Result] | None:
        """The folder with a job's trained model, and the result of its run; None if there is none.

        The model is either in the folder of the run, or the pretrained model that was packed from it.
        """
        for folder in sorted(self._folders.runs.glob(f"{job.name}-{HEX_DIGITS}")):
            result = read_result(folder) if exists(folder / "learner.json") else None
            if result and self._is_of(job, result):
                return folder, result
        packed, result = folder_of("pathfinding"), result_of(job, self._folders)
        if result and result["scores"] == read_card(packed)["scores"]["run"]:
            return packed, result
        return None

    def make(self, jobs: Iterable[Job]) -> Iterator[str]:
        """Make the missing maps of these jobs, and yield a line on each map."""
        device = self._folders.device if torch.cuda.is_available() else "cpu"
        for job in jobs:
            file = self._file(job)
            if not self._is_made(job):
                if (trained := self._trained(job)) is None:
                    yield f"{file}: skipped: there is no finished run {job.name} in {self._folders.runs}"
                    continue
                self._folder.mkdir(parents=True, exist_ok=True)
                write_json(
                    file, {"name": job.name, **embedding_map(*trained, device, partial(print, flush=True))}
                )
            yield f"{file}: {_words(read_json(file))}"

    def _file(self, job: Job) -> Path:
        return self._folder / f"embeddings-{job.method}.json"

    def _is_made(self, job: Job) -> bool:
        file = self._file(job)
        made = read_json(file) if exists(file) else {}
        return made.get("name") == job.name and self._is_of(job, made["run"])

    def _is_of(self, job: Job, run: Mapping[str, Any]) -> bool:
        """Whether a run belongs to a job; its folder does not record version and budget, so assume them."""
        assumed = {"benchmark_version": VERSION, "budget_seconds": job.seconds}
        return mismatch(job, assumed | dict(run), self._folders.device) is None


def _words(made: Mapping[str, Any]) -> str:
    first, second = made["explained_variance"]
    row, column = made["r2"]["row"], made["r2"]["column"]
    return (
        f"{len(made['points'])} tasks; two components explain {first + second:.0%} of the variance; "
        f"R² of the end's row {row:.2f}, of its column {column:.2f}"
    )

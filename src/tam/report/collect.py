"""Read the published results. No other module of the report knows the names of their files."""

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from tam.errors import UserError
from tam.experiments.jobs import MAPPED, all_jobs, levers, on_a_cpu, stem
from tam.experiments.results import Folders, result_of
from tam.experiments.timing import Timed, timed
from tam.io import exists, read_json
from tam.report.compare import Estimate, Verdict, estimate, verdict
from tam.report.curve import TITLES
from tam.report.words import SCALE, capitalised, number

BENCHMARK_TITLES = {
    "classification": "Classification",
    "transduction": "Transduction",
    "pathfinding": "Path-finding",
}
LEVERS = {lever.name: lever.title for lever in levers("pathfinding")}
SWEEPS = {
    "T": ("T, inner steps", ("settings", "inner_steps")),
    "N": ("N, examples of a task", ("training", "rows")),
    "tasks": ("training tasks", ("tasks", "train")),
}
"""For each sweep, the label of its axis, and the path of the swept setting in a run's result."""

_ON_A_CPU = {
    "tam-adapter": "z as the weights of adapters",
    "tam-norm": "z in the layer norms",
    "tam-lstm": "LSTM in place of the transformer",
    "multitask": "multitask training",
    "multitask-lstm": "multitask training, LSTM",
    **{
        f"tam-{moved}-{name}": f"{moved} {title}"
        for moved in ("without", "with")
        for name, title in LEVERS.items()
    },
}
_COUNTED = {"T": "T = {} inner steps", "N": "N = {} examples of a task", "tasks": "{} training tasks"}
"""The titles of runs on a CPU, by the beginning of their names."""

Facts = dict[str, Any]
_Row = tuple[str, str, str | None]
"""The name of a method in the names of runs, its title, and its name in the paper's table, if any."""

ROWS: dict[str, list[_Row]] = {
    "table1": [
        *((method, capitalised(title), method) for method, title in TITLES.items()),
        ("maml-first", "MAML, first order", None),
        ("cavia-first", "CAVIA, first order", None),
    ],
    "table2": [
        *(
            (method, capitalised(TITLES[method]), method)
            for method in ("multitask", "matching", "snail", "cavia", "tam")
        ),
        ("tam-untold", "TAM without primitives", "tam without primitives"),
    ],
}
"""The rows of the paper's tables and ours."""

ABLATIONS = {
    "Where the task embedding enters": {
        "Input token": ("tam-token-ablation", "transformer", "tam"),
        "Adapters": ("tam-adapter-ablation", "adapter", "tam"),
        "Layer norm": ("tam-norm-ablation", "norm", "tam"),
    },
    "LSTM and transformer": {
        "LSTM, multitask": ("multitask-lstm-architecture", "lstm", "multitask"),
        "LSTM, TAM": ("tam-lstm-architecture", "lstm", "tam"),
        "Transformer, multitask": ("multitask-table1", "transformer", "multitask"),
        "Transformer, TAM": ("tam-token-ablation", "transformer", "tam"),
    },
}
"""For each row of a table: the stem of our runs, and the keys of the paper's numbers in paper.json."""


class Results:
    """The paper's numbers, facts about the benchmarks, and the finished runs that still count."""

    def __init__(self, folder: Path) -> None:
        if not exists(folder / "paper.json"):
            raise UserError(
                f"{folder}: there are no published results here (no paper.json): give --results, the folder "
                "results/ of a checkout, or the folders of your own runs"
            )
        self.folder = folder
        self.paper = read_json(folder / "paper.json")
        self.tasks = read_json(folder / "tasks.json")
        self.shots: list[int] = self.paper["shots"]
        folders = Folders(folder / "runs", folder / "runs", "cuda")
        found = {job.name: result_of(job, folders) for job in all_jobs()}
        self.runs: dict[str, Facts] = {name: run for name, run in found.items() if run is not None}
        """The finished runs by the names of their jobs."""

    def task_set(self, name: str, compositional: bool = False) -> Facts:
        """The facts about a benchmark's task set."""
        return self.tasks["sets"][set_name(name, compositional)]

    def metric(self, name: str) -> str:
        """The metric of a benchmark, in both of its forms."""
        return self.task_set(name)["metric"]

    def ceiling(self, name: str, compositional: bool = False) -> dict[int, float]:
        """The best score that any learner could reach, for each k."""
        return {int(k): value for k, value in self.task_set(name, compositional)["ceiling"].items()}

    def paper_rows(self, name: str, compositional: bool = False) -> dict[str, Facts]:
        """The means and errors of the paper's methods on a benchmark, as printed."""
        return self.paper["compositional sets" if compositional else "sets"][name]

    def paper_estimates(self, name: str, compositional: bool = False) -> dict[str, dict[int, Estimate]]:
        """The estimates of the paper's methods on a benchmark for each k, in our units."""
        scale = SCALE[self.metric(name)]
        return {
            method: {
                k: Estimate(mean / scale, error / scale, 0)
                for k, mean, error in zip(self.shots, row["mean"], row["error"], strict=True)
            }
            for method, row in self.paper_rows(name, compositional).items()
        }

    def paper_scores(self, name: str, compositional: bool = False) -> dict[str, dict[int, float]]:
        """The means of the paper's methods on a benchmark for each k, in our units."""
        estimates = self.paper_estimates(name, compositional)
        return {method: {k: one.mean for k, one in row.items()} for method, row in estimates.items()}

    def paper_best(self, name: str, compositional: bool = False) -> dict[int, float]:
        """The best score of any method in the paper's table, for each k."""
        better = max if self.metric(name) == "accuracy" else min
        methods = self.paper_scores(name, compositional).values()
        return {k: better(scores[k] for scores in methods) for k in self.shots}

    def runs_of(self, stem: str) -> list[Facts]:
        """The runs named `STEM-0`, or `STEM-k5-0` for one k, with every seed or hold-out."""
        name = re.compile(rf"{re.escape(stem)}(?:-k(\d+))?-(h?\d+)")
        found = [(match, run) for job, run in self.runs.items() if (match := name.fullmatch(job))]
        return [run for _, run in sorted(found, key=lambda one: (one[0][2], int(one[0][1] or 0)))]

    def headline(self, name: str) -> list[Facts]:
        """The runs of our best settings for TAM on a benchmark."""
        return self.runs_of(f"tam-best-{name}")

    def moved_levers(self, name: str) -> dict[str, list[Facts]]:
        """The runs of our best settings with one lever moved, by the title of the change."""
        found = {
            f"{moved} {title}": self.runs_of(f"tam-{moved}-{lever}-{name}")
            for lever, title in LEVERS.items()
            for moved in ("without", "with")
        }
        return {title: runs for title, runs in found.items() if runs}

    def short(self, name: str) -> list[Facts]:
        """The run of our best settings for TAM with the budget of the levers."""
        return self.runs_of(f"tam-base-levers-{name}")

    def quick(self) -> list[Facts]:
        """The runs of the preset `quick`."""
        return self.runs_of("tam-quick-classification")

    def changed_on_a_cpu(self) -> dict[str, list[Facts]]:
        """The runs of the preset `quick` with one change, by the title of the change."""
        found: dict[str, list[Facts]] = {}
        for job in on_a_cpu():
            model, changed, _ = job.name.partition("-cpu-classification-")
            if changed and job.name in self.runs:
                found[_title_on_a_cpu(model)] = [self.runs[job.name]]
        return found

    @property
    def reproductions(self) -> dict[str, Facts]:
        """The runs of the preset `paper`, by benchmark."""
        return {name: run for name in BENCHMARK_TITLES for run in self.runs_of(f"tam-paper-{name}")}

    def sweep(self, name: str, what: str) -> dict[int, list[Facts]]:
        """The runs of a sweep on a benchmark, by the value of the swept setting."""
        section, setting = SWEEPS[what][1]
        found: dict[int, list[Facts]] = {}
        for job, run in self.runs.items():
            if re.fullmatch(rf"tam-(?:base-levers|{what}\d+-sweeps)-{name}-\d+", job):
                facts = run["tasks"] if section == "tasks" else run["config"][section]
                found.setdefault(facts[setting], []).append(run)
        return dict(sorted(found.items()))

    @cached_property
    def embeddings(self) -> dict[str, Facts]:
        """The existing maps of task embeddings, by method."""
        files = {method: self.folder / f"embeddings-{method}.json" for method in MAPPED}
        return {method: read_json(file) for method, file in files.items() if exists(file)}

    @cached_property
    def timing(self) -> dict[tuple[str, str], Timed]:
        """The time and quality of the best model in Table 1, by method and benchmark."""
        return {(row.model, row.benchmark): row for row in timed(self.runs)}

    def verdicts(self, table: str) -> Iterator[tuple[str, str, int, Verdict]]:
        """For each cell of one of the paper's tables: benchmark, method, k, and how ours compares."""
        for name in BENCHMARK_TITLES:
            metric, paper = self.metric(name), self.paper_estimates(name, table == "table2")
            for what, title, in_paper in ROWS[table]:
                if in_paper in paper:
                    ours = estimates_of(self.runs_of(stem(what, table, name)), metric)
                    for k in self.shots:
                        yield name, title, k, verdict(metric, ours.get(k), paper[in_paper][k])

    def headline_verdicts(self) -> list[Verdict]:
        """TAM with our best settings against the paper's TAM, for each benchmark and k."""
        return [found for _, title, _, found in self.verdicts("table1") if title == "TAM"]


def estimates_of(runs: Sequence[Facts], metric: str) -> dict[int, Estimate]:
    """The mean and error over runs at each k."""
    scores: dict[int, list[Facts]] = {}
    for run in runs:
        for one in run["scores"]:
            scores.setdefault(one["k"], []).append(one)
    return {k: estimate(metric, found) for k, found in scores.items()}


def _title_on_a_cpu(model: str) -> str:
    if counted := re.fullmatch(r"tam-(T|N|tasks)(\d+)", model):
        return _COUNTED[counted[1]].format(counted[2])
    return _ON_A_CPU[model]


def time_to_quality_rows(results: Results) -> tuple[list[str], list[list[str]]]:
    """Times from process start until TAM validates as well as the paper's: the table's head and rows."""
    rows = []
    for name, title in BENCHMARK_TITLES.items():
        runs, best = results.runs_of(f"tam-time-{name}"), results.headline(name)
        timed = ["–", "–"]
        for run in runs[:1]:
            reached = run["seconds_to_paper"]
            first = f"{run['first_step_seconds']:.1f} s"
            timed = ["not reached" if reached is None else f"{reached:.0f} s", first]
        steps = [run["step_ms"] for run in best or runs if run["step_ms"]]
        step = [f"{fmean(steps):.2f} ms", number(round(1000 / fmean(steps)))] if steps else ["–", "–"]
        if runs or best:
            rows.append([title, f"{results.paper['hours'][name]:g} h", *timed, *step])
    head = ["", "the paper's TAM", "ours", "until the first step", "an outer step", "steps a second"]
    return head, rows


def reproduce_command(group: str, only: str | None = None) -> str:
    """The command that reproduces an experiment, or only some of its jobs."""
    return shlex.join(["tam", "reproduce", group, *(["--only", only] if only else [])])


def set_name(name: str, compositional: bool) -> str:
    """The key of a benchmark's task set in results/tasks.json and reference.json."""
    return f"{name} compositional" if compositional else name

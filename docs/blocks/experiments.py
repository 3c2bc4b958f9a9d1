"""The experiments of `tam reproduce`: their purposes and numbers of runs."""

from blocks.results import Results
from blocks.words import NOT_RUN, table
from tam.experiments.jobs import EXPERIMENTS


def experiments(_: Results) -> str:
    """Table of experiments, with the numbers of their own and shared runs, and their GPU-seconds."""
    rows = []
    for name, experiment in EXPERIMENTS.items():
        jobs = list(experiment.jobs())
        own = sum(job.group == name for job in jobs)
        others = dict.fromkeys(f"`{job.group}`" for job in jobs if job.group != name)
        shared = f"{len(jobs) - own} of {' and '.join(others)}" if others else ""
        budgets = [f"{one:g}" for one in sorted({job.seconds for job in jobs if job.seconds is not None})]
        budgets += ["as `best`"] if any(job.seconds_of for job in jobs) else []
        runs = " + ".join(filter(None, [str(own) if own else "", shared]))
        rows.append([f"`{name}`", experiment.about, runs, " or ".join(budgets)])
    return table(["", "", "runs", "GPU-seconds each"], rows, left=(0, 1))


def sharing(results: Results) -> str:
    """Table of training per second of GPU, by the number of runs that share it; without interrupted runs."""
    by_count: dict[int, list[float]] = {}
    for run in results.runs.values():
        if run.get("gpu_seconds") and run["processes"] == 1:
            by_count.setdefault(run["at_once"], []).append(
                run["gpu_seconds"] * run["at_once"] / run["wall_seconds"]
            )
    rows = []
    for at_once, gains in sorted(by_count.items()):
        shown = dict.fromkeys(f"{gain:.2f}" for gain in (min(gains), max(gains)))
        rows.append([str(at_once), str(len(gains)), " to ".join(shown)])
    head = ["runs at once", "finished runs", "GPU-seconds of training per second of the machine"]
    return table(head, rows) if rows else NOT_RUN

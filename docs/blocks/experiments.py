"""The experiments of `tam reproduce`: what they are, and how many runs they have."""

from blocks.results import Results
from blocks.table import table
from tam.experiments.jobs import EXPERIMENTS


def experiments(_: Results) -> str:
    """Every experiment with its runs, those of others apart, and their GPU-seconds."""
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

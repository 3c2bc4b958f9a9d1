"""The server under load, and the time to find the nearest stored tasks."""

from blocks.results import Results
from blocks.words import table
from tam.report.collect import Facts
from tam.report.words import number


def load(results: Results) -> str:
    """Table of both servers, with each model."""
    facts = results.serve
    rows: list[list[str]] = []
    for name, compared in facts["models"].items():
        for place, (server, one) in enumerate(compared["servers"].items()):
            many = f"**{compared['ratio']:.1f}×**" if place == 0 else ""
            rows.append([_model(name, compared) if place == 0 else "", server, *_measured(one), many])
    head = ["model", "server", "rows per second", "p50, ms", "p99, ms"]
    head += ["requests", "errors", "seconds", "faster by"]
    usual = facts["models"]["pretrained"]
    machine = f"{facts['cpu']}, partly used by other processes: load {facts['load_at_start']:g} before"
    return (
        f"{table(head, rows, left=(0, 1))}\n\n"
        f"{facts['clients']} clients, {number(facts['tasks'])} stored tasks, torch {facts['torch']} with one "
        f"thread; servers and clients share two cores of {machine} and {facts['load']:g} at the end. "
        f"Requests have {usual['servers']['tam serve']['rows_a_request']} rows unless stated; "
        f"must be {usual['must']}× faster."
    )


def nearest(results: Results) -> str:
    """The time to find the nearest of many stored tasks."""
    facts = results.serve["nearest"]
    missed = "" if facts["ms"] < facts["must_ms"] else ", **not met**"
    return (
        f"Finding the nearest of {number(facts['tasks'])} tasks with {facts['numbers']} numbers each takes "
        f"{facts['ms']:.1f} ms, {facts['computing_ms']:.1f} ms of it CPU time (one core of "
        f"{facts['cpu']}, load {facts['load']:g}; must be under {facts['must_ms']} ms{missed}). The first "
        f"query takes {facts['first_ms'] / 1e3:.1f} s, since it reads the tasks into memory. "
        "`python benchmarks/serve.py` measures this."
    )


def _model(name: str, compared: Facts) -> str:
    if name == "pretrained":
        return f"`{compared['model']}`, pretrained"
    return f"{compared['model']['layers']} layers × {compared['model']['width']}"


def _measured(one: Facts) -> list[str]:
    times = (number(round(one[key])) for key in ("rows_a_second", "p50_ms", "p99_ms"))
    return [*times, number(one["requests"]), str(one["errors"]), f"{one['seconds']:.0f}"]

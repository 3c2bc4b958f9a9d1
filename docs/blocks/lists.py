"""The list functions: scores with and without a prior, beside the floors."""

from blocks.results import Facts, Results
from blocks.table import table
from tam.io import read_json
from tam.report.words import number


def scores(results: Results) -> str:
    """Table of the exact matches of all runs and floors, and the commands."""
    files = sorted((results.folder / "own").glob("list_functions-*.json"))
    if not files:
        return "Not run yet."
    runs = sorted((read_json(file) for file in files), key=lambda run: run["scores"][0]["accuracy"])
    floors = [[name, "", "", "", _percent(one[0])] for name, one in runs[0]["floors"]["test"].items()]
    head = ["", "generated tasks", "seconds", "on", "exact match"]
    commands = "\n".join(run["command"] for run in runs)
    return f"{table(head, [*floors, *map(_row, runs)])}\n\n```bash\n{commands}\n```"


def _row(run: Facts) -> list[str]:
    prior = run["tasks"].get("prior", {}).get("tasks", 0)
    device = f"a CPU, one thread, load {run['load']:g}" if run["config"]["device"] == "cpu" else run["device"]
    return [
        f"**{_title(run)}**",
        number(prior) if prior else "none",
        f"{run['seconds']:.0f}",
        device,
        f"**{_percent(run['scores'][0])}**",
    ]


def _title(run: Facts) -> str:
    network = run["config"]["network"]
    hints = ", with hints" if network.get("hints") else ""
    programs = f" from {number(network['programs'])} programs" if hints and network.get("programs") else ""
    return f"{run['method']}{hints}{programs}{'' if run['config']['training']['steps'] else ', untrained'}"


def _percent(score: Facts) -> str:
    return f"{score['accuracy']:.1%} ± {score['accuracy_interval']:.1%}"

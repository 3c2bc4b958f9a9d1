"""Runs on real data, from results/own."""

from blocks.results import Results
from blocks.words import table
from tam.io import read_json
from tam.report.collect import Facts
from tam.report.words import k_heads, number

_SETS = {
    "inflection": "[inflection of words](https://github.com/sigmorphon/conll2018), 46 languages",
    "banking77_binary": "[customers' requests](https://github.com/PolyAI-LDN/task-specific-datasets), "
    "one intent against the rest",
}
"""The names of files in results/own, each the result.json of a run, with the titles of their data."""
_SPLITS = {"test_unseen_tag": "new forms", "test_unseen_language": "new languages", "test": "new intents"}


def own_data(results: Results) -> str:
    """Table of the share of right answers of each run and of the best floor at each k."""
    rows: list[list[str]] = []
    shots: list[int] = []
    for name, title in _SETS.items():
        result = read_json(results.folder / "own" / f"{name}.json")
        shots = [one["k"] for one in result["scores"]]
        for split, scores in (result.get("splits") or {"test": result["scores"]}).items():
            gains = result["gains"][split]
            floors = [_floor(result, split, gain) for gain in gains]
            rows.append([title, _SPLITS[split], "best floor", *(f"{floor:.1%}" for floor in floors)])
            bold = ("**" if gain["difference"] > gain["interval"] else "" for gain in gains)
            cells = (f"{mark}{one['accuracy']:.1%}{mark}" for mark, one in zip(bold, scores, strict=True))
            rows.append(["", "", f"`{result['method']}`", *cells])
            title = ""
    return table(["data", "tasks", "", *k_heads(shots)], rows, left=(0, 1, 2))


def _floor(result: Facts, split: str, gain: Facts) -> float:
    """The accuracy of the best floor."""
    scores = result["floors"][split][gain["floor"]]
    return next(one["accuracy"] for one in scores if one["k"] == gain["k"])


def commands(results: Results) -> str:
    """The commands that made the runs."""
    lines = []
    for name in _SETS:
        result = read_json(results.folder / "own" / f"{name}.json")
        lines += [f"# {result['seconds'] / 60:.0f} minutes on a CPU", result["command"]]
    return "\n".join(["```bash", *lines, "```"])


def list_functions(results: Results) -> str:
    """Table of the exact matches of all runs and floors on list functions, and the commands."""
    files = sorted((results.folder / "own").glob("list_functions-*.json"))
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

"""Write what the documentation shows but nobody types: its figures, and its numbers from results/.

Run `make pages`. What README.md and the pages of docs/ have between `<!-- begin: NAME -->` and
`<!-- end: NAME -->` is replaced by the block of that name. With --check nothing is written: files that are
out of date are listed, and the exit code is 1 if there are any.
"""

import argparse
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tam.report.curve import TITLES as METHODS
from tam.report.figures import FIGURES
from tam.report.scaling import TITLES
from tam.report.scaling import draw as draw_scaling

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = {
    "classification": "Classification",
    "transduction": "Transduction",
    "pathfinding": "Path-finding",
}

RUNS = {
    "long": "tuned settings, longer",
    "best": "preset `best`",
    "paper": "preset `paper`",
    "quick": "preset `quick`",
}
"""The runs of TAM on plain benchmarks that are shown beside the paper's TAM."""

Facts = dict[str, Any]


class Results:
    """The files under results/ that the documentation quotes."""

    def __init__(self, folder: Path) -> None:
        self.tasks: Facts = json.loads((folder / "tasks.json").read_text())
        choices = folder / "choices.json"
        self.choices: Facts | None = json.loads(choices.read_text()) if choices.exists() else None
        limits = folder / "limits.json"
        self.limits: Facts | None = json.loads(limits.read_text()) if limits.exists() else None
        self.gpu: Facts = json.loads((folder / "gpu.json").read_text())
        self.memory: Facts = json.loads((folder / "memory.json").read_text())
        self.paper: Facts = json.loads((folder / "paper.json").read_text())
        self.peers: Facts = json.loads((folder / "peers.json").read_text())
        self.scaling: Facts = json.loads((folder / "scaling.json").read_text())
        self.runs = self._folder(folder / "runs")
        self.tuning = self._folder(folder / "tuning")

    @staticmethod
    def _folder(folder: Path) -> dict[str, Facts]:
        return {file.stem: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))}

    def set(self, name: str, compositional: bool = False) -> Facts:
        """The facts of a task set."""
        return self.tasks["sets"][f"{name} compositional" if compositional else name]

    def by_shots(self, method: str, kind: str, name: str, more: str = "") -> dict[int, Facts]:
        """For each k the run of a method and a kind on a benchmark (seed 0) that scores it, with `kind`."""
        stem = f"{method}-{kind}-{name}{more}"
        found: dict[int, Facts] = {}
        for file, run in self.runs.items():
            if re.fullmatch(rf"{stem}(-k\d+)?-0", file):
                run: Facts = {**run, "kind": kind}
                for one in run["scores"]:
                    if one["k"] in found:
                        raise ValueError(f"two runs {stem} have a score at k = {one['k']}")
                    found[one["k"]] = run
        return dict(sorted(found.items()))

    def method_runs(self, method: str, name: str) -> dict[int, Facts]:
        """For each k the run of a method on a plain benchmark: the tuned one, else one by the preset best."""
        found = self.by_shots(method, "best", name) | self.by_shots(method, "tuned", name)
        return dict(sorted(found.items()))

    def best(self, name: str, compositional: bool) -> dict[int, float]:
        """The best that any method has in the paper's table, for each k."""
        methods = self.paper["compositional sets" if compositional else "sets"][name].values()
        better = max if name == "classification" else min
        means = zip(*(method["mean"] for method in methods), strict=True)
        scores = dict(zip(self.paper["shots"], map(better, means), strict=True))
        return {k: score / 100 for k, score in scores.items()} if name == "classification" else scores


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, all columns but the first to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def number(value: int) -> str:
    """An integer with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def span(values: Sequence[int]) -> str:
    """The smallest and the largest of some integers."""
    low, high = min(values), max(values)
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def score(facts: Facts, value: float) -> str:
    """An accuracy or a perplexity."""
    return f"{value:.1%}".replace("%", " %") if facts["metric"] == "accuracy" else f"{value:.2f}"


def ceilings(results: Results, compositional: bool, shots: Sequence[int]) -> str:
    """The paper's best beside the ceiling."""
    rows = []
    for name, title in BENCHMARKS.items():
        facts, best = results.set(name, compositional), results.best(name, compositional)
        printed = [score(facts, best[k]) if k in best else "" for k in shots]
        rows.append([f"{title}, {facts['metric']}", "the paper's best", *printed])
        rows.append(["", "ceiling", *(f"**{score(facts, facts['ceiling'][str(k)])}**" for k in shots)])
    return table(["", "", *(f"k = {k}" for k in shots)], rows).replace("---: |", "--- |", 1)


def sizes(results: Results) -> str:
    """How large the six sets are."""
    rows = []
    for compositional in (False, True):
        for name, title in BENCHMARKS.items():
            facts = results.set(name, compositional)
            tasks = " / ".join(number(count) for count in facts["tasks"].values())
            examples = " / ".join(number(count) for count in facts["examples"].values())
            form = f"{title}, compositional" if compositional else title
            rows.append([form, tasks, examples, number(facts["tokens"])])
    return table(["", "train / valid / test tasks", "examples in each", "tokens"], rows)


def classification_counts(results: Results) -> str:
    """How many classification tasks there are, for each n."""
    rows = []
    for family in results.tasks["classification_families"]:
        primitives = " · ".join(number(count) for count in family["primitives"])
        counts = (family[key] for key in ("choices", "choices_that_are_tasks", "different_tasks"))
        rows.append([str(family["n"]), f"same {family['same']}", primitives, *map(number, counts)])
    head = [
        "n",
        "two tasks are one with",
        "primitives",
        "choices",
        "with 4 outputs or more",
        "different tasks",
    ]
    return table(head, rows)


def family_counts(name: str) -> Callable[[Results], str]:
    """How many tasks transduction or path-finding has."""

    def sentence(results: Results) -> str:
        facts = results.set(name)
        *others, last = map(number, facts["primitives"])
        return (
            f"The slots have {', '.join(others)} and {last} primitives. That makes "
            f"{number(facts['choices'])} choices and {number(facts['different_tasks'])} different tasks."
        )

    return sentence


def waypoint_counts(results: Results) -> str:
    """How many tasks path-finding with a waypoint has."""
    facts = results.set("pathfinding", compositional=True)
    return f"There are {number(facts['different_tasks'])} tasks with a waypoint."


def smallest_class(results: Results) -> str:
    """That every class has enough inputs."""
    family = next(each for each in results.tasks["classification_families"] if each["n"] == 11)
    needed = -(-results.set("classification")["examples"]["test"] // 4)
    return (
        f"The rarest class of any task has {number(family['smallest_class'])} of the "
        f"{number(results.tasks['inputs'])} inputs; a test task needs {needed} of each class."
    )


def path_lengths(results: Results) -> str:
    """How long paths are."""
    plain, via = (results.set("pathfinding", form)["path_cells"] for form in (False, True))
    return (
        f"Paths have {plain['min']} to {plain['max']} cells, {plain['mean']:.1f} on average; "
        f"with a waypoint {via['min']} to {via['max']}, {via['mean']:.1f} on average."
    )


def training_tasks(results: Results) -> str:
    """How many training tasks there are to draw from, in each hold-out."""
    sets = [results.set(name, compositional=True)["holdouts"] for name in BENCHMARKS]
    rows = []
    for holdout, small in enumerate(results.tasks["classification_n11_holdouts"]):
        rows.append([str(holdout), number(small), *(number(each[holdout]["train"]) for each in sets)])
    return table(["hold-out", "classification, n = 11", "n = 15", "transduction", "path-finding"], rows)


def test_tasks(results: Results) -> str:
    """How many tasks with an unseen primitive there are to draw from, in each hold-out."""
    sets = [results.set(name, compositional=True)["holdouts"] for name in BENCHMARKS]
    rows = []
    for holdout in range(len(sets[0])):
        counts = (each[holdout]["test_by_unseen_slot"] for each in sets)
        rows.append([str(holdout), *("\u00a0· ".join(map(number, slots)) for slots in counts)])
    return table(["hold-out", "classification, n = 15", "transduction", "path-finding"], rows)


def unseen(results: Results) -> str:
    """How many primitives are held out of each slot."""
    rows = []
    for name, title in BENCHMARKS.items():
        facts = results.set(name, compositional=True)
        pairs = zip(facts["unseen_primitives"], facts["primitives"], strict=True)
        rows.append([title, *(f"{held} of {number(of)}" for held, of in pairs)])
    return table(["unseen primitives", "slot 1", "slot 2", "slot 3"], rows)


def why_15(results: Results) -> str:
    """Why compositional classification has n = 15."""
    small = results.tasks["classification_n11_holdouts"]
    facts = results.set("classification", compositional=True)
    wanted = facts["tasks"]["train"]
    enough = sum(count >= wanted for count in small)
    return (
        f"With n = 11 the hold-outs leave {span(small)} different training tasks, and only {enough} of "
        f"{len(small)} reach {number(wanted)}. With n = {facts['options']['n']} they leave "
        f"{span([each['train'] for each in facts['holdouts']])}, and all do."
    )


def reference(results: Results) -> str:
    """What a run is shown beside, for the package: the paper's methods and the ceiling, as JSON."""
    found: dict[str, Facts] = {}
    for name in BENCHMARKS:
        scale = 100 if name == "classification" else 1
        for form, sets in (("", "sets"), (" compositional", "compositional sets")):
            paper = {
                method: {str(k): m / scale for k, m in zip(results.paper["shots"], row["mean"], strict=True)}
                for method, row in results.paper[sets][name].items()
            }
            found[name + form] = {"paper": paper, "ceiling": results.tasks["sets"][name + form]["ceiling"]}
    return json.dumps(found, indent=1) + "\n"


def run_words(run: Facts) -> tuple[str, str]:
    """What a run of TAM was, and how long it took where."""
    config = run["config"]
    network, settings, training = (config[part] for part in ("network", "settings", "training"))
    support = ", mixed supports" if settings["support"] == "mixed" else ""
    where = "CPU" if config["device"] == "cpu" else run["device"].removeprefix("NVIDIA ")
    what = f"{network['layers']} layers × {network['width']}, θ {settings['theta_update']}{support}"
    steps = f"{number(training['steps'])} outer steps at rate {training['rate']:g}"
    return f"{what}, {steps}", f"{duration(run['seconds'])}, {where}"


def preset_runs(results: Results, name: str) -> Iterator[tuple[str, Facts]]:
    """The runs of TAM on a benchmark that are shown beside the paper's TAM, with their kinds."""
    for kind in RUNS:
        for file, run in results.runs.items():
            if re.fullmatch(rf"tam-{kind}-{name}-\d+", file):
                yield kind, run


def beats(results: Results, name: str, run: Facts) -> dict[int, bool]:
    """The k at which a run is better than the paper's TAM as printed, and whether clearly.

    Clearly is by more than the paper's error bar and than our interval over tasks.
    """
    metric, paper = results.set(name)["metric"], results.paper["sets"][name]["tam"]
    scale, digits, sign = (100, 1, 1) if metric == "accuracy" else (1, 2, -1)
    printed = dict(zip(results.paper["shots"], zip(paper["mean"], paper["error"], strict=True), strict=True))
    found: dict[int, bool] = {}
    for one in run["scores"]:
        mean, error = printed[one["k"]]
        margin = round(sign * (round(scale * one[metric], digits) - mean), digits + 1)
        if margin > 0:
            found[one["k"]] = margin > max(error, scale * one[f"{metric}_interval"])
    return found


def runs(results: Results) -> str:
    """Runs of TAM beside the paper's, in bold where they are better."""
    rows = []
    for name, title in BENCHMARKS.items():
        facts, paper = results.set(name), results.paper["sets"][name]["tam"]
        accuracy = facts["metric"] == "accuracy"
        digits, unit = (1, " %") if accuracy else (2, "")
        means = [
            f"{as_printed(mean, digits)} ± {as_printed(error, digits)}{unit}"
            for mean, error in zip(paper["mean"], paper["error"], strict=True)
        ]
        rows.append([f"{title}, {facts['metric']}", "the paper's TAM", "", *means])
        for kind, run in preset_runs(results, name):
            what, time = run_words(run)
            shown = {one["k"]: score(facts, one[facts["metric"]]) for one in run["scores"]}
            shown |= {k: f"**{shown[k]}**" for k in beats(results, name, run)}
            rows.append(["", f"{RUNS[kind]}: {what}", time, *shown.values()])
    head = ["", "", "training time", *(f"k = {k}" for k in results.paper["shots"])]
    return table(head, rows).replace("---: | ---:", "--- | ---:", 1)


def listed(words: Sequence[str]) -> str:
    """Words with commas, and an "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def ahead(results: Results) -> str:
    """Where each kind of run of TAM is better than the paper's TAM."""
    found: dict[str, list[str]] = {kind: [] for kind in RUNS}
    tried: dict[str, list[str]] = {kind: [] for kind in RUNS}
    for name, title in BENCHMARKS.items():
        for kind, run in preset_runs(results, name):
            tried[kind].append(title.lower())
            if shots := beats(results, name, run):
                clear = [str(k) for k, clearly in shots.items() if clearly]
                words = f" (clearly at k = {listed(clear)})" if clear else ""
                found[kind].append(f"on {title.lower()} at k = {listed([str(k) for k in shots])}{words}")
    lines = [
        f"- {RUNS[kind][0].upper()}{RUNS[kind][1:]}: {listed(where) if where else 'nowhere'}"
        + (f" (run on {listed(tried[kind])} alone)." if len(tried[kind]) < len(BENCHMARKS) else ".")
        for kind, where in found.items()
        if tried[kind]
    ]
    clearly = (
        "Clearly is by more than the paper's error bar and than the 95 % interval of our score over the test "
        "tasks."
    )
    return "\n".join(["Better than the paper's TAM, in bold in the table:", "", *lines, "", clearly])


def intervals(results: Results) -> str:
    """How wide the intervals of those runs of TAM are."""
    rows = []
    for name, title in BENCHMARKS.items():
        facts = results.set(name)
        found: dict[int, list[float]] = {}
        for _, run in preset_runs(results, name):
            for one in run["scores"]:
                found.setdefault(one["k"], []).append(one[f"{facts['metric']}_interval"])
        widths = [" to ".join(f"± {score(facts, end(of))}" for end in (min, max)) for of in found.values()]
        rows.append([f"{title}, {facts['metric']}", *widths])
    return table(["", *(f"k = {k}" for k in results.paper["shots"])], rows)


def duration(seconds: float) -> str:
    """A time, in seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def as_printed(value: float, digits: int) -> str:
    """A number of the paper: with these digits, or with one more where it has it."""
    short = f"{value:.{digits}f}"
    return short if float(short) == value else f"{value:.{digits + 1}f}"


def step_words(found: Sequence[Facts]) -> str:
    """The training steps of some runs."""
    return "\u00a0· ".join(number(run["config"]["training"]["steps"]) for run in found) or "–"


def different(found: dict[int, Facts]) -> list[Facts]:
    """The runs behind the scores at each k, each once."""
    return list({id(run): run for run in found.values()}.values())


def training_words(found: Sequence[Facts]) -> list[str]:
    """Of the runs of a method its steps, their time, the supports of a test task, and whether tuned."""
    if not found:
        return ["–"] * 4
    tuned = [one["k"] for run in found if run["kind"] == "tuned" for one in run["scores"]]
    all_tuned = all(run["kind"] == "tuned" for run in found)
    said = "yes" if all_tuned else f"at k = {', '.join(map(str, tuned))}" if tuned else "no"
    supports = span([run["config"]["protocol"]["supports"] for run in found])
    if not any(run["config"]["training"]["steps"] for run in found):
        return ["none", "none", supports, said]
    times = [run["seconds"] for run in found]
    low, high = duration(min(times)), duration(max(times))
    time = low if low == high else f"{low.removesuffix(' min')} to {high}"
    return [step_words(found), time, supports, said]


def cells(
    results: Results, metric: str, found: dict[int, Facts], paper: Sequence[str] | None = None
) -> list[str]:
    """The scores at each k, with the paper's, as it is to be shown, in brackets."""
    scale, digits = (100, 1) if metric == "accuracy" else (1, 2)
    shown = []
    for place, k in enumerate(results.paper["shots"]):
        scores = {one["k"]: one[metric] for one in found[k]["scores"]} if k in found else {}
        ours = f"{scores[k] * scale:.{digits}f}" if scores else "–"
        shown.append(f"{ours}\u00a0({paper[place]})" if paper else ours)
    return shown


def method_cells(results: Results, sets: str, name: str, method: str, found: dict[int, Facts]) -> list[str]:
    """A method's scores at each k, and the paper's from one of its tables."""
    metric = results.set(name)["metric"]
    paper = results.paper[sets][name].get(method)
    means = [as_printed(mean, 1 if metric == "accuracy" else 2) for mean in paper["mean"]] if paper else None
    return cells(results, metric, found, means)


def method_row(results: Results, name: str, method: str) -> list[str] | None:
    """Ours and the paper's scores of a method on a benchmark; None if there are neither."""
    found = results.method_runs(method, name)
    if not found and method not in results.paper["sets"][name]:
        return None
    title = METHODS.get(method, method)
    link = f"[{title[0].upper()}{title[1:]}](methods/{method}.md)"
    return [
        link,
        *training_words(different(found)),
        *method_cells(results, "sets", name, method, found),
    ]


def headline(results: Results, name: str) -> str:
    """What a table of a benchmark with the paper's in brackets is headed by."""
    metric = results.set(name)["metric"]
    unit = " in %, higher is better" if metric == "accuracy" else ", lower is better"
    return f"**{BENCHMARKS[name]}**: {metric}{unit}; ours, and the paper's in brackets"


def methods(results: Results) -> str:
    """Every method on every benchmark, ours beside the paper's."""
    head = ["", "training steps", "time", "supports", "tuned", *(f"k = {k}" for k in results.paper["shots"])]
    parts = []
    for name in BENCHMARKS:
        known = dict.fromkeys([*METHODS, *(run["method"] for run in results.runs.values())])
        rows = [row for method in known if (row := method_row(results, name, method))]
        parts.append(f"{headline(results, name)}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def compositional(results: Results) -> str:
    """The methods on compositional tasks, ours beside the paper's."""
    untold = "tam without primitives"
    parts, steps = [], []
    for name in BENCHMARKS:
        rows = []
        for method in (*METHODS, untold):
            short, more = ("tam", "-untold") if method == untold else (method, "")
            found = results.by_shots(short, "compositional", name, more)
            if found or method in results.paper["compositional sets"][name]:
                steps += [run["config"]["training"]["steps"] for run in different(found)]
                title = METHODS[short] + method.removeprefix(short)
                scores = method_cells(results, "compositional sets", name, method, found)
                rows.append([f"{title[0].upper()}{title[1:]}", step_words(different(found)), *scores])
        head = ["", "training steps", *(f"k = {k}" for k in results.paper["shots"])]
        parts.append(f"{headline(results, name)}\n\n{table(head, rows)}")
    return "\n\n".join([*parts, f"They took {span(steps)} training steps."])


def ablations(results: Results) -> str:
    """Where the task embedding enters, and an LSTM, with TAM and with multitask training."""
    variants = {
        "transformer": "token, transformer",
        "adapter": "adapters, transformer",
        "norm": "layer norms, transformer",
        "lstm": "token, LSTM",
    }
    rows = []
    for variant, title in variants.items():
        for method in ("tam", "multitask"):
            found = (
                results.by_shots(method, "tuned", "classification")
                if variant == "transformer"
                else results.by_shots(method, "ablation", "classification", f"-{variant}")
            )
            printed = results.paper["ablations"][variant].get(method)
            paper = [f"{100 * mean:.0f}" for mean in printed] if printed else None
            first = title if method == "tam" else ""
            scores = cells(results, "accuracy", found, paper)
            rows.append([first, METHODS[method], step_words(different(found)), *scores])
    head = ["", "", "training steps", *(f"k = {k}" for k in results.paper["shots"])]
    return table(head, rows).replace("---: | ---:", "--- | ---:", 1)


def sweeps(results: Results) -> str:
    """TAM with other numbers of inner steps and of examples of a task in a step."""
    tuned = results.by_shots("tam", "tuned", "classification")
    rows = []
    for letter, section, setting in (("T", "settings", "inner_steps"), ("N", "training", "rows")):
        stem = re.compile(rf"tam-sweep-classification(-{letter}\d+)-0")
        names = [found[1] for file in results.runs if (found := stem.fullmatch(file))]
        sweep = [results.by_shots("tam", "sweep", "classification", name) for name in names]
        both = [(found, next(iter(found.values()))) for found in (tuned, *sweep)]
        for found, run in sorted(both, key=lambda one: one[1]["config"][section][setting]):
            asked, steps = run["gpu_seconds_asked"], run["config"]["training"]["steps"]
            counted = f"{1000 * asked / steps:.1f}"
            what = f"{letter} = {run['config'][section][setting]}"
            scores = cells(results, "accuracy", found)
            rows.append([what, number(steps), f"{asked:g}", counted, *scores])
    head = ["", "training steps", "seconds asked for", "ms counted for a step"]
    return table([*head, *(f"k = {k}" for k in results.paper["shots"])], rows)


def small(results: Results) -> str:
    """Ablations and sweeps of the preset quick, each of as many passes."""
    sizes = ("T1", "T5", "T25", "N16", "N32", "N128")
    titles = {size: f"{size[0]} = {size[1:]}" for size in sizes}
    titles |= {"adapter": "adapters", "norm": "layer norms", "lstm": "LSTM"}
    rows, intervals = [], []
    for method in ("tam", "multitask"):
        for what, title in ({"": "unchanged"} | titles).items():
            found = results.by_shots(method, "small", "classification", f"-{what}" if what else "")
            for run in different(found):
                intervals += [100 * one["accuracy_interval"] for one in run["scores"]]
                steps, time = number(run["config"]["training"]["steps"]), duration(run["seconds"])
                rows.append([METHODS[method], title, steps, time, *cells(results, "accuracy", found)])
    head = ["", "", "training steps", "time", *(f"k = {k}" for k in results.paper["shots"])]
    shown = table(head, rows).replace("---: | ---:", "--- | ---:", 1)
    return (
        f"{shown}\n\nThe 95 % intervals over test tasks are between ± {min(intervals):.1f} and "
        f"± {max(intervals):.1f} points."
    )


def budgets(results: Results) -> str:
    """The seconds that each kind of run was to have, the steps that came of them, and how wrong they are."""
    groups: dict[tuple[str, float], list[int]] = {}
    for file, run in results.runs.items():
        if "gpu_seconds_asked" in run:
            group = groups.setdefault((file.split("-")[1], run["gpu_seconds_asked"]), [])
            group.append(run["config"]["training"]["steps"])
    rows = [
        [f"`{kind}`", str(len(steps)), f"{asked:g}", span(steps)]
        for (kind, asked), steps in sorted(groups.items(), key=lambda one: (-one[0][1], one[0][0]))
    ]
    rows.append(["each candidate of tuning", *candidates(results)])
    shown = table(["runs", "how many", "seconds asked for", "training steps"], rows)
    return (
        f"{shown}\n\nCandidates of one method on one benchmark that differ in nothing but the rate have "
        f"steps of the same cost. Their times were counted as different by factors of up to "
        f"{max(same_step_ratios(results)):.1f}."
    )


def candidates(results: Results) -> list[str]:
    """How many candidates there were, the seconds that each was to have, and the steps that came of them."""
    found = [one for facts in results.tuning.values() for one in facts["candidates"] if "steps" in one]
    seconds = sorted({facts["seconds_each"] for facts in results.tuning.values()})
    return [
        str(len(found)),
        " and ".join(f"{one:g}" for one in seconds),
        span([one["steps"] for one in found]),
    ]


def same_step_ratios(results: Results) -> Iterator[float]:
    """By what factor the times counted for equal steps differ."""
    for facts in results.tuning.values():
        times: dict[str, list[float]] = {}
        for one in facts["candidates"]:
            if "ms" in one:
                rest = {name: value for name, value in one["values"].items() if name != "rate"}
                times.setdefault(json.dumps(rest, sort_keys=True), []).append(one["ms"])
        yield from (max(found) / min(found) for found in times.values())


def longer(results: Results) -> str:
    """Chosen candidates on validation tasks beside the longer runs with their settings on test tasks."""
    rows = []
    for method in ("agnostic", "multitask", "tam"):
        for name, title in BENCHMARKS.items():
            chosen = results.tuning[f"{method}-{name}"]["chosen"]
            (run,) = different(results.by_shots(method, "tuned", name))
            facts = results.set(name)
            scores = {one["k"]: one[facts["metric"]] for one in run["scores"]}
            mean = statistics.mean(scores[int(k)] for k in chosen["scores"])
            steps = number(chosen["steps"]), number(run["config"]["training"]["steps"])
            found = score(facts, chosen["score"]), score(facts, mean)
            first = f"{METHODS[method]}, {title.lower()}"
            rows.append([first, facts["metric"], steps[0], found[0], steps[1], found[1]])
    head = ["", "", "steps of the candidate", "validation tasks", "steps of the tuned run", "test tasks"]
    return table(head, rows).replace("---: | ---:", "--- | ---:", 1)


def tuning(results: Results) -> str:
    """What was tried of every method on every benchmark, and what was chosen."""
    rows = []
    for name, title in BENCHMARKS.items():
        of_name = [facts for facts in results.tuning.values() if facts["benchmark"] == name]
        order = list(METHODS)
        for facts in sorted(of_name, key=lambda one: order.index(one["method"])):
            metric = results.set(name)["metric"]
            scores = [
                "no number" if one.get("score") is None else score({"metric": metric}, one["score"])
                for one in facts["candidates"]
            ]
            place = facts["candidates"].index(facts["chosen"])
            scores[place] = f"**{scores[place]}**"
            steps = " · ".join(number(one["steps"]) if "steps" in one else "–" for one in facts["candidates"])
            values = ", ".join(f"`{key}` {value_words(v)}" for key, v in facts["chosen"]["values"].items())
            rows.append([title, METHODS[facts["method"]], " · ".join(scores), steps, values])
    seconds, devices = (
        " and ".join(sorted({words(facts) for facts in results.tuning.values()}))
        for words in (budget_words, lambda facts: facts["device"])
    )
    head = ["", "", "validation score of each candidate", "steps of each", "settings of the chosen one"]
    shown = table(head, rows).replace("---: | ---: | ---: | ---: |", "--- | ---: | ---: | --- |", 1)
    return f"{shown}\n\n{seconds} for each candidate; {devices}."


def budget_words(facts: Facts) -> str:
    """How long each candidate trained, and how that was counted."""
    return f"{facts['seconds_each']} seconds ({facts['counted']})"


def value_words(value: object) -> str:
    """The value of a setting."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def choices(results: Results) -> str:
    """What was tried on validation tasks."""
    facts = results.choices
    if facts is None:
        return "These trials are not finished: `results/choices.json` is not there yet."
    variants: dict[str, Facts] = facts["variants"]
    shots = sorted({int(k) for one in variants.values() for k in one["accuracy"]})
    rows = []
    for name, one in variants.items():
        scores = (f"{one['accuracy'][str(k)]:.1%}".replace("%", " %") for k in shots)
        rows.append([name, f"{one['place']:g}", number(one["steps"]), f"{one['loss']:.3f}", *scores])
    head = ["variant", "place", "outer steps", "training loss", *(f"accuracy, k = {k}" for k in shots)]
    return table(head, rows)


def limits(results: Results) -> str:
    """What limits each trained model: the parts of its loss and of its error on test tasks."""
    facts = results.limits
    if facts is None:
        return "These measurements are not made: `results/limits.json` is not there yet."
    parts = []
    for name, title in BENCHMARKS.items():
        metric = "error" if results.set(name)["metric"] == "accuracy" else "loss"
        rows = []
        of_name = [one for one in facts["models"] if one["tasks"]["name"] == name]
        for model in sorted(of_name, key=order_of):
            gaps = model["gaps"][metric]
            new = plus_minus(gaps["optimisation"]["new_inputs"])
            for place, (k, limit) in enumerate(model["limits"][metric].items()):
                found = gaps | {"few examples": gaps["few examples"][k]}
                total = facts["floor"] + sum(part["mean"] for part in found.values())
                optimisation, *others = (plus_minus(part) for part in found.values())
                first = run_words(model)[0] if place == 0 else ""
                shown = [f"{total:.3f}", optimisation, new, *others, limit_words(found, limit)]
                rows.append([first, f"k = {k}", *shown])
        if rows:
            head = ["", "", "test tasks", "optimisation", "of it new inputs"]
            shown = table([*head, "generalisation", "few examples", "largest"], rows)
            parts.append(f"**{title}**, {metric}\n\n{shown.replace('---: | ---:', '--- | ---:', 1)}")
    each = span([model["tasks_each"] for model in facts["models"]])
    chosen = [one["at_most"] for model in facts["models"] for one in model["chosen"].values()]
    return "\n\n".join(
        [
            *parts,
            f"{each} training and {each} test tasks; many are {facts['many']} examples of a task. In "
            f"{sum(chosen)} of {len(chosen)} choices of how many steps to learn a task by, the most of the "
            "grid were chosen.",
        ]
    )


def order_of(run: Facts) -> tuple[str, int]:
    """Runs of TAM with the same settings behind one another, longer ones later."""
    return run["config"]["settings"]["theta_update"], run["config"]["training"]["steps"]


def plus_minus(part: Facts) -> str:
    """A mean and half the width of its 95 % interval."""
    return f"{part['mean']:.3f} ± {part['interval']:.3f}"


def limit_words(gaps: Facts, largest: str) -> str:
    """The largest part, and those whose intervals reach its own."""
    lowest = gaps[largest]["mean"] - gaps[largest]["interval"]
    near = [name for name, part in gaps.items() if part["mean"] + part["interval"] >= lowest]
    return " or ".join([largest, *(name for name in near if name != largest)])


def gpu(results: Results) -> str:
    """What an outer step takes on a GPU."""
    facts = results.gpu
    rows = []
    order = list(BENCHMARKS)
    steps = sorted(
        facts["steps"], key=lambda one: (order.index(one["benchmark"]), one["kernels"], one["theta_update"])
    )
    for step in steps:
        plain = "" if step["kernels"] == "ours" else ", plain code"
        what = f"{BENCHMARKS[step['benchmark']]}, T = {step['inner_steps']}, θ {step['theta_update']}{plain}"
        rows.append(
            [
                what,
                f"{step['ms']:.1f}",
                f"{step['must_ms']:.0f}" if step["must_ms"] else "",
                f"{step['tflops']:.0f}",
                f"{step['tflops'] / facts['peak_tflops']:.0%}".replace("%", " %"),
                f"{step['gib']:.1f}",
            ]
        )
    head = ["outer step", "ms", "must be", "TFLOP/s", "of the peak", "GiB"]
    where = (
        f"{facts['device']}, torch {facts['torch']}, {facts['tasks']} tasks × {facts['rows']} examples, "
        f"bfloat16. The peak is that of one large product of matrices: {facts['peak_tflops']:.0f} TFLOP/s."
    )
    return f"{table(head, rows)}\n\n{where}"


def gpu_kernels(results: Results) -> str:
    """How far kernels and plain code are from float64."""
    rows = []
    for one in results.gpu["checks"]["kernels"]:
        shape = f"{one['rows']} × {one['length']} places{', causal' if one['causal'] else ''}"
        errors = ("output", "plain_output", "worst_gradient", "plain_worst_gradient")
        rows.append([shape, one["precision"], *(f"{one[name]:.1e}" for name in errors)])
    head = ["sequences", "precision", "output, kernels", "plain", "worst gradient, kernels", "plain"]
    return table(head, rows)


def gpu_checks(results: Results) -> str:
    """Whether captured and eager steps agree, and how short trainings end."""
    captured, training = (results.gpu["checks"][name] for name in ("captured", "training"))
    captured = sorted(captured, key=lambda row: row["precision"], reverse=True)
    must = captured[0]["must"]
    met = all(row["relative_difference"] <= must for row in captured)
    differences = " and ".join(f"{row['relative_difference']:.1e} in {row['precision']}" for row in captured)
    ours, plain = (", ".join(f"{v:.3f}" for v in training["loss"][key]) for key in ("ours", "plain"))
    means = {key: statistics.mean(values) for key, values in training["loss"].items()}
    spread = {key: statistics.stdev(values) for key, values in training["loss"].items()}
    return (
        f"- **Captured against eager.** After {captured[0]['steps']} outer steps, θ of steps that were "
        f"recorded and replayed differs, relative, from θ of steps that were not by {differences}. "
        f"We ask for {must:.0e}, which is {'met' if met else '**not met**'}.\n"
        f"- **Short trainings.** After {training['steps']} outer steps on classification, the training loss "
        f"of {len(training['loss']['ours'])} seeds is {ours} with the kernels, and {plain} with plain code: "
        f"{means['ours']:.3f} and {means['plain']:.3f} in the mean, with deviations of "
        f"{spread['ours']:.3f} and {spread['plain']:.3f}."
    )


def memory(method: str) -> Callable[[Results], str]:
    """What an outer step of a second-order method takes."""

    def rows(results: Results) -> str:
        facts = results.memory
        cases = [case for case in facts["measured"] if case["method"] == method]
        head = [
            "order",
            "inner steps",
            f"{facts['tasks']} tasks of {facts['support']} + {facts['query']} rows",
        ]
        return table(head, [[case["order"], str(case["inner_steps"]), number(case["mib"])] for case in cases])

    return rows


def how_measured(results: Results) -> str:
    """What the ceilings are means of."""
    settings = results.tasks["ceiling"]
    return (
        f"Each number is a mean over the test tasks of the set with seed 0 (compositional: hold-out 0), with "
        f"{settings['supports']} support sets and {settings['queries']} queries for each task."
    )


def machine(facts: Facts) -> str:
    """Where times were measured."""
    threads = f"{facts['threads']} thread{'s' if facts['threads'] > 1 else ''}"
    return f"{threads} of {facts['cpu']} ({facts['cores']} cores, load {facts['load']:g} at the end)"


def peers_setting(results: Results) -> str:
    """What the contenders do, where, and which versions they are."""
    facts = results.peers
    sizes = facts["sizes"]
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in facts["versions"].items())
    return (
        f"{sizes['layers']} layers × {sizes['width']}, {sizes['tasks']} tasks × {sizes['rows']} examples × "
        f"{sizes['tokens']} tokens, {sizes['inner_steps']} inner steps; adaptation of "
        f"{sizes['new_tasks']} tasks. Medians of {facts['rounds']} rounds on {machine(facts)}; {versions}."
    )


def peers(results: Results) -> str:
    """The time of every contender, and how much longer it takes than tam."""
    compared: dict[str, list[Facts]] = {}
    for one in results.peers["ratios"]:
        compared.setdefault(one["other"], []).append(one)
    rows = []
    group = ""
    for row in results.peers["contenders"]:
        found = compared.get(row["name"], [])
        ours = row["name"].startswith("tam:")
        names = [f" ({one['ours'].removeprefix('tam: ')})" if len(found) > 1 else "" for one in found]
        ratio = [f"{one['ratio']:.1f}×{name}" for one, name in zip(found, names, strict=True) if one["ratio"]]
        asked = [
            f"{one['must']:g}×"
            + (f", aim {one['aim']:g}×" if one["aim"] else "")
            + (", missed" if one["ratio"] and one["ratio"] < one["must"] else "")
            for one in found
        ]
        time = f"{row['ms']:.0f}" if "ms" in row else f"not run: {row['error']}"
        first = row["group"].capitalize() if row["group"] != group else ""
        group = row["group"]
        name = f"**{row['name']}**" if ours else row["name"]
        rows.append([first, name, time, "; ".join(ratio), "; ".join(asked)])
    head = ["", "", "ms", "tam is faster by", "must be"]
    return table(head, rows).replace("---: | ---:", "--- | ---:", 1)


def scaling(results: Results) -> str:
    """The exponents of cost in every size."""
    rows = [
        [
            TITLES[sweep["quantity"]],
            f"{sweep['values'][0]} to {sweep['values'][-1]}",
            *(f"{sweep[f'{cost}_exponent']:.2f}" for cost in ("training", "adaptation")),
        ]
        for sweep in results.scaling["sweeps"]
    ]
    head = ["cost against", "", "exponent, training step", "exponent, adaptation"]
    facts = results.scaling
    return f"{table(head, rows)}\n\nMedians of {facts['rounds']} rounds on {machine(facts)}."


def kept(results: Results) -> str:
    """What TAM and CAVIA keep for their backward passes."""
    facts = results.scaling["memory"]
    names = {"tam": "TAM", "cavia": "CAVIA"}
    few, many = facts["inner_steps"][0], facts["inner_steps"][-1]
    sentences = [
        f"{names[method]} keeps {mib[0]:.1f} MiB with {few} inner step{'s' if few > 1 else ''} and "
        f"{mib[-1]:.1f} MiB with {many}."
        for method, mib in facts["mib"].items()
    ]
    return " ".join(sentences)


def output(command: str) -> Callable[[Results], str]:
    """A command and what it prints."""
    return lambda results: f"```console\n$ {command}\n{results.tasks['shown'][command].rstrip()}\n```"


def source(path: str) -> Callable[[Results], str]:
    """A file of the package."""
    return lambda _: f"```python\n{(ROOT / path).read_text(encoding='utf-8')}```"


BLOCKS: dict[str, Callable[[Results], str]] = {
    "ceilings": lambda results: ceilings(results, False, (1, 5, 10, 20)),
    "all ceilings": lambda results: ceilings(results, False, (0, 1, 5, 10, 20)),
    "compositional ceilings": lambda results: ceilings(results, True, (0, 1, 5, 10, 20)),
    "runs": runs,
    "ahead": ahead,
    "intervals": intervals,
    "methods": methods,
    "ablations": ablations,
    "sweeps": sweeps,
    "small": small,
    "compositional": compositional,
    "budgets": budgets,
    "longer": longer,
    "tuning": tuning,
    "choices": choices,
    "limits": limits,
    "gpu": gpu,
    "gpu kernels": gpu_kernels,
    "gpu checks": gpu_checks,
    "memory maml": memory("maml"),
    "memory cavia": memory("cavia"),
    "how measured": how_measured,
    "peers setting": peers_setting,
    "peers": peers,
    "scaling": scaling,
    "memory": kept,
    "sizes": sizes,
    "classification counts": classification_counts,
    "transduction counts": family_counts("transduction"),
    "path-finding counts": family_counts("pathfinding"),
    "waypoint counts": waypoint_counts,
    "smallest class": smallest_class,
    "path lengths": path_lengths,
    "training tasks": training_tasks,
    "test tasks": test_tasks,
    "unseen": unseen,
    "why 15": why_15,
    "show classification": output("tam tasks classification --show 2"),
    "show transduction": output("tam tasks transduction --show 2"),
    "show path-finding": output("tam tasks pathfinding --show 1"),
    "show compositional": output("tam tasks pathfinding --compositional --show 1"),
    "stats": output("tam tasks classification --stats"),
    "prototypical": source("src/tam/methods/prototypical.py"),
}

_MARK = re.compile(r"<!-- (begin|end): (.*?) -->")
_BLOCK = re.compile(r"(<!-- begin: (.*?) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)


def fill(page: str, results: Results) -> str:
    """The page with every marked block as it should be."""
    marks = _MARK.findall(page)
    if marks != [(kind, name) for _, name in marks[::2] for kind in ("begin", "end")]:
        raise ValueError(f"every begin is followed by the end of the same name, but the marks are {marks}")
    if unknown := {name for _, name in marks} - set(BLOCKS):
        raise ValueError(f"there is no block {sorted(unknown)[0]!r}: the blocks are {list(BLOCKS)}")
    return _BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]](results)}\n\n{found[3]}", page)


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is made, with what should be in it."""
    results = Results(ROOT / "results")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield page, fill(page.read_text(encoding="utf-8"), results)
    yield ROOT / "src" / "tam" / "report" / "reference.json", reference(results)
    for name, draw in FIGURES.items():
        yield ROOT / "docs" / "figures" / f"{name}.svg", draw().svg()
    yield ROOT / "docs" / "figures" / "scaling.svg", draw_scaling(results.scaling).svg()


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description="Write the figures and the numbers of the documentation.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a file is out of date"
    )
    check = parser.parse_args().check
    stale = [(path, text) for path, text in files() if not path.exists() or path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT)} {'is out of date: run make pages' if check else 'written'}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()

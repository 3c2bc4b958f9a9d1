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
from typing import Any, get_args

from tam.presets import Preset
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

    def method_runs(self, method: str, name: str) -> dict[int, Facts]:
        """For each k the run of a method on a plain benchmark (seed 0) that scores it, with its `kind`.

        It is the tuned one if there is one, else one by the preset best.
        """
        found: dict[int, Facts] = {}
        for kind in ("best", "tuned"):
            stem = re.compile(rf"{method}-{kind}-{name}(-k\d+)?-0")
            of_kind: dict[int, Facts] = {}
            for run in (run for file, run in self.runs.items() if stem.fullmatch(file)):
                run: Facts = {**run, "kind": kind}
                for one in run["scores"]:
                    if one["k"] in of_kind:
                        raise ValueError(f"two runs of {method} on {name} have a score at k = {one['k']}")
                    of_kind[one["k"]] = run
            found |= of_kind
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
    network, settings, steps = config["network"], config["settings"], config["training"]["steps"]
    support = ", mixed supports" if settings["support"] == "mixed" else ""
    where = "CPU" if config["device"] == "cpu" else run["device"].removeprefix("NVIDIA ")
    what = f"{network['layers']} layers × {network['width']}, θ {settings['theta_update']}{support}"
    version = ", version 1" if run["version"] == 1 else ""
    return f"{what}, {number(steps)} outer steps{version}", f"{duration(run['seconds'])}, {where}"


def runs(results: Results) -> str:
    """Every run of TAM by a preset, and older ones, under results/runs beside the paper's."""
    rows = []
    for name, title in BENCHMARKS.items():
        facts = results.set(name)
        scale = 100 if name == "classification" else 1
        means = results.paper["sets"][name]["tam"]["mean"]
        rows.append(
            [f"{title}, {facts['metric']}", "the paper's TAM", "", *(score(facts, m / scale) for m in means)]
        )
        for file, run in results.runs.items():
            if re.fullmatch(rf"tam-({'|'.join((*get_args(Preset), 'older'))})-{name}-\d+", file):
                scores = [score(facts, one[facts["metric"]]) for one in run["scores"]]
                rows.append(["", *run_words(run), *scores])
    head = ["", "", "training time", *(f"k = {k}" for k in results.paper["shots"])]
    return table(head, rows).replace("---: | ---:", "--- | ---:", 1)


def duration(seconds: float) -> str:
    """A time, in seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def as_printed(value: float, digits: int) -> str:
    """A number of the paper: with these digits, or with one more where it has it."""
    short = f"{value:.{digits}f}"
    return short if float(short) == value else f"{value:.{digits + 1}f}"


def training_words(found: Sequence[Facts]) -> list[str]:
    """Of the runs of a method its steps, their time, the supports of a test task, and whether tuned."""
    if not found:
        return ["–"] * 4
    tuned = [one["k"] for run in found if run["kind"] == "tuned" for one in run["scores"]]
    all_tuned = all(run["kind"] == "tuned" for run in found)
    said = "yes" if all_tuned else f"at k = {', '.join(map(str, tuned))}" if tuned else "no"
    steps = [run["config"]["training"]["steps"] for run in found]
    supports = span([run["config"]["protocol"]["supports"] for run in found])
    if not any(steps):
        return ["none", "none", supports, said]
    times = [run["seconds"] for run in found]
    low, high = duration(min(times)), duration(max(times))
    time = low if low == high else f"{low.removesuffix(' min')} to {high}"
    return ["\u00a0· ".join(map(number, steps)), time, supports, said]


def method_row(results: Results, name: str, method: str) -> list[str] | None:
    """Ours and the paper's scores of a method on a benchmark; None if there are neither."""
    found, paper = results.method_runs(method, name), results.paper["sets"][name].get(method)
    if not found and not paper:
        return None
    metric = results.set(name)["metric"]
    scale, digits = (100, 1) if metric == "accuracy" else (1, 2)
    cells = []
    for place, k in enumerate(results.paper["shots"]):
        scores = {one["k"]: one[metric] for one in found[k]["scores"]} if k in found else {}
        ours = f"{scores[k] * scale:.{digits}f}" if scores else "–"
        cells.append(f"{ours}\u00a0({as_printed(paper['mean'][place], digits)})" if paper else ours)
    different = list({id(run): run for run in found.values()}.values())
    title = METHODS.get(method, method)
    return [f"[{title[0].upper()}{title[1:]}](methods/{method}.md)", *training_words(different), *cells]


def methods(results: Results) -> str:
    """Every method on every benchmark, ours beside the paper's."""
    head = ["", "training steps", "time", "supports", "tuned", *(f"k = {k}" for k in results.paper["shots"])]
    parts = []
    for name, title in BENCHMARKS.items():
        metric = results.set(name)["metric"]
        known = dict.fromkeys([*METHODS, *(run["method"] for run in results.runs.values())])
        rows = [row for method in known if (row := method_row(results, name, method))]
        unit = " in %, higher is better" if metric == "accuracy" else ", lower is better"
        parts.append(f"**{title}**: {metric}{unit}; ours, and the paper's in brackets\n\n{table(head, rows)}")
    return "\n\n".join(parts)


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
    parts, ends = [], []
    for model in facts["models"]:
        title = BENCHMARKS[model["tasks"]["name"]]
        rows = []
        for metric, gaps in model["gaps"].items():
            for k, limit in model["limits"][metric].items():
                found = gaps | {"few examples": gaps["few examples"][k]}
                total = facts["floor"] + sum(part["mean"] for part in found.values())
                cells = [f"{part['mean']:.3f} ± {part['interval']:.3f}" for part in found.values()]
                rows.append([f"{metric}, k = {k}", f"{total:.3f}", *cells, limit])
        head = ["", "test tasks", "optimisation", "generalisation", "few examples", "limited by"]
        shown = table(head, rows)
        inputs = model["gaps"]["loss"]["optimisation"]["new_inputs"]
        new = f"{inputs['mean']:.3f} ± {inputs['interval']:.3f}"
        parts.append(
            f"**{title}**: {METHODS[model['method']]}, {', '.join(run_words(model))}\n\n{shown}\n\n"
            f"Of the loss in optimisation, {new} is that inputs are new."
        )
        at_most = (one for one in model["chosen"].values() if one["at_most"])
        ends += [f"{title}, {one['examples']} examples" for one in at_most]
    each = span([model["tasks_each"] for model in facts["models"]])
    where = f"{each} training and {each} test tasks; many are {facts['many']} examples of a task."
    last = f" The most steps of the grid were chosen at: {'; '.join(ends)}." if ends else ""
    return "\n\n".join([*parts, where + last])


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
    "methods": methods,
    "tuning": tuning,
    "choices": choices,
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

"""The names of all blocks, and how they are filled into a page."""

import re
from collections.abc import Callable
from functools import partial

from blocks import ceilings, cpu, experiments, gpu, methods, own, pretrained, serve, tam_runs, tasks
from blocks.results import ROOT, Results


def _shown(results: Results, command: str) -> str:
    """A command and its output."""
    return f"```console\n$ {command}\n{results.tasks['shown'][command].rstrip()}\n```"


def _source(_: Results, path: str) -> str:
    """A file of the package."""
    return f"```python\n{(ROOT / path).read_text(encoding='utf-8')}```"


BLOCKS: dict[str, Callable[[Results], str]] = {
    "all ceilings": partial(ceilings.all_ceilings, compositional=False),
    "compositional ceilings": partial(ceilings.all_ceilings, compositional=True),
    "how measured": ceilings.how_measured,
    "best": tam_runs.best,
    "best and ceiling": partial(tam_runs.best, ceiling=True),
    "conclusions": methods.conclusions,
    "intervals": tam_runs.intervals,
    "reproduction": tam_runs.reproduction,
    "learning curves": tam_runs.learning_curves,
    "levers": tam_runs.levers,
    "ablations": tam_runs.ablations,
    "quick": tam_runs.quick,
    "on a CPU": tam_runs.on_a_cpu,
    "map": tam_runs.embedding_map,
    "own data": own.own_data,
    "own data commands": own.commands,
    "table 1": partial(methods.tables, group="table1"),
    "table 2": partial(methods.tables, group="table2"),
    "time": tam_runs.time_to_quality,
    "experiments": experiments.experiments,
    "sharing": experiments.sharing,
    "gpu": gpu.steps,
    "gpu start": gpu.start,
    "gpu kernels": gpu.kernels,
    "gpu checks": gpu.checks,
    "peers setting": cpu.peers_setting,
    "peers": cpu.peers,
    "scaling": cpu.scaling,
    "memory": cpu.kept_memory,
    "memory maml": partial(cpu.step_memory, method="maml"),
    "memory cavia": partial(cpu.step_memory, method="cavia"),
    "list functions": own.list_functions,
    "server": serve.load,
    "nearest": serve.nearest,
    "pretrained": pretrained.scores,
    "sizes": tasks.sizes,
    "classification counts": tasks.classification_counts,
    "transduction counts": partial(tasks.slot_counts, name="transduction"),
    "path-finding counts": partial(tasks.slot_counts, name="pathfinding"),
    "waypoint counts": tasks.waypoint_counts,
    "smallest class": tasks.smallest_class,
    "path lengths": tasks.path_lengths,
    "training tasks": tasks.training_tasks,
    "test tasks": tasks.test_tasks,
    "known labels": tasks.known_labels,
    "near-equal tasks": tasks.near_equal_tasks,
    "unseen": tasks.unseen,
    "why 15": tasks.why_15,
    "show classification": partial(_shown, command="tam tasks classification --show 2"),
    "show transduction": partial(_shown, command="tam tasks transduction --show 2"),
    "show path-finding": partial(_shown, command="tam tasks pathfinding --show 1"),
    "show compositional": partial(_shown, command="tam tasks pathfinding --compositional --show 1"),
    "stats": partial(_shown, command="tam tasks classification --stats"),
    "prototypical": partial(_source, path="src/tam/methods/prototypical.py"),
}

_MARK = re.compile(r"<!-- (begin|end): (.*?) -->")
_BLOCK = re.compile(r"(<!-- begin: (.*?) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)


def fill(page: str, results: Results) -> str:
    """Replace every marked block of a page by its current text."""
    marks = _MARK.findall(page)
    if marks != [(kind, name) for _, name in marks[::2] for kind in ("begin", "end")]:
        raise ValueError(f"every begin must be followed by the end of the same name: the marks are {marks}")
    if unknown := {name for _, name in marks} - set(BLOCKS):
        raise ValueError(f"there is no block {sorted(unknown)[0]!r}: the blocks are {list(BLOCKS)}")
    return _BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]](results)}\n\n{found[3]}", page)

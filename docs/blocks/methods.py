"""Every method beside the paper's, on plain and on compositional benchmarks."""

from blocks.results import BENCHMARKS, Facts, Results
from blocks.runs import distinct, score_cells, steps_words, training_cells
from blocks.table import table
from blocks.words import as_printed, capitalised, k_heads
from tam.report.curve import TITLES as METHODS

UNTOLD = "tam without primitives"
"""What the paper's compositional table has besides the methods."""


def methods(results: Results) -> str:
    """Every method on every benchmark, ours beside the paper's."""
    head = ["", "training steps", "time", *k_heads(results.shots)]
    known = dict.fromkeys([*METHODS, *(run["method"] for run in results.runs.values())])
    parts = []
    for name in BENCHMARKS:
        rows = [row for method in known if (row := method_row(results, name, method))]
        parts.append(f"{_headline(results, name)}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def method_row(results: Results, name: str, method: str) -> list[str] | None:
    """The scores of a method's tuned runs on a benchmark, and the paper's; None if there are neither."""
    found = results.by_shots(method, "tuned", name)
    paper = results.paper_rows(name).get(method)
    if not found and paper is None:
        return None
    link = f"[{capitalised(METHODS.get(method, method))}](methods/{method}.md)"
    return [link, *training_cells(distinct(found)), *_scores(results, name, found, paper)]


def compositional(results: Results) -> str:
    """The methods on compositional tasks, ours beside the paper's."""
    head = ["", "training steps", *k_heads(results.shots)]
    parts = []
    for name in BENCHMARKS:
        rows = []
        for method in (*METHODS, UNTOLD):
            short, more = ("tam", "-untold") if method == UNTOLD else (method, "")
            by_shots = results.by_shots(short, "compositional", name, more)
            found, paper = distinct(by_shots), results.paper_rows(name, compositional=True).get(method)
            if found or paper is not None:
                title = capitalised(METHODS[short] + method.removeprefix(short))
                rows.append([title, steps_words(found), *_scores(results, name, by_shots, paper)])
        parts.append(f"{_headline(results, name)}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _headline(results: Results, name: str) -> str:
    """What a table of a benchmark with the paper's in brackets is headed by."""
    metric = results.metric(name)
    unit = " in %, higher is better" if metric == "accuracy" else ", lower is better"
    return f"**{BENCHMARKS[name]}**: {metric}{unit}; ours, and the paper's in brackets"


def _scores(results: Results, name: str, by_shots: dict[int, Facts], paper: Facts | None) -> list[str]:
    """A method's scores at each k, and the paper's from a row of its table."""
    metric = results.metric(name)
    printed = None if paper is None else [as_printed(metric, mean) for mean in paper["mean"]]
    return score_cells(results, metric, by_shots, printed)

"""The paper's scores beside the ceiling."""

import json

from blocks.results import Results
from blocks.words import table
from tam.report.collect import BENCHMARK_TITLES, Facts, set_name
from tam.report.words import k_heads, score_words


def all_ceilings(results: Results, compositional: bool) -> str:
    """Table of the paper's best scores and the ceiling, for each k that has a ceiling."""
    shots = results.tasks["ceiling"]["shots"]
    rows = []
    for name, title in BENCHMARK_TITLES.items():
        metric, best = results.metric(name), results.paper_best(name, compositional)
        ceiling = results.task_set(name, compositional)["ceiling"]
        printed = [score_words(metric, best[k]) if k in best else "" for k in shots]
        rows.append([f"{title}, {metric}", "the paper's best", *printed])
        rows.append(["", "ceiling", *(f"**{score_words(metric, ceiling[str(k)])}**" for k in shots)])
    return table(["", "", *k_heads(shots)], rows, left=(0, 1))


def how_measured(results: Results) -> str:
    """The test tasks, supports and queries behind the ceilings."""
    settings = results.tasks["ceiling"]
    return (
        f"Each number is a mean over the test tasks of the set with seed 0 (compositional: hold-out 0), with "
        f"{settings['supports']} support sets and {settings['queries']} queries for each task."
    )


def reference(results: Results) -> str:
    """The package's reference scores as JSON: the paper's methods and the ceiling."""
    scores: dict[str, Facts] = {}
    for name in BENCHMARK_TITLES:
        for compositional in (False, True):
            paper = results.paper_scores(name, compositional)
            ceiling = results.task_set(name, compositional)["ceiling"]
            scores[set_name(name, compositional)] = {"paper": paper, "ceiling": ceiling}
    return json.dumps(scores, indent=1) + "\n"

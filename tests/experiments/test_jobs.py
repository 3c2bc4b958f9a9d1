"""The list of jobs."""

from collections import Counter

import pytest

from tam.config.config import Config
from tam.config.methods import settings_of
from tam.experiments.jobs import EXPERIMENTS, all_jobs
from tam.methods import METHODS
from tam.tasks.benchmark import BenchmarkOptions, make
from tam.training.preflight import prepare

JOBS = {job.name: job for job in all_jobs()}


def test_jobs_can_run_and_come_in_the_order_of_their_groups() -> None:
    groups = [job.group for job in JOBS.values()]
    assert set(EXPERIMENTS) - set(groups) == {"timing", "embeddings"}
    assert groups == sorted(groups, key=list(EXPERIMENTS).index)
    for job in JOBS.values():
        config = job.config("cuda")
        assert (config.seed, config.device) == (job.seed, "cpu" if job.group in ("quick", "cpu") else "cuda")
        assert job.options["name"] == "classification" or not METHODS[job.method].classification_only


def test_the_tables_are_those_of_the_paper() -> None:
    counts = Counter(job.group for job in JOBS.values())
    of_a_seed = 3 * (6 + 4) + 1 + 4  # 6 with one run on each benchmark, SNAIL 4; prototypical, matching
    assert counts["table1"] == 4 * of_a_seed + 3  # the nearest neighbour has no seeds
    assert counts["table2"] == 8 * (3 * (4 + 4) + 4)
    assert counts["sweeps"] == 3 * (4 + 4 + 4)  # the base is that of the levers
    assert counts["cpu"] == 2 + 5 + 3 + 3 + 6 + 4  # seeds, ablations, T, N, levers, training tasks
    names = {name: [job.name for job in experiment.jobs()] for name, experiment in EXPERIMENTS.items()}
    assert names["embeddings"] == ["tam-best-pathfinding-1", "multitask-table1-pathfinding-0"]
    assert len(names["timing"]) == 3 * 3 * 4
    assert len(names["ablation"]) == 3 * 4
    assert len(names["architecture"]) == 4 * 4  # half of them of other experiments
    assert {job.method for job in EXPERIMENTS["table1"].jobs()} == set(METHODS)


def test_budgets() -> None:
    for job in EXPERIMENTS["table1"].jobs():  # as many seconds as TAM, which is there too
        budgeted = settings_of(job.method).trained and job.method != "tam"
        assert job.seconds_of == (f"tam-best-{job.options['name']}-0" if budgeted else None)
        assert job.seconds is None
    assert JOBS["cavia-table1-pathfinding-3"].trial == 3
    snail = JOBS["snail-table2-pathfinding-k5-h6"]
    assert (snail.seconds, snail.trial, snail.options["holdout"]) == (20, 6, 6)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["ablation", "architecture", "sweeps", "cpu"])
def test_the_settings_go_with_the_tasks(group: str) -> None:
    """On a small set of tasks: a mistake in a grid would show only on the GPU."""
    seen = set()
    for job in JOBS.values():
        if job.group == group and (job.options["name"], *job.values.items()) not in seen:
            seen.add((job.options["name"], *job.values.items()))
            options = BenchmarkOptions(**{**job.options, "train": 4, "valid": 1, "test": 1})
            setup = prepare(job.config("cpu"), make(options))
            backbone, conditioning = (job.values.get(name) for name in ("backbone", "conditioning"))
            assert setup.spec.backbone == (backbone or "transformer")
            assert setup.spec.conditioning == (conditioning or "token")


def test_every_lever_is_moved_away_from_best_for_its_seconds() -> None:
    for job in JOBS.values():
        if job.group != "levers" or job.name.startswith("tam-base-"):
            continue
        base = JOBS[f"tam-base-levers-{job.options['name']}-0"]
        assert job.seconds == base.seconds
        assert job.config("cuda") != base.config("cuda")
        without = job.name.startswith("tam-without-")
        (setting, value), *_ = job.values.items()
        paper = Config.from_preset("paper", "tam", job.options["name"])
        settings = vars(paper.network) | vars(paper.settings) | vars(paper.training)
        assert without == (value == settings[setting])

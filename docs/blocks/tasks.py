"""The numbers and sizes of tasks in the benchmarks."""

from blocks.results import Results
from blocks.words import table
from tam.report.collect import BENCHMARK_TITLES
from tam.report.words import number, span


def sizes(results: Results) -> str:
    """Table of the sizes of the six task sets."""
    rows = []
    for compositional in (False, True):
        for name, title in BENCHMARK_TITLES.items():
            facts = results.task_set(name, compositional)
            tasks = " / ".join(number(count) for count in facts["tasks"].values())
            examples = " / ".join(number(count) for count in facts["examples"].values())
            form = f"{title}, compositional" if compositional else title
            rows.append([form, tasks, examples, number(facts["tokens"])])
    return table(["", "train / valid / test tasks", "examples in each", "tokens"], rows)


def classification_counts(results: Results) -> str:
    """Table of the numbers of classification tasks, for each n."""
    rows = []
    for family in results.tasks["classification_families"]:
        primitives = " · ".join(number(count) for count in family["primitives"])
        counts = (family[key] for key in ("choices", "choices_that_are_tasks", "different_tasks"))
        rows.append([str(family["n"]), f"same {family['same']}", primitives, *map(number, counts)])
    head = ["n", "two tasks are the same with", "primitives", "choices"]
    return table([*head, "with 4 outputs or more", "different tasks"], rows)


def slot_counts(results: Results, name: str) -> str:
    """The numbers of primitives and tasks of transduction or path-finding."""
    facts = results.task_set(name)
    *others, last = map(number, facts["primitives"])
    return (
        f"The slots have {', '.join(others)} and {last} primitives. That makes "
        f"{number(facts['choices'])} choices and {number(facts['different_tasks'])} different tasks."
    )


def waypoint_counts(results: Results) -> str:
    """The number of tasks of path-finding with a waypoint."""
    facts = results.task_set("pathfinding", compositional=True)
    return f"There are {number(facts['different_tasks'])} tasks with a waypoint."


def smallest_class(results: Results) -> str:
    """The size of the rarest class, which is large enough."""
    family = next(each for each in results.tasks["classification_families"] if each["n"] == 11)
    needed = -(-results.task_set("classification")["examples"]["test"] // 4)
    return (
        f"The rarest class of any task has {number(family['smallest_class'])} of the "
        f"{number(results.tasks['inputs'])} inputs; a test task needs {needed} of each class."
    )


def path_lengths(results: Results) -> str:
    """The lengths of paths."""
    plain, via = (results.task_set("pathfinding", form)["path_cells"] for form in (False, True))
    return (
        f"Paths have {plain['min']} to {plain['max']} cells, {plain['mean']:.1f} on average; "
        f"with a waypoint {via['min']} to {via['max']}, {via['mean']:.1f} on average."
    )


def training_tasks(results: Results) -> str:
    """Table of the number of training tasks to draw from, in each hold-out."""
    sets = [results.task_set(name, compositional=True)["holdouts"] for name in BENCHMARK_TITLES]
    rows = []
    for holdout, small in enumerate(results.tasks["classification_n11_holdouts"]):
        rows.append([str(holdout), number(small), *(number(each[holdout]["train"]) for each in sets)])
    return table(["hold-out", "classification, n = 11", "n = 15", "transduction", "path-finding"], rows)


def test_tasks(results: Results) -> str:
    """Table of the number of tasks with an unseen primitive to draw from, in each hold-out."""
    sets = [results.task_set(name, compositional=True)["holdouts"] for name in BENCHMARK_TITLES]
    rows = []
    for holdout in range(len(sets[0])):
        counts = (each[holdout]["test_by_unseen_slot"] for each in sets)
        rows.append([str(holdout), *("\u00a0· ".join(map(number, slots)) for slots in counts)])
    return table(["hold-out", "classification, n = 15", "transduction", "path-finding"], rows)


def near_equal_tasks(results: Results) -> str:
    """The number of test tasks whose own examples do not distinguish them from some training task."""
    plain, composed = (results.task_set("classification", form) for form in (False, True))
    held = span([each["near_equal_test_tasks"] for each in composed["holdouts"]])
    return (
        f"Of the {plain['tasks']['test']} test tasks {plain['near_equal_test_tasks']} agree with some "
        f"training task on all of their own {plain['examples']['test']} examples; in the compositional form "
        f"{held} of {composed['tasks']['test']} do, depending on the hold-out."
    )


def known_labels(results: Results) -> str:
    """Table of the tasks with an unseen primitive and new outputs, and of those with known classes."""
    rows = []
    for holdout, facts in enumerate(results.task_set("classification", compositional=True)["holdouts"]):
        counts = (facts["new_outputs_by_unseen_slot"], facts["of_these_known_labels"])
        rows.append([str(holdout), *("\u00a0· ".join(map(number, slots)) for slots in counts)])
    return table(["hold-out", "new outputs", "of these with known classes"], rows)


def unseen(results: Results) -> str:
    """Table of the number of held-out primitives per slot."""
    rows = []
    for name, title in BENCHMARK_TITLES.items():
        facts = results.task_set(name, compositional=True)
        pairs = zip(facts["unseen_primitives"], facts["primitives"], strict=True)
        rows.append([title, *(f"{held} of {number(of)}" for held, of in pairs)])
    return table(["unseen primitives", "slot 1", "slot 2", "slot 3"], rows)


def why_15(results: Results) -> str:
    """Why compositional classification has n = 15."""
    small = results.tasks["classification_n11_holdouts"]
    facts = results.task_set("classification", compositional=True)
    wanted = facts["tasks"]["train"]
    enough = sum(count >= wanted for count in small)
    fewest = min(min(each["test_by_unseen_slot"]) for each in facts["holdouts"])
    held = facts["tasks"]["valid"] + facts["tasks"]["test"]
    return (
        f"With n = 11 the hold-outs leave {span(small)} different training tasks, and only {enough} of "
        f"{len(small)} reach {number(wanted)}. With n = {facts['options']['n']} they leave "
        f"{span([each['train'] for each in facts['holdouts']])}, and all do. For the {held} valid and test "
        f"tasks, a third of them per slot, every slot of every hold-out has at least {fewest} to draw from."
    )

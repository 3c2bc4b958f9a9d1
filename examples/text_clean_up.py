"""Text clean-up by example: show three corrected entries, and the rest is corrected in the same way.

The model is trained on other clean-ups, character by character. Run it: `python examples/text_clean_up.py`.
"""

from collections.abc import Callable

import tam

NAMES = ["ada", "grace", "alan", "edsger", "barbara", "donald", "john", "emmy", "kurt", "haskell", "frances"]
CLEAN_UPS: dict[str, Callable[[str], str]] = {
    "with a full stop": lambda name: f"{name}.",
    "in brackets": lambda name: f"({name})",
    "in quotes": lambda name: f"'{name}'",
    "without the first letter": lambda name: name[1:],
    "without the last letter": lambda name: name[:-1],
    "as an address": lambda name: f"{name}@mail",
    "with a title": lambda name: f"dr. {name}",
    "as a file": lambda name: f"{name}.txt",
    "as a tag": lambda name: f"#{name}",
    "as a list": lambda name: f"- {name}",
}


def task(clean_up: Callable[[str], str]) -> list[tuple[list[str], list[str]]]:
    return [(list(name), list(clean_up(name))) for name in NAMES]


def main() -> None:
    tasks = tam.tasks_from({name: task(clean_up) for name, clean_up in CLEAN_UPS.items()})
    learner = tam.Learner(preset="smoke", steps=10, validate_every=10, shots=(3,)).fit(tasks)

    shown = {"mary": "<mary/>", "tom": "<tom/>", "zoë": "<zoë/>"}
    rule = learner.adapt([(list(before), list(after)) for before, after in shown.items()])
    for before in ("anna", "jürgen"):
        (found,) = learner.predict_proba(rule, [list(before)])
        print(f"{before} -> {''.join(next(iter(found)))}")


if __name__ == "__main__":
    main()

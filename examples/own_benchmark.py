"""Your own benchmark: write the rule of a family of tasks, and compare a method with the floors.

Here a task is "how many of two given tokens are in x?". Run it: `python examples/own_benchmark.py`.
"""

import itertools
import random

import tam
from tam.config.sections import Protocol
from tam.evaluation.floors import floors

TOKENS, LENGTH, EXAMPLES, SHOTS = 6, 4, 60, 5


def task(pair: tuple[int, int], draw: random.Random) -> list[tuple[list[int], int]]:
    inputs = [[draw.randrange(TOKENS) for _ in range(LENGTH)] for _ in range(EXAMPLES)]
    return [(x, len(set(pair) & set(x))) for x in inputs]


def main() -> None:
    draw = random.Random(0)
    pairs = list(itertools.combinations(range(TOKENS), 2))
    tasks = tam.tasks_from({f"tokens {a} and {b}": task((a, b), draw) for a, b in pairs}, seed=0)
    tasks.write("own-benchmark.jsonl")  # for `tam train own-benchmark.jsonl`

    learner = tam.Learner("tam", preset="smoke", steps=120, validate_every=30, rate=0.01, shots=(SHOTS,)).fit(
        tasks
    )
    protocol = Protocol(shots=(SHOTS,), supports=4, queries=20)
    print(f"tam: {learner.evaluate(tasks.test)[0].accuracy:.0%}")
    for name, (score,) in floors(tasks.test, protocol).items():
        print(f"{name}: {score.accuracy:.0%}")


if __name__ == "__main__":
    main()

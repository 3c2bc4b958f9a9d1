"""Writers that are killed: run with `FOLDER ROUNDS SEED`, forks four for each round and kills them.

Every fourth round has a file of its own, and its writers are killed while they make it; the others have one
file, and are killed after the first operation of one of them. Prints, as JSON, a line per writer: its file,
its name, how many of its operations were acknowledged, and whether it was killed. What is there afterwards
must be those, and perhaps the one after them.
"""

import json
import os
import random
import select
import signal
import sys
import time
import traceback

import numpy as np

from tam.learner.task_embedding import TaskEmbedding
from tam.store.store import Store


def operation(store: Store, writer: str, number: int) -> None:
    """Of every four operations two put a task, one renames the first, and one removes the second."""
    first, second = f"{writer} {number // 4} a", f"{writer} {number // 4} b"
    if number % 4 < 2:
        name = (first, second)[number % 4]
        store.put(name, embedding(name), [([1, 2], 0)] * 20)
    elif number % 4 == 2:
        store.rename(first, f"{first} renamed")
    else:
        store.remove(second)


def names_after(writer: str, count: int) -> set[str]:
    """The tasks of a writer after so many operations."""
    found: set[str] = set()
    for number in range(count):
        first, second = f"{writer} {number // 4} a", f"{writer} {number // 4} b"
        if number % 4 < 2:
            found.add((first, second)[number % 4])
        elif number % 4 == 2:
            found = found - {first} | {f"{first} renamed"}
        else:
            found.remove(second)
    return found


def embedding(name: str) -> TaskEmbedding:
    """What is learned of a task of this name."""
    seed = int.from_bytes(name.encode()) % 2**32
    vector = np.random.default_rng(seed).normal(size=64).astype(np.float32)
    return TaskEmbedding(vector, (0, 1), "weights", 0.5)


def write(file: str, writer: str, acknowledged: int) -> None:
    """Write until the end, which is not a natural one."""
    store, number = Store(file), 0
    while True:
        operation(store, writer, number)
        os.write(acknowledged, b".")
        number += 1


def start(file: str, writer: str) -> tuple[int, int]:
    """A writer's process, and the pipe of what it acknowledges."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.close(reading)
            write(file, writer, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    return child, reading


def main() -> None:
    """Kill writers."""
    folder, rounds, random_seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    draws = random.Random(random_seed)
    for number in range(rounds):
        file = "tasks.db" if number % 4 else f"{number}.db"
        started = {
            f"{number}{letter}": start(os.path.join(folder, file), f"{number}{letter}") for letter in "wxyz"
        }
        if number % 4:
            select.select([reading for _, reading in started.values()], [], [], 30)
        time.sleep(draws.uniform(0.0, 0.02))
        for child, _ in started.values():
            os.kill(child, signal.SIGKILL)
        for writer, (child, reading) in started.items():
            _, status = os.waitpid(child, 0)
            count = len(b"".join(iter(lambda r=reading: os.read(r, 4096), b"")))
            os.close(reading)
            print(json.dumps([file, writer, count, os.WIFSIGNALED(status)]))


if __name__ == "__main__":
    main()

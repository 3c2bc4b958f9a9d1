"""A server under load, beside one that answers one row at a time.

Run `.venv/bin/python benchmarks/serve.py`; it writes results/serve.json and fails if an answer is an error or
the server is less than 10 times faster. 32 clients send requests of 32 rows of different tasks, for five
minutes to `tam serve` and for half a minute before and after to the other, which has the same web framework,
model and store. Both run on two cores, which the clients share.
"""

import argparse
import http.client
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import torch
from record import Facts, cpu, write

import tam
from tam.provenance import now, provenance
from tam.report.table import table
from tam.store.stored import StoredTask, plain_examples

CLIENTS, ROWS, TASKS = 32, 32, 1_000
MUST = 10
NETWORK = {"layers": 2, "width": 64}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="how long tam serve is under load")
    seconds = parser.parse_args().seconds
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        model, store = prepare(Path(folder))
        beside = Path(__file__).with_name("serve_one_row.py")
        with (
            started("-m", "tam", "serve", model, "--store", store, "--port", "0") as ours,
            started(str(beside), model, store) as other,
        ):
            pieces = [load(other, seconds / 10)]
            found = load(ours, seconds)
            pieces.append(load(other, seconds / 10))
    single = joined(pieces)
    ratio = found["rows_a_second"] / single["rows_a_second"]
    keys = ("rows_a_second", "p50_ms", "p99_ms", "requests", "errors", "seconds")
    servers = {"tam serve": found, "one row at a time": single}
    print(table(["server", *keys], [[name, *(one[key] for key in keys)] for name, one in servers.items()]))
    print(f"tam serve answers {ratio:.1f} times as many rows")
    write("serve", facts(servers, ratio))
    if found["errors"] or single["errors"] or ratio < MUST:
        sys.exit(f"there must be no errors, and {MUST} times as many rows")


def prepare(folder: Path) -> tuple[str, str]:
    """A model of the size of the preset quick, and a store of tasks: what it has learned changes no time."""
    tasks = tam.benchmark("classification", train=20, valid=2, test=2)
    learner = tam.Learner(preset="smoke", layers=NETWORK["layers"], width=NETWORK["width"]).fit(tasks)
    learner.save(folder / "model")
    pairs = [
        [([number % 10, number // 10 % 10, number // 100, c, c], c) for c in (0, 1)]
        for number in range(TASKS)
    ]
    with tam.Store(folder / "tasks.db", learner) as store:
        store.put_many(
            StoredTask(f"task {number}", rule, plain_examples("", pairs[number]), "", now())
            for number, rule in enumerate(learner.adapt_many(pairs))
        )
    return str(folder / "model"), str(folder / "tasks.db")


@contextmanager
def started(*words: str) -> Generator[int]:
    """A server of its own process, and its port."""
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"serving on http://127.0.0.1:(\d+)", line):
                    yield int(found[1])
                    break
        finally:
            process.terminate()


def load(port: int, seconds: float) -> Facts:
    """What the clients measure, until the last answer to what they sent in this time."""
    times: list[float] = []
    errors: list[str] = []
    begin = time.perf_counter()
    clients = [
        threading.Thread(target=ask, args=(port, number, begin + seconds, times, errors))
        for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    found = measured(times, errors, time.perf_counter() - begin)
    print(json.dumps(found), flush=True)
    return found


def ask(port: int, client: int, end: float, times: list[float], errors: list[str]) -> None:
    """Send one request after another."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    number = 0
    while (sent := time.perf_counter()) < end:
        names = [(client * 31 + number * 7 + row * 13) % TASKS for row in range(ROWS)]
        rows = [
            {"task": f"task {name}", "x": [name % 10, row % 10, 3, 1, 2]} for row, name in enumerate(names)
        ]
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/predict", json.dumps({"rows": rows}), headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200 or len(json.loads(text)["rows"]) != ROWS:
                errors.append(text.decode()[:200])
        except (OSError, http.client.HTTPException, ValueError) as error:
            errors.append(repr(error))
            connection.close()
        times.append(time.perf_counter() - sent)
        number += 1
    connection.close()


def measured(times: list[float], errors: list[str], seconds: float) -> Facts:
    points = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else [float("nan")] * 99
    return {
        "seconds": round(seconds, 1),
        "requests": len(times),
        "rows_a_second": round(len(times) * ROWS / seconds, 1),
        "p50_ms": round(1e3 * points[49], 1),
        "p99_ms": round(1e3 * points[98], 1),
        "errors": len(errors),
        "first_errors": errors[:3],
    }


def joined(pieces: list[Facts]) -> Facts:
    """Two measurements of one server: rates are means, percentiles the better ones, to its advantage."""
    rates = [piece["rows_a_second"] for piece in pieces]
    return {
        "seconds": sum(piece["seconds"] for piece in pieces),
        "requests": sum(piece["requests"] for piece in pieces),
        "rows_a_second": round(statistics.mean(rates), 1),
        "rows_a_second_each": rates,
        "p50_ms": min(piece["p50_ms"] for piece in pieces),
        "p99_ms": min(piece["p99_ms"] for piece in pieces),
        "errors": sum(piece["errors"] for piece in pieces),
        "first_errors": [error for piece in pieces for error in piece["first_errors"]][:3],
    }


def facts(servers: dict[str, Facts], ratio: float) -> Facts:
    return {
        "what": "a server under load, beside one that answers one row at a time",
        "command": "python benchmarks/serve.py",
        **provenance(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": platform.machine(),
        **cpu(),
        "load": round(os.getloadavg()[0], 1),
        "clients": CLIENTS,
        "rows_per_request": ROWS,
        "tasks": TASKS,
        "network": NETWORK,
        "servers": servers,
        "ratio": round(ratio, 1),
        "must": MUST,
        "finished": now(),
    }


if __name__ == "__main__":
    main()

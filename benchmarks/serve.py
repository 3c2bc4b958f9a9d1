"""Measure `tam serve` and a server that answers one row at a time; and the nearest of 100 000 stored tasks.

Run `.venv/bin/python benchmarks/serve.py`; it writes results/serve.json and fails if an answer is an error,
the server is less than 10 times faster, or the nearest tasks take 10 ms or more. 32 clients send the same
requests of 32 rows of different tasks to both servers, which have the same web framework, model and store:
for five minutes with the pretrained model, and for half a minute with one so small that HTTP takes most of
the time. Servers and clients share two cores, with one thread for matrix products.
"""

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import numpy as np
import torch
from record import Facts, about, cpu, in_fresh_process, no_options, write

import tam
from tam.provenance import now, provenance
from tam.report.table import table
from tam.store.stored import StoredTask, encodable_examples

LONG, SHORT = 300, 30
"""Seconds under load: of `tam serve` with the pretrained model, and of everything else."""
CLIENTS, ROWS, TASKS, LEARNED = 32, 32, 1_000, 32
MUST = 10
STORED, NEAREST_MS = 100_000, 10
PRETRAINED = "classification"
SMALL: Facts = {"layers": 2, "width": 64}


def main() -> None:
    no_options(__doc__)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)  # torch is already loaded here; new processes read the variable
    load_at_start = round(os.getloadavg()[0], 1)
    similar = in_fresh_process(nearest)
    print(json.dumps(similar), flush=True)
    models = {"small": compare("small", SHORT), "pretrained": compare("pretrained", LONG)}
    what = "a server under load, beside one that answers one row at a time; nearest stored tasks"
    facts = about("serve", what) | {"clients": CLIENTS, "tasks": TASKS, "load_at_start": load_at_start}
    write("serve", facts | {"nearest": similar, "models": models})
    errors = sum(one["errors"] for each in models.values() for one in each["servers"].values())
    if errors or min(each["ratio"] for each in models.values()) < MUST or similar["ms"] >= NEAREST_MS:
        sys.exit(f"there must be no errors, {MUST} times as many rows, and nearest in under {NEAREST_MS} ms")


def nearest() -> Facts:
    """Time the search for the nearest of many stored tasks, apart from the first one."""
    points = np.random.default_rng(0).normal(size=(STORED, 128)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder, tam.Store(Path(folder) / "tasks.db") as store:
        examples = encodable_examples("", [([1], 0), ([2], 1)])
        store.put_many(
            StoredTask(f"task {number}", tam.TaskEmbedding(point, (0, 1), "w", 0.0), examples, "", now())
            for number, point in enumerate(points)
        )
        times: list[float] = []
        computing: list[float] = []
        for number in range(101):
            begin, busy = time.perf_counter(), time.process_time()
            store.nearest(f"task {number * 7}", 10)
            times.append(time.perf_counter() - begin)
            computing.append(time.process_time() - busy)
    first, *others = times
    return {
        **provenance(),
        **cpu(),
        "load": round(os.getloadavg()[0], 1),
        "finished": now(),
        "tasks": STORED,
        "numbers": points.shape[1],
        "first_ms": round(1e3 * first, 1),
        "ms": round(1e3 * statistics.median(others), 2),
        "fastest_ms": round(1e3 * min(others), 2),
        "computing_ms": round(1e3 * statistics.median(computing[1:]), 2),
        "must_ms": NEAREST_MS,
    }


def compare(name: str, seconds: float) -> Facts:
    """Measure both servers, the other one before and after ours; then ours with one row per request."""
    with tempfile.TemporaryDirectory() as folder:
        model, store = prepare(name, Path(folder))
        script = Path(__file__).with_name("serve_one_row.py")
        with (
            started("-m", "tam", "serve", model, "--store", store, "--port", "0") as ours,
            started(str(script), model, store) as other,
        ):
            pieces = [load(other, SHORT)]
            found = load(ours, seconds)
            pieces.append(load(other, SHORT))
            lone = load(ours, SHORT, rows=1)
    single = joined(pieces)
    ratio = found["rows_a_second"] / single["rows_a_second"]
    servers = {"tam serve": found, "one row at a time": single, "tam serve, requests of one row": lone}
    keys = ("rows_a_second", "p50_ms", "p99_ms", "requests", "errors", "seconds")
    print(table([name, *keys], [[server, *(one[key] for key in keys)] for server, one in servers.items()]))
    print(f"tam serve answers {ratio:.1f} times as many rows", flush=True)
    model = PRETRAINED if name == "pretrained" else SMALL
    return {"model": model, "servers": servers, "ratio": round(ratio, 1), "must": MUST}


def prepare(name: str, folder: Path) -> tuple[str, str]:
    """A model and a store of tasks, each with its own name and embedding, of which only a few are learned."""
    if name == "pretrained":
        learner, model = tam.load(PRETRAINED, "cpu"), PRETRAINED
    else:
        tasks = tam.benchmark("classification", train=20, valid=2, test=2)
        learner, model = tam.Learner(preset="smoke", device="cpu", **SMALL), str(folder / "model")
        learner.fit(tasks).save(model)
    pairs = [[([number % 10, number // 10 % 10, 3, c, c], c) for c in (0, 1)] for number in range(LEARNED)]
    learned = cycle(zip(learner.adapt_many(pairs), pairs, strict=True))
    with tam.Store(folder / "tasks.db", learner) as store:
        store.put_many(
            StoredTask(f"task {number}", rule, encodable_examples("", examples), "", now())
            for number, (rule, examples) in zip(range(TASKS), learned, strict=False)
        )
    return model, str(folder / "tasks.db")


@contextmanager
def started(*words: str) -> Generator[int]:
    """Start a server in its own process; yield its port."""
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"serving on http://127.0.0.1:(\d+)", line):
                    yield int(found[1])
                    break
        finally:
            process.terminate()


def load(port: int, seconds: float, rows: int = ROWS) -> Facts:
    """Let all clients send requests for this many seconds, and measure until the last answer."""
    times: list[float] = []
    errors: list[str] = []
    messages = [[request(client, number, rows) for number in range(8)] for client in range(CLIENTS)]
    begin = time.perf_counter()
    clients = [
        threading.Thread(target=ask, args=(port, own, rows, begin + seconds, times, errors))
        for own in messages
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    found = measured(times, errors, time.perf_counter() - begin, rows)
    print(json.dumps(found), flush=True)
    return found


def request(client: int, number: int, rows: int) -> bytes:
    """Prepare a request in advance, so that clients use little CPU time on the shared cores."""
    names = [(client * 31 + number * 7 + row * 13) % TASKS for row in range(rows)]
    asked = [{"task": f"task {name}", "x": [name % 10, row % 10, 3, 1, 2]} for row, name in enumerate(names)]
    body = json.dumps({"rows": asked}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Content-Type: application/json\r\n\r\n" + body


def ask(
    port: int, messages: list[bytes], rows: int, end: float, times: list[float], errors: list[str]
) -> None:
    """Send one request after another on one connection, until the end or the first error."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=300) as connection,
            connection.makefile("rb") as answers,
        ):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for message in cycle(messages):
                if (sent := time.perf_counter()) >= end:
                    return
                connection.sendall(message)
                status, length = answers.readline(), 0
                while (line := answers.readline().lower()).strip():
                    if line.startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                text = answers.read(length)
                times.append(time.perf_counter() - sent)
                if b" 200 " not in status or text.count(b'"probability"') != rows:
                    errors.append(f"{status!r} {text[:200]!r}")
                    return
    except (OSError, ValueError) as error:
        errors.append(repr(error))


def measured(times: list[float], errors: list[str], seconds: float, rows: int) -> Facts:
    points = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else [float("nan")] * 99
    return {
        "seconds": round(seconds, 1),
        "rows_a_request": rows,
        "requests": len(times),
        "rows_a_second": round(len(times) * rows / seconds, 1),
        "p50_ms": round(1e3 * points[49], 1),
        "p99_ms": round(1e3 * points[98], 1),
        "slowest_ms": round(1e3 * max(times, default=0), 1),
        "errors": len(errors),
        "first_errors": errors[:3],
    }


def joined(pieces: list[Facts]) -> Facts:
    """Combine measurements of one server: mean rates, and the better times, in its favour."""
    rates = [piece["rows_a_second"] for piece in pieces]
    better = {key: min(piece[key] for piece in pieces) for key in ("p50_ms", "p99_ms", "slowest_ms")}
    return {
        "seconds": sum(piece["seconds"] for piece in pieces),
        "rows_a_request": pieces[0]["rows_a_request"],
        "requests": sum(piece["requests"] for piece in pieces),
        "rows_a_second": round(statistics.mean(rates), 1),
        "rows_a_second_each": rates,
        **better,
        "errors": sum(piece["errors"] for piece in pieces),
        "first_errors": [error for piece in pieces for error in piece["first_errors"]][:3],
    }


if __name__ == "__main__":
    main()

"""Counts and times for Prometheus."""

import time
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tam.serve.guard import App, Message, Receive, Send
from tam.serve.served import Served

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_ROWS = tuple(2**power for power in range(13))


class Metrics:
    """The metrics of a server."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        labels = ("method", "path", "status")
        self._requests = Counter("tam_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "tam_request_seconds", "Time to answer a request.", ("path",), buckets=_SECONDS, registry=registry
        )
        self._batches = Histogram(
            "tam_batch_rows",
            "Rows, or examples to learn from, per batch.",
            ("model", "what"),
            buckets=_ROWS,
            registry=registry,
        )
        self._queued = Gauge("tam_queued_rows", "Rows and examples waiting.", ("model",), registry=registry)
        self._tasks = Gauge("tam_tasks", "Tasks in the store.", ("model",), registry=registry)

    def batch(self, model: str, what: str, rows: int) -> None:
        """Count a batch."""
        self._batches.labels(model, what).observe(rows)

    def text(self, models: Mapping[str, Served]) -> bytes:
        """Return all metrics in Prometheus' format."""
        for name, served in models.items():
            self._queued.labels(name).set(served.queued)
            self._tasks.labels(name).set(len(served.store))
        return generate_latest(self._registry)

    def around(self, app: App) -> App:
        """Wrap an app to count and time its requests by route: task names must not become labels."""

        async def counted(scope: Message, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            started, status = time.perf_counter(), 500

            async def noted(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, noted)
            finally:
                path = getattr(scope.get("route"), "path", "other")
                method = scope["method"] if path != "other" else "other"
                self._requests.labels(method, path, str(status)).inc()
                self._seconds.labels(path).observe(time.perf_counter() - started)

        return counted

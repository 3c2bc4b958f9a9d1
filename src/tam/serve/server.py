"""Start a server, and shut it down gracefully."""

import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import torch

from tam.errors import UserError
from tam.io import path_of
from tam.learner.learner import Learner, load
from tam.pretrained import resolve
from tam.pretrained.card import Packed, read_packed
from tam.serve.limits import Limits
from tam.store.store import Store

_GRACE = 60  # seconds to finish open requests when the server is stopped


class Loaded(NamedTuple):
    """A model to serve, its store, and the benchmark and tasks that came with it."""

    learner: Learner
    store: Store
    packed: Packed


def load_models(models: Sequence[str], stores: Sequence[str], device: str) -> dict[str, Loaded]:
    """Load models, named by the last part of their path, with their stores: in memory without a file."""
    if len(stores) > len(models):
        raise UserError(f"there must be at most one store per model: got {len(stores)} for {len(models)}")
    loaded: dict[str, Loaded] = {}
    with ExitStack() as opened:
        for number, model in enumerate(models):
            if (name := path_of(model, "MODEL").resolve().name) in loaded:
                raise UserError(f"models must have different names: there are two called {name!r}")
            learner = load(model, device)
            file = stores[number] if number < len(stores) else ":memory:"
            loaded[name] = Loaded(
                learner, opened.enter_context(Store(file, learner)), read_packed(resolve(model))
            )
        opened.pop_all()
    return loaded


def serve(
    models: Mapping[str, Loaded],
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    ready: Callable[[str], None],
) -> None:
    """Serve models until the process gets SIGTERM or SIGINT; open requests are finished first.

    Port 0 takes any free one. Without a token, the host must be a loopback address. `ready` is called with
    the address once the server listens.
    """
    try:
        import uvicorn

        from tam.serve.app import make_app
        from tam.serve.metrics import Metrics
        from tam.serve.served import Served
    except ModuleNotFoundError as error:
        raise UserError(f"a server needs {error.name}: pip install 'tam-fewshot[serve]'") from None
    check_token(host, token)
    _leave_a_core()
    with _listen(host, port) as listening:
        metrics = Metrics()
        served = {
            name: Served(learner, store, limits, partial(metrics.batch, name), packed)
            for name, (learner, store, packed) in models.items()
        }
        for one in served.values():
            one.warm_up()
        config = uvicorn.Config(
            make_app(served, limits, token, metrics),
            lifespan="on",
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=_GRACE,
        )
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises it again once it has stopped
            signal.signal(number, lambda *_: None)
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])


def _leave_a_core() -> None:
    """Compute with one thread fewer than there are cores.

    HTTP needs one too: if one of torch's threads has to wait for a core, the others wait for it, and batches
    take many times as long.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, torch.get_num_threads() - 1))


def check_token(host: str, token: str | None) -> None:
    """Raise an error if the token is too weak, or missing where other machines can reach the server."""
    if token is not None and (not token.isascii() or not token.isprintable() or len(token) < 8):
        raise UserError("the token must have at least 8 printable ASCII characters")
    if token is None and not _is_loopback(host):
        raise UserError(
            f"host {host!r} can be reached from other machines: set a token that requests must have "
            "(TAM_TOKEN in the environment, or --token)"
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise UserError(f"port must be from 0 to {2**16 - 1}: got {port}")
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except OSError as error:
        raise UserError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None

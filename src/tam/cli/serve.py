"""`tam serve`: answer over HTTP."""

import os
from dataclasses import dataclass, field
from typing import Annotated

import tyro

from tam.cli.options import optional, several
from tam.errors import UserError
from tam.serve.limits import Limits


@dataclass(frozen=True)
class Serve:
    """Serve models over HTTP, with a playground: learn tasks, keep them, answer inputs."""

    models: Annotated[tuple[str, ...], tyro.conf.Positional, several("MODEL")]
    """Pretrained models such as classification, or folders of runs or saved learners."""
    store: Annotated[tuple[str, ...], optional("FILE [FILE ...]")] = ()
    """SQLite files for the tasks, one per model in the same order; without one, tasks are lost on exit."""
    host: Annotated[str, tyro.conf.arg(metavar="ADDRESS")] = "127.0.0.1"
    """Address to listen on; one that other machines can reach needs a token."""
    port: int = 8000
    """Port to listen on; 0 takes any free port."""
    token: Annotated[str | None, optional("TEXT")] = None
    """Token that requests must send, as Authorization: Bearer TEXT; better set TAM_TOKEN instead."""
    device: str = "cpu"
    """cpu, cuda, or one of several GPUs, such as cuda:1."""
    limits: Limits = field(default_factory=Limits)

    def run(self) -> None:
        """Serve until it is stopped."""
        from tam.serve.server import check_token, load_models, serve

        if not self.models:
            raise UserError("give at least one model: classification, or the folder of a run")
        token = self.token or os.environ.get("TAM_TOKEN") or None
        check_token(self.host, token)
        models = load_models(self.models, self.store, self.device)

        def ready(address: str) -> None:
            for name, (learner, store, _) in models.items():
                place = "in memory" if str(store.path) == ":memory:" else f"in {store.path}"
                print(f"{name}: {learner.model_.spec.kind}, {len(store)} tasks {place}")
            print(f"serving on {address}, with a playground; API at {address}/docs; Ctrl-C stops", flush=True)

        serve(models, self.host, self.port, token, self.limits, ready)
        print("stopped")

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
    """Folder of a run or of a saved learner, or a pretrained model such as classification; or several."""
    store: Annotated[tuple[str, ...], optional("FILE [FILE ...]")] = ()
    """SQLite file of the tasks, one per model in their order; without one, tasks are lost when it stops."""
    host: Annotated[str, tyro.conf.arg(metavar="ADDRESS")] = "127.0.0.1"
    """Address to listen on; one that other machines reach needs a token."""
    port: int = 8000
    """Port to listen on; 0 takes any that is free."""
    token: Annotated[str | None, optional("TEXT")] = None
    """What requests must have, as Authorization: Bearer TEXT; better set TAM_TOKEN in the environment."""
    device: str = "cpu"
    """cpu, cuda, or one of several GPUs, such as cuda:1."""
    limits: Limits = field(default_factory=Limits)

    def run(self) -> None:
        """Serve until it is stopped."""
        from tam.serve.server import check_token, load_models, serve

        if not self.models:
            raise UserError("give one model or more: classification, or the folder of a run")
        token = self.token or os.environ.get("TAM_TOKEN") or None
        check_token(self.host, token)
        models = load_models(self.models, self.store, self.device)

        def ready(address: str) -> None:
            for name, (learner, store, _) in models.items():
                place = "in memory" if str(store.path) == ":memory:" else f"in {store.path}"
                print(f"{name}: {learner.model_.spec.kind}, {len(store)} tasks {place}")
            print(f"serving on {address}, playground there, API at {address}/docs; Ctrl-C stops", flush=True)

        serve(models, self.host, self.port, token, self.limits, ready)
        print("stopped")

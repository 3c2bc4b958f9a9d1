"""The app that serves models over HTTP."""

import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool

import tam
from tam.serve import schema
from tam.serve.description import description
from tam.serve.guard import App, guarded
from tam.serve.limits import Limits
from tam.serve.metrics import Metrics
from tam.serve.problems import answer_errors
from tam.serve.routes import routes
from tam.serve.served import Served

PAGES = Path(__file__).parent / "pages"
"""The playground: static files that are served at /."""


def make_app(
    models: Mapping[str, Served], limits: Limits, token: str | None = None, metrics: Metrics | None = None
) -> App:
    """Build the app that serves these models by name, and closes them when it stops.

    Requests that name no model use the first. If there is a token, all requests must have it except those
    for the pages and /health; without one, only requests addressed to this machine are answered. The models
    report their batches to `metrics`.
    """
    counts = metrics or Metrics()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        for served in models.values():
            await run_in_threadpool(served.close)

    app = FastAPI(
        title="tam",
        version=tam.__version__,
        description="Learn a new sequence task from a handful of examples, and answer inputs with it.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load their scripts from the network
        redoc_url=None,
    )
    answer_errors(app)

    @app.get("/health", summary="Whether the server answers")
    def health() -> schema.Health:
        return schema.Health(status="ok", version=tam.__version__)

    app.include_router(routes(models, limits, counts), dependencies=_token_check(token))
    app.add_api_route("/docs", lambda: HTMLResponse(description(app.openapi())), include_in_schema=False)
    app.mount("/", StaticFiles(directory=PAGES, html=True))
    return counts.around(guarded(app, limits.max_body, local=token is None))


def _token_check(token: str | None) -> list[Any]:
    """The dependencies of protected routes: a check of the token, if there is one."""
    if token is None:
        return []
    expected = token.encode()

    def check(
        given: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
    ) -> None:
        if given is None or not secrets.compare_digest(given.credentials.encode(), expected):
            raise HTTPException(401, "the header Authorization must be Bearer, then this server's token")

    return [Depends(check)]

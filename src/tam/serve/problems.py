"""Responses to mistakes in requests: a status and a reason."""

import re
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tam.errors import UserError, printable
from tam.serve import schema
from tam.serve.batching import ClosedError, QueueFullError
from tam.store.store import OtherModelError, TaskExistsError, UnknownTaskError

_ALTERNATIVE = re.compile(r"tokens|text|int|str|bool|list\[.*")

_REASONS: dict[int, str] = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    404: "There is no such model or task.",
    409: "The name is taken, or the task belongs to another model.",
    413: "The request is too large.",
    422: "The request does not fit the schema or the model.",
    429: "The queue is full: try again.",
    503: "The server is stopping.",
}

RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.Problem, "description": text} for status, text in _REASONS.items()
}
"""The error responses in the OpenAPI schema."""


def answer_errors(app: FastAPI) -> None:
    """Make an app answer every mistake with a status and a reason."""
    statuses: dict[type[Exception], int] = {
        UserError: 422,
        UnknownTaskError: 404,
        OtherModelError: 409,
        TaskExistsError: 409,
        QueueFullError: 429,
        ClosedError: 503,
    }

    def answer(status: int) -> Callable[[Request, Exception], JSONResponse]:
        headers = {"Retry-After": "1"} if status == 429 else None
        return lambda _, error: JSONResponse({"error": str(error)}, status, headers)

    for kind, status in statuses.items():
        app.add_exception_handler(kind, answer(status))

    @app.exception_handler(HTTPException)
    def _(_: Request, error: HTTPException) -> JSONResponse:
        headers = {"WWW-Authenticate": "Bearer"} if error.status_code == 401 else error.headers
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers)

    @app.exception_handler(RequestValidationError)
    def _(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
            return JSONResponse({"error": "the header Content-Type must be application/json"}, 422)
        if first["type"] == "json_invalid":
            return JSONResponse({"error": f"the body must be JSON: see character {first['loc'][-1]}"}, 400)
        place = _place(first["loc"])
        reason, *others = (one["msg"] for one in error.errors() if _place(one["loc"]) == place)
        reason = " or ".join((reason, *(other.removeprefix("Input should be ") for other in others)))
        return JSONResponse({"error": printable(f"{place}: {reason}")}, 422)


def _place(location: tuple[int | str, ...]) -> str:
    """Where in a request an error is, without the alternatives of the schema that were tried there."""
    parts = [str(part) for part in location[1:]]
    return ".".join(part for part in parts if not _ALTERNATIVE.fullmatch(part)) or str(location[0])

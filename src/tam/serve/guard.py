"""Requests refused before the app sees them: those for other hosts, and those that are too large."""

import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_PORT = re.compile(r":\d+$")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """ASGI middleware that checks the host and the size of each request.

    Args:
        app: The app.
        max_body: The largest body, in bytes.
        local: Whether to answer only requests addressed to this machine. This stops DNS rebinding, where a
            web page elsewhere points its own name at this machine's address.
    """

    def __init__(self, app: App, max_body: int, local: bool) -> None:
        self._app, self._max_body, self._local = app, max_body, local

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if self._local and _PORT.sub("", host) not in LOOPBACK:
            await _refuse(send, 421, f"the host must be one of {', '.join(LOOPBACK)}: got {host!r}")
            return
        length = headers.get(b"content-length", "0")
        body = b""
        if length.isdecimal() and int(length) > self._max_body:
            await self._too_large(send)
            return
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > self._max_body:
                await self._too_large(send)
                return
            if not message.get("more_body", False):
                break
        await self._app(scope, _replay(body, receive), send)

    async def _too_large(self, send: Send) -> None:
        await _refuse(send, 413, f"a request must have at most {self._max_body} bytes")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Let the app receive a body that has been read already."""
    replayed = False

    async def again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Send, status: int, reason: str) -> None:
    content = json.dumps({"error": reason}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})

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


def guarded(app: App, max_body: int, local: bool) -> App:
    """Wrap an app to refuse requests with larger bodies and, if `local`, those not addressed to this machine.

    The latter stops DNS rebinding, where a web page elsewhere points its own name at this machine's address.
    """
    too_large = f"a request must have at most {max_body} bytes"

    async def guard(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if local and _PORT.sub("", host) not in LOOPBACK:
            await _refuse(send, 421, f"the host must be one of {', '.join(LOOPBACK)}: got {host!r}")
            return
        length = headers.get(b"content-length", "0")
        if length.isdecimal() and int(length) > max_body:
            await _refuse(send, 413, too_large)
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > max_body:
                await _refuse(send, 413, too_large)
                return
            more = message.get("more_body", False)
        await app(scope, _replay(body, receive), send)

    return guard


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

"""What passes over a connection: bodies in, events out, and the news that the client has gone."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mf_config.problems import UserError
from mf_infer.server.errors import ApiError, EngineStoppedError, as_api_error

_BODY_S = 60.0
"""Seconds that a client may take to send its body."""

_FAREWELL_S = 1.0
"""Seconds for the event that tells an error to a client that may have stopped reading."""

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """The client has closed the connection: nobody waits for the answer."""


async def read_json(request: Request, most_bytes: int) -> Any:
    """Read a body.

    Args:
        request: the request of HTTP.
        most_bytes: how long the body may be.
    Raises:
        ApiError: it is too long, comes too slowly, or is not JSON in UTF-8.
        RecursionError: it nests too deeply.
        ClientGoneError: the client has gone before its end.
    """
    body = b""
    try:
        async with asyncio.timeout(_BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most_bytes:
                    raise ApiError(413, f"body: it is too long. Allowed: up to {most_bytes} bytes.")
    except TimeoutError:
        raise ApiError(408, f"body: it did not come within {_BODY_S:g} seconds.") from None
    except ClientDisconnect:
        raise ClientGoneError from None
    try:
        content = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
        # A text with half of a surrogate pair has no bytes, so that no tokenizer can read it.
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        raise ApiError(400, f"body: it can't be read as JSON in UTF-8: {error}.") from None
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


async def while_connected(receive: Receive, work: Coroutine[Any, Any, Result]) -> Result:
    """Await work, and cancel it as soon as the client has gone.

    Args:
        receive: tells of the client; its body has been read.
        work: what to await.
    Raises:
        ClientGoneError: the client has gone first.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGoneError
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


@asynccontextmanager
async def in_time(timeout_s: float) -> AsyncIterator[None]:
    """Bound what is awaited in the context.

    Args:
        timeout_s: seconds that it may take.
    Raises:
        ApiError: it took longer.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        message = f"the request took longer than {timeout_s:g} seconds, as long as the server allows."
        raise ApiError(504, message) from None


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(Response):
    """An answer in server-sent events.

    The first event is awaited before the status is sent, so that a refusal has a status of its own. An error behind it
    is told in an event.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[dict[str, Any], None], timeout_s: float):
        """Takes the objects to send, and how long all of it may take."""
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._timeout_s = timeout_s
        self._has_begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the last one, or until the client goes."""
        with suppress(ClientGoneError):
            await while_connected(receive, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        try:
            async with in_time(self._timeout_s):
                await self._send_events(send)
        except (ApiError, UserError, EngineStoppedError) as error:
            if not self._has_begun:
                raise
            with suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_S):
                    await self._send(send, json.dumps(as_api_error(error).content()), more=False)

    async def _send_events(self, send: Send) -> None:
        async with aclosing(self._events) as events:
            async for event in events:
                if not self._has_begun:
                    self._has_begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._send(send, json.dumps(event, ensure_ascii=False), more=True)
        await self._send(send, "[DONE]", more=False)

    async def _send(self, send: Send, data: str, more: bool) -> None:
        await send({"type": "http.response.body", "body": f"data: {data}\n\n".encode(), "more_body": more})

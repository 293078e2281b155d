"""What stands around every request: the check of its key, and its line in the log."""

import hashlib
import hmac
import logging
import time
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mf_infer.server.errors import ApiError
from mf_infer.server.metrics import Counter

LOG = logging.getLogger("mf_infer.access")

_SCHEME = "bearer "
_LONGEST_PATH = 200
CLIENT_GONE = 499
"""Status in the log of a request whose client went before there was one."""


class KeyCheck:
    """Lets requests pass that bring an API key: `Authorization: Bearer KEY`."""

    def __init__(self, app: ASGIApp, keys: Iterable[str], open_paths: Iterable[str]):
        """Takes the keys, and paths that need none."""
        self._app = app
        self._digests = [_digest(key.encode()) for key in keys]
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with status 401, or pass the request on."""
        if scope["type"] != "http" or scope["path"] in self._open_paths or self._is_allowed(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        error = ApiError(
            401, "the API key is missing or wrong. Allowed: Authorization: Bearer KEY.", None, "invalid_api_key"
        )
        refusal = JSONResponse(error.content(), error.status, {"WWW-Authenticate": "Bearer"})
        await refusal(scope, receive, send)

    def _is_allowed(self, headers: Headers) -> bool:
        given = headers.get("authorization", "")
        if not given.lower().startswith(_SCHEME):
            return False
        digest = _digest(given[len(_SCHEME) :].strip().encode("latin-1"))
        # All keys are compared, and each comparison takes the same time: the answer's time tells nothing of them.
        return sum(hmac.compare_digest(digest, known) for known in self._digests) > 0


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


class AccessLog:
    """Writes a line for each response, without anything of its body, and counts it."""

    def __init__(self, app: ASGIApp, responses: Counter, paths: Iterable[str]):
        """Takes the counter, and the paths that it tells apart."""
        self._app = app
        self._responses = responses
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), CLIENT_GONE

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            path = scope["path"]
            self._responses.add(1, path if path in self._paths else "other", str(status))
            # As it was sent, in which a line's end is written as %0A.
            shown = scope.get("raw_path", b"").decode("latin-1")[:_LONGEST_PATH]
            client = (scope.get("client") or ("unknown",))[0]
            seconds = time.perf_counter() - started
            LOG.info("%s %s %s %d %.3f s", client, scope["method"], shown, status, seconds)

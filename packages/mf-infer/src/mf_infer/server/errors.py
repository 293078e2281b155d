"""What can go wrong with a request, in the shape in which OpenAI's interface tells it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mf_config.problems import UserError
from mf_infer.engine.engine import RequestFailedError

_LONGEST_MESSAGE = 2000
"""Characters: a message may quote what the client sent."""

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
"""Status to `type`; other ones below 500 are `invalid_request_error`, and the rest `server_error`."""


class EngineStoppedError(Exception):
    """The engine computes nothing any more."""


@dataclass(eq=False)
class ApiError(Exception):
    """An answer that is an error.

    Attributes:
        status: of HTTP.
        message: what is wrong and what is allowed; it names nothing of the server's files.
        param: the key of the body that is wrong; None where there is none.
        code: a word for programs; None where there is none.
        headers: of the answer.
    """

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """The body of the answer."""
        kind = _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        message = self.message if len(self.message) <= _LONGEST_MESSAGE else f"{self.message[:_LONGEST_MESSAGE]} …"
        return {"error": {"message": message, "type": kind, "param": self.param, "code": self.code}}


def as_api_error(error: Exception) -> ApiError:
    """The answer to an error of the engine, of a check, or of anything else, of which nothing is told."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, RequestFailedError):
        return ApiError(500, str(error))
    if isinstance(error, UserError):
        message = str(error)
        key = message.partition(":")[0]
        return ApiError(400, message, param=key if key.isidentifier() else None)
    if isinstance(error, RecursionError):
        return ApiError(400, "body: it nests too deeply.")
    if isinstance(error, EngineStoppedError):
        return ApiError(503, "the engine has stopped, so no request can be answered.")
    return ApiError(500, "the server has failed on this request; its log says why.")

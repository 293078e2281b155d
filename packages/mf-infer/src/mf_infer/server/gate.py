"""Who may come in: so many requests at a time, none while the server stops."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from mf_infer.server.errors import ApiError

_RETRY_AFTER_S = 1


class Gate:
    """Counts the requests inside."""

    def __init__(self, most: int):
        """Takes how many may be inside."""
        self._most = most
        self._inside = 0
        self._closes_at: float | None = None

    @property
    def is_closed(self) -> bool:
        """Whether nobody comes in any more."""
        return self._closes_at is not None

    @property
    def is_drained(self) -> bool:
        """Whether it is closed, and everybody has gone or had enough time to."""
        return self._closes_at is not None and (not self._inside or time.monotonic() >= self._closes_at)

    def close(self, drain_s: float) -> None:
        """Let nobody in any more, and give those inside so many seconds."""
        self._closes_at = time.monotonic() + drain_s

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be inside.

        Raises:
            ApiError: there is no room, or the gate is closed.
        """
        if self.is_closed:
            raise ApiError(503, "the server is about to stop. Allowed: another server, or a later try.")
        if self._inside >= self._most:
            raise ApiError(
                429,
                f"{self._most} requests are answered already, which is as many as the server takes. Allowed: a later "
                "try.",
                code="too_many_requests",
                headers={"Retry-After": str(_RETRY_AFTER_S)},
            )
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

"""Ctrl-C and SIGTERM as a request to stop after the present step."""

import signal
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While entered, the first SIGINT or SIGTERM only sets `reason`; the second one acts as usual.

    Attributes:
        reason: the signal's name, empty while there is no request.
    """

    def __init__(self) -> None:
        """Starts without a request."""
        self.reason = ""
        self._former: dict[signal.Signals, object] = {}

    def __enter__(self) -> "StopRequest":
        """Take over both signals."""
        for number in _STOPPING:
            self._former[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_exception: object) -> None:
        """Give both signals back."""
        for number, handler in self._former.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._former.clear()

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        self.reason = signal.Signals(number).name
        self.__exit__()

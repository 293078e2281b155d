"""Ctrl-C and SIGTERM as a request to stop after the present step."""

import signal
from collections.abc import Callable
from types import FrameType

_Handler = Callable[[int, FrameType | None], object] | int
_STOPPING = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While entered, the first SIGINT or SIGTERM only sets `made`; the second one acts as usual.

    Which of the two it was is not told: while a graph runs, MindSpore 2.10 turns Ctrl-C into SIGTERM.

    Attributes:
        made: whether there is a request.
    """

    def __init__(self) -> None:
        """Starts without a request."""
        self.made = False
        self._former: dict[signal.Signals, _Handler] = {}

    def __enter__(self) -> "StopRequest":
        """Take over both signals."""
        for number in _STOPPING:
            # None stands for a handler that is not Python's, which can't be given back.
            self._former[number] = signal.signal(number, self._receive) or signal.SIG_DFL
        return self

    def __exit__(self, *_exception: object) -> None:
        """Give both signals back."""
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._former.clear()

    def _receive(self, _number: int, _frame: FrameType | None) -> None:
        self.made = True
        self.__exit__()

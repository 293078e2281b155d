"""How far a long work is, on standard error."""

import sys
import time

_SECONDS_BETWEEN_LINES = 1.0


class Progress:
    """Prints how many of all are done, at most once a second and at the end."""

    def __init__(self, noun: str):
        """Takes what is counted."""
        self._noun = noun
        self._started = self._printed = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Take the numbers."""
        now = time.monotonic()
        if done == total or now - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = now
            print(f"{done}/{total} {self._noun}, {now - self._started:.0f} s", file=sys.stderr)

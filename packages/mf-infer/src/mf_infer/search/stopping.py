"""Finds stop strings in text that comes in pieces, and holds back what may be the beginning of one."""

from collections.abc import Sequence


class StopStrings:
    """Lets text through up to the first stop string; no part of a stop string ever gets through.

    Attributes:
        found: whether a stop string was met; nothing gets through any more.
    """

    def __init__(self, stops: Sequence[str]):
        """Takes the stop strings, none of them empty; without any, all text gets through at once."""
        self.found = False
        self._stops = tuple(stops)
        self._held = ""

    def push(self, text: str) -> str:
        """Take the next piece; returns the text that is certain now, often empty."""
        if self.found:
            return ""
        self._held += text
        places = [place for place in map(self._held.find, self._stops) if place >= 0]
        self.found = bool(places)
        ready = min(places) if places else len(self._held) - self._unsure()
        certain, self._held = self._held[:ready], self._held[ready:]
        return certain

    def finish(self) -> str:
        """End the text; returns what was held back and turned out to be no stop string."""
        return "" if self.found else self._held

    def _unsure(self) -> int:
        """How many characters at the end of the held text begin a stop string."""
        longest = max(map(len, self._stops), default=1) - 1
        for length in range(min(longest, len(self._held)), 0, -1):
            if any(stop.startswith(self._held[-length:]) for stop in self._stops):
                return length
        return 0

"""What the log of a process says of its end. Loads no framework."""

import re

_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*\S.*", re.MULTILINE)
"""From the heading over the indented frames to the line that names the exception."""


def last_traceback(text: str) -> str:
    """The last traceback in a log; empty where there is none.

    Args:
        text: the log.
    """
    tracebacks = _TRACEBACK.findall(text)
    return str(tracebacks[-1]) if tracebacks else ""

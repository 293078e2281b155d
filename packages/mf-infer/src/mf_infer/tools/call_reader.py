"""Tells calls of tools from text while an answer comes."""

import importlib
import pkgutil
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from mf_infer.tools.tool_calls import Reading, ToolCall, ToolFormat

_FORMATS = "mf_infer.tools.formats"
"""Each module directly in it has a form of calls, named FORMAT."""

_NO_CALL = Reading((), 0)


class Said(NamedTuple):
    """What an answer has grown by: text without calls, and calls that are complete."""

    text: str
    calls: Sequence[ToolCall]


class CallReader:
    """Reads one answer piece by piece.

    A call is told when it is complete. What begins like one and is none, or names a tool that was not offered, is text.
    White space around calls is left out. However an answer is cut into pieces, what is told is the same.
    """

    def __init__(self, form: ToolFormat, tools: Collection[str]):
        """Takes the form in which calls are written, and the names of the tools that are offered."""
        self._form = form
        self._tools = tools
        self._unread = ""
        self._space = ""
        self._is_beginning = True
        self._follows_call = False

    def push(self, text: str, is_last: bool = False) -> Said:
        """Take the next piece.

        Args:
            text: the piece.
            is_last: none follows.
        """
        self._unread += text
        said: list[str] = []
        calls: list[ToolCall] = []
        while self._unread:
            said.append(self._say(self._form.start(self._unread, self._is_beginning)))
            reading = self._read() if self._unread else None
            if reading is None and not is_last:
                break
            if reading is None or not reading.calls:
                said.append(self._say(1))
                continue
            calls += reading.calls
            self._unread = self._unread[reading.length :]
            self._space, self._is_beginning, self._follows_call = "", True, True
        if is_last:
            said.append(self._space)
        return Said("".join(said), calls)

    def _read(self) -> Reading | None:
        """The calls at the beginning of what is unread, None where they may come to be some."""
        try:
            reading = self._form.read(self._unread)
        except (ValueError, RecursionError):
            return _NO_CALL
        if reading and any(call.name not in self._tools for call in reading.calls):
            return _NO_CALL
        return reading

    def _say(self, length: int) -> str:
        """Take so many characters off what is unread, as text; returns what no call can leave out any more."""
        text, self._unread = self._space + self._unread[:length], self._unread[length:]
        if self._follows_call:
            text = text.lstrip()
        said = text.rstrip()
        self._space = text[len(said) :]
        if said:
            self._is_beginning = self._follows_call = False
        return said


def known_formats() -> Mapping[str, ToolFormat]:
    """All forms by name."""
    folder = importlib.import_module(_FORMATS)
    modules = (importlib.import_module(f"{_FORMATS}.{info.name}") for info in pkgutil.iter_modules(folder.__path__))
    return {module.FORMAT.name: module.FORMAT for module in modules}


def taught_format(template: str) -> ToolFormat | None:
    """The form that a chat template teaches, None where it teaches none that is known."""
    return next((form for form in known_formats().values() if form.is_taught_by(template)), None)

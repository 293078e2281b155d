"""What a call of a tool is, and what all forms have in common in which models write calls."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants to have called.

    Attributes:
        name: of the tool.
        arguments: a JSON object, as text.
    """

    name: str
    arguments: str


class Reading(NamedTuple):
    """Calls at the beginning of a text, and how many characters of it they take."""

    calls: Sequence[ToolCall]
    length: int


class ToolFormat(Protocol):
    """The form in which a model writes calls."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def special_tokens(self) -> Sequence[str]:
        """Special tokens that must stay in the text, so that calls can be told from what is said."""

    def is_taught_by(self, template: str) -> bool:
        """Whether a chat template asks the model for calls in this form."""
        ...

    def start(self, text: str, is_beginning: bool) -> int:
        """Where in a text a call may begin, also where the rest of its mark has yet to come; its length for nowhere.

        Args:
            text: what the model has written, at least one character.
            is_beginning: nothing was said before the text, or before it but behind the last call.
        """
        ...

    def read(self, text: str) -> Reading | None:
        """The calls with which a text begins, None where more of the text may make some of it.

        Args:
            text: what the model has written, from `start` on.
        Raises:
            ValueError: the text begins with no call, whatever follows.
        """
        ...


def place_of(mark: str, text: str) -> int:
    """Where a mark stands in a text, or may stand once more of the text has come; the text's length for nowhere."""
    place = text.find(mark)
    if place >= 0:
        return place
    begun = (length for length in range(min(len(mark) - 1, len(text)), 0, -1) if text.endswith(mark[:length]))
    return len(text) - next(begun, 0)


def read_json(text: str, start: int) -> tuple[Any, int] | None:
    """The JSON value that begins at a place, white space before it left out, and the place behind it.

    Returns:
        None where there is no whole value yet.
    """
    start += len(text[start:]) - len(text[start:].lstrip())
    try:
        value, end = _JSON.raw_decode(text, start)
    except ValueError:
        # Whether the value is broken or only cut off shows at the answer's end.
        return None
    return value, end


def as_call(value: object) -> ToolCall:
    """The call that an object describes by `name` and `arguments` or `parameters`.

    Raises:
        ValueError: it describes none.
    """
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ValueError("no call")
    arguments = value.get("arguments") or value.get("parameters") or {}
    if isinstance(arguments, str):
        # Some models write the object as text.
        arguments = _JSON.decode(arguments)
    if not isinstance(arguments, dict):
        raise ValueError("no arguments")
    return ToolCall(value["name"], json.dumps(arguments, ensure_ascii=False))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)

"""Conversations as data: what loaders read and tasks make rows of."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from mf_config.suggest import nearest
from mf_data.loader import Loader
from mf_data.texts.records import Record, RecordError, text_in

ROLES = ("system", "user", "assistant", "tool")
SYSTEM, USER, ASSISTANT, TOOL = ROLES

Message = Mapping[str, Any]
"""One message in the form of the OpenAI interface: `role`, `content` and, where an assistant asks for tools,
`tool_calls`, a list of `{"type": "function", "function": {"name": …, "arguments": {…}}}`. `loss: False` leaves an
assistant's message out of the loss."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, from the first message to the last.

    Attributes:
        messages: at least one of them is an assistant's.
        tools: descriptions of the tools that the assistant may ask for.
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Preference:
    """Two conversations that differ in the last answer, of which one is better."""

    chosen: Conversation
    rejected: Conversation


@runtime_checkable
class ConversationLoader(Loader, Protocol):
    """A loader of conversations."""

    def conversations(self) -> Iterator[Conversation]:
        """The conversations, in the same order each time.

        Raises:
            UserError: there is nothing to read, or a record is broken (the message names each).
        """
        ...


@runtime_checkable
class PreferenceLoader(Loader, Protocol):
    """A loader of pairs of conversations of which one is preferred."""

    def preferences(self) -> Iterator[Preference]:
        """The pairs, in the same order each time; raises as `ConversationLoader.conversations` does."""
        ...


def say(role: str, content: str, **more: Any) -> Message:
    """One message; `more` are further fields."""
    return {"role": role, "content": content, **more}


def exchange(prompt: str, answer: str, system: str = "") -> Conversation:
    """A question and its answer, under instructions where there are any."""
    first = (say(SYSTEM, system),) if system else ()
    return Conversation((*first, say(USER, prompt), say(ASSISTANT, answer)))


def call(name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """One call of a tool, as an element of `tool_calls`."""
    return {"type": "function", "function": {"name": name, "arguments": dict(arguments)}}


def checked_conversation(messages: Sequence[Any], field: str, tools: Sequence[Any] = ()) -> Conversation:
    """A conversation from messages in the form of the OpenAI interface.

    Args:
        messages: the objects of a record.
        field: where they stand in the record, for messages.
        tools: descriptions of tools.
    Raises:
        RecordError: a message is not of this form, or no assistant says anything.
    """
    checked = tuple(_checked_message(message, f"{field}[{number}]") for number, message in enumerate(messages))
    if not any(message["role"] == ASSISTANT for message in checked):
        raise RecordError(field, "holds no message of an assistant", "one from which to learn")
    return Conversation(checked, tuple(tools))


def list_in(record: Record, field: str) -> Sequence[Any]:
    """A list of a record.

    Raises:
        RecordError: there is no such field, or it holds no list or an empty one.
    """
    if field not in record:
        raise RecordError(field, "is missing", "an object with this field", nearest(field, record))
    value = record[field]
    if not isinstance(value, list) or not value:
        raise RecordError(field, f"{json.dumps(value):.40} is no list of objects", "a list")
    return value


def _checked_message(message: Any, field: str) -> Message:
    if not isinstance(message, dict):
        raise RecordError(field, f"{json.dumps(message):.40} is no message", "an object with role and content")
    role = message.get("role")
    if role not in ROLES:
        allowed = ", ".join(ROLES)
        raise RecordError(f"{field}.role", f"{json.dumps(role):.40} is not a role", allowed, nearest(str(role), ROLES))
    calls = [_checked_call(item, f"{field}.tool_calls") for item in message.get("tool_calls") or ()]
    may_be_empty = bool(calls) or role != ASSISTANT
    given = {"content": "", **message} if calls else message
    if calls and given["content"] is None:
        given = {**given, "content": ""}
    try:
        content = text_in(given, "content", may_be_empty=may_be_empty)
    except RecordError as error:
        raise RecordError(f"{field}.{error.field}", error.what, error.allowed, error.suggestion) from error
    rest = {name: value for name, value in message.items() if name not in ("role", "content", "tool_calls")}
    return say(role, content, **rest, **({"tool_calls": calls} if calls else {}))


def _checked_call(item: Any, field: str) -> Mapping[str, Any]:
    function = item.get("function", item) if isinstance(item, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise RecordError(field, f"{json.dumps(item):.40} is no call of a tool", "objects with function.name")
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        # The interface of OpenAI hands the arguments out as JSON text.
        try:
            arguments = json.loads(arguments or "{}")
        except json.JSONDecodeError as error:
            raise RecordError(field, f"arguments are not JSON ({error.msg})", "an object") from error
    if not isinstance(arguments, dict):
        raise RecordError(field, f"arguments {json.dumps(arguments):.40} are no object", "an object")
    return {**item, **call(function["name"], arguments)} if "function" in item else call(function["name"], arguments)

"""What the values in a request's body must be like."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mf_config.problems import name_values
from mf_config.suggest import nearest
from mf_infer.checks import is_integer, is_list, refusal
from mf_infer.sampling_params import MOST_LOGPROBS

NO_ARGUMENTS = "{}"
"""What a call stands for that has none."""

ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with one key.

    Attributes:
        key: the key, with the place in lists: `messages[1].role`.
        text: what is wrong, and what is allowed.
    """

    key: str
    text: str


Rule = Callable[[str, Any], Iterator[Mistake]]
"""Finds mistakes in the value of a key."""


def mistake(key: str, value: object, allowed: str, hint: str = "") -> Mistake:
    """A value that can't be used.

    Args:
        key: its key.
        value: the value.
        allowed: what could be.
        hint: a further sentence.
    """
    return Mistake(key, refusal(key, value, allowed) + hint)


def _rule(fits: Callable[[Any], bool], allowed: str) -> Rule:
    def check(key: str, value: Any) -> Iterator[Mistake]:
        if not fits(value):
            yield mistake(key, value, allowed)

    return check


def _is_tokens(value: object) -> bool:
    return is_list(value) and bool(value) and all(is_integer(token) for token in value)


def _is_prompt(value: object) -> bool:
    if isinstance(value, str) or _is_tokens(value):
        return True
    return (
        is_list(value)
        and bool(value)
        and (all(isinstance(prompt, str) for prompt in value) or all(_is_tokens(prompt) for prompt in value))
    )


def messages(key: str, value: Any) -> Iterator[Mistake]:
    """The rule of a conversation: each message has a role, and text."""
    if not isinstance(value, list) or not value:
        yield mistake(key, value, "a list of messages, at least one")
        return
    for number, message in enumerate(value):
        yield from _message(f"{key}[{number}]", message)


def _message(key: str, message: Any) -> Iterator[Mistake]:
    if not isinstance(message, dict):
        yield mistake(key, message, "an object with role and content")
        return
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        near = nearest(role, ROLES) if isinstance(role, str) else ""
        yield mistake(f"{key}.role", role, name_values(ROLES), f" Did you mean {near}?" if near else "")
    calls = message.get("tool_calls")
    if calls is not None:
        yield from _calls(f"{key}.tool_calls", calls, role)
    if isinstance(content, list):
        for number, part in enumerate(content):
            if not (isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)):
                yield mistake(f"{key}.content[{number}]", part, 'parts of the form {"type": "text", "text": "…"}')
    elif not isinstance(content, str) and not (content is None and calls):
        yield mistake(f"{key}.content", content, "text, or a list of parts with text")


def _calls(key: str, calls: Any, role: Any) -> Iterator[Mistake]:
    """The rule of calls that the model has made before."""
    if role != "assistant" or not isinstance(calls, list):
        yield mistake(key, calls, "a list, in messages of the assistant")
        return
    for number, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            yield mistake(f"{key}[{number}]", call, "an object with function, and in it name and arguments")
        elif not _is_object_as_text(arguments := function.get("arguments", NO_ARGUMENTS)):
            yield mistake(f"{key}[{number}].function.arguments", arguments, "a JSON object, as text")


def _is_object_as_text(value: object) -> bool:
    try:
        return isinstance(value, str) and isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return False


def tools(key: str, value: Any) -> Iterator[Mistake]:
    """The rule of `tools`: a list of functions, each with a name."""
    if not isinstance(value, list):
        yield mistake(key, value, "a list of tools")
        return
    for number, tool in enumerate(value):
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            yield mistake(
                f"{key}[{number}]", tool, 'objects of the form {"type": "function", "function": {"name": "…"}}'
            )


def stream_options(key: str, value: Any) -> Iterator[Mistake]:
    """The rule of `stream_options`: an object, in which `include_usage` is true or false."""
    if not isinstance(value, dict):
        yield mistake(key, value, "an object")
    elif not isinstance(value.get("include_usage"), bool | None):
        yield mistake(f"{key}.include_usage", value["include_usage"], "true or false")


TEXT = _rule(lambda value: isinstance(value, str), "text")
FLAG = _rule(lambda value: isinstance(value, bool), "true or false")
TOOL_CHOICE = _rule(lambda value: value in ("none", "auto"), "none, auto; no call can be forced")
COUNT = _rule(lambda value: is_integer(value) and value >= 0, "an integer from 0")
TOP_LOGPROBS = _rule(
    lambda value: is_integer(value) and 0 <= value <= MOST_LOGPROBS, f"an integer from 0 to {MOST_LOGPROBS}"
)
TOKENS = _rule(lambda value: value == [] or _is_tokens(value), "a list of integers")
PROMPT = _rule(_is_prompt, "text, a list of token ids, or a list of either, none of them empty")

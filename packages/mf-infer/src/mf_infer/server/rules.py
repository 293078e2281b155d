"""What the values in a request's body must be like."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mf_config.problems import name_values
from mf_config.suggest import nearest
from mf_infer.checks import is_integer, is_list, refusal
from mf_infer.sampling_params import MOST_LOGPROBS

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
    if calls is not None and (role != "assistant" or not _is_objects(calls)):
        yield mistake(f"{key}.tool_calls", calls, "a list of objects, in messages of the assistant")
    if isinstance(content, list):
        for number, part in enumerate(content):
            if not (isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)):
                yield mistake(f"{key}.content[{number}]", part, 'parts of the form {"type": "text", "text": "…"}')
    elif not isinstance(content, str) and not (content is None and calls):
        yield mistake(f"{key}.content", content, "text, or a list of parts with text")


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def stream_options(key: str, value: Any) -> Iterator[Mistake]:
    """The rule of `stream_options`: an object, in which `include_usage` is true or false."""
    if not isinstance(value, dict):
        yield mistake(key, value, "an object")
    elif not isinstance(value.get("include_usage"), bool | None):
        yield mistake(f"{key}.include_usage", value["include_usage"], "true or false")


TEXT = _rule(lambda value: isinstance(value, str), "text")
FLAG = _rule(lambda value: isinstance(value, bool), "true or false")
TOOLS = _rule(_is_objects, "a list of objects")
TOOL_CHOICE = _rule(lambda value: value in ("none", "auto"), "none, auto")
COUNT = _rule(lambda value: is_integer(value) and value >= 0, "an integer from 0")
TOP_LOGPROBS = _rule(
    lambda value: is_integer(value) and 0 <= value <= MOST_LOGPROBS, f"an integer from 0 to {MOST_LOGPROBS}"
)
TOKENS = _rule(lambda value: value == [] or _is_tokens(value), "a list of integers")
PROMPT = _rule(_is_prompt, "text, a list of token ids, or a list of either, none of them empty")

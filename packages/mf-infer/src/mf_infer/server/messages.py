"""Messages of OpenAI's interface, as chat templates read them."""

import json
from typing import Any

from mf_data.chat.template import Message
from mf_infer.server.rules import NO_ARGUMENTS


def for_template(message: Message) -> Message:
    """A message with one text as its content, and with objects as the arguments of its calls.

    Args:
        message: from a body that was checked.
    """
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content)
    written = {**message, "content": content or ""}
    if message.get("tool_calls"):
        written["tool_calls"] = [_with_object(call) for call in message["tool_calls"]]
    return written


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = json.loads(function.get("arguments", NO_ARGUMENTS))
    return {**call, "function": {**function, "arguments": arguments}}

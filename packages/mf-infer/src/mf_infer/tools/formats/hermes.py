"""`<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Hermes, Qwen 2.5 and 3, and many others."""

from mf_infer.tools.tool_calls import Reading, as_call, place_of, read_json

_BEGIN, _END = "<tool_call>", "</tool_call>"
_OTHER_FORM = "<function="
"""Qwen3-Coder writes no JSON between the same marks."""


class Hermes:
    """See `ToolFormat`."""

    name = "hermes"
    special_tokens = (_BEGIN, _END)

    def is_taught_by(self, template: str) -> bool:
        """See `ToolFormat.is_taught_by`."""
        return _BEGIN in template and _OTHER_FORM not in template

    def start(self, text: str, is_beginning: bool) -> int:
        """See `ToolFormat.start`."""
        return place_of(_BEGIN, text)

    def read(self, text: str) -> Reading | None:
        """See `ToolFormat.read`."""
        if _END not in text:
            return None
        found = read_json(text, len(_BEGIN))
        if found is None:
            return None
        value, end = found
        rest = text[end:].lstrip()
        if rest.startswith(_END):
            return Reading([as_call(value)], len(text) - len(rest) + len(_END))
        if _END.startswith(rest):
            return None
        raise ValueError("something else behind the call")


FORMAT = Hermes()
"""The form."""

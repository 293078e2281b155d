"""`[TOOL_CALLS]` and a list of calls, or one before each call, its name and `[ARGS]{…}`: older and newer Mistrals."""

import re

from mf_infer.tools.tool_calls import Reading, as_call, place_of, read_json

_BEGIN = "[TOOL_CALLS]"
_ARGUMENTS, _CALL_ID = "[ARGS]", "[CALL_ID]"
_NAME = re.compile(r"\s*([\w.-]+)\s*(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{)")


class Mistral:
    """See `ToolFormat`."""

    name = "mistral"
    special_tokens = (_BEGIN, _ARGUMENTS, _CALL_ID)

    def is_taught_by(self, template: str) -> bool:
        """See `ToolFormat.is_taught_by`."""
        return _BEGIN in template

    def start(self, text: str, is_beginning: bool) -> int:
        """See `ToolFormat.start`."""
        return place_of(_BEGIN, text)

    def read(self, text: str) -> Reading | None:
        """See `ToolFormat.read`."""
        named = _NAME.match(text, len(_BEGIN))
        if named:
            read = read_json(text, named.end())
            return read and Reading([as_call({"name": named[1], "arguments": read[0]})], read[1])
        # A name that has not come as a whole may look like a number.
        read = read_json(text, len(_BEGIN)) if text[len(_BEGIN) :].lstrip().startswith("[") else None
        if read is None:
            return None
        calls, end = read
        if not isinstance(calls, list) or not calls:
            raise ValueError("no list of calls")
        return Reading([as_call(call) for call in calls], end)


FORMAT = Mistral()
"""The form."""

"""`{"name": …, "parameters": {…}}` and nothing else, several of them parted by `;` or new lines: Llama 3.1 to 3.3."""

import re

from mf_infer.tools.tool_calls import Reading, as_call, read_json

_BEFORE = re.compile(r"[\s;]*")
_TAUGHT = '"name": function name, "parameters"'


class Llama3:
    """See `ToolFormat`."""

    name = "llama3"
    special_tokens = ()

    def is_taught_by(self, template: str) -> bool:
        """See `ToolFormat.is_taught_by`."""
        return _TAUGHT in template

    def start(self, text: str, is_beginning: bool) -> int:
        """See `ToolFormat.start`."""
        found = _BEFORE.match(text)
        assert found
        is_open = found.end() == len(text) or text[found.end()] == "{"
        return 0 if is_beginning and is_open else len(text)

    def read(self, text: str) -> Reading | None:
        """See `ToolFormat.read`."""
        found = _BEFORE.match(text)
        assert found
        read = read_json(text, found.end())
        return read and Reading([as_call(read[0])], read[1])


FORMAT = Llama3()
"""The form."""

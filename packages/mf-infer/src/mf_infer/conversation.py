"""A conversation as it grows, and the file that keeps it."""

import json
from pathlib import Path
from typing import Any

from mf_config.problems import UserError
from mf_data.files import write_atomically
from mf_infer.server.rules import messages as message_mistakes

_SYSTEM, _USER, _ASSISTANT = "system", "user", "assistant"


class Conversation:
    """What was said, in turns.

    Attributes:
        messages: from the beginning, each with `role` and `content`.
    """

    def __init__(self, system: str | None = None):
        """Starts with nothing but what the system says, if anything."""
        self.messages: list[dict[str, Any]] = []
        self.set_system(system or "")

    def set_system(self, text: str) -> None:
        """Let the system say something else, from the beginning; nothing where the text is empty."""
        others = [message for message in self.messages if message["role"] != _SYSTEM]
        self.messages = [{"role": _SYSTEM, "content": text}, *others] if text else others

    def ask(self, text: str) -> None:
        """Add the user's message."""
        self.messages.append({"role": _USER, "content": text})

    def answer(self, text: str) -> None:
        """Add the assistant's message."""
        self.messages.append({"role": _ASSISTANT, "content": text})

    def take_back(self) -> None:
        """Forget the last message."""
        self.messages.pop()

    def reset(self) -> None:
        """Forget everything but what the system says."""
        self.messages = [message for message in self.messages if message["role"] == _SYSTEM]

    def save(self, file: Path) -> None:
        """Write the conversation, as JSON: an object with `messages`.

        Raises:
            OSError: the file can't be written.
        """
        content = json.dumps({"messages": self.messages}, ensure_ascii=False, indent=1)
        write_atomically(file, f"{content}\n".encode())

    def load(self, file: Path) -> None:
        """Go on with what `save` has written.

        Raises:
            UserError: the file can't be read, or holds no conversation; this one stays as it is.
        """
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{file}: can't be read: {error}.") from error
        messages = content.get("messages") if isinstance(content, dict) else None
        mistakes = list(message_mistakes("messages", messages))
        if mistakes or messages is None:
            raise UserError("\n".join(f"{file}: {mistake.text}" for mistake in mistakes))
        self.messages = messages

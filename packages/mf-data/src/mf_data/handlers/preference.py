"""Records with two answers of which one is preferred."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_data.handlers.base import InstructionKeys
from mf_data.texts.conversations import ASSISTANT, USER, Conversation, Preference, checked_conversation, say
from mf_data.texts.records import Record, RecordError, text_in


@component("data_handler", "PreferenceDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceDataHandler(InstructionKeys):
    """A prompt with a better and a worse answer; each of the three is a text or a list of messages."""

    chosen_key: str = key("The field of the better answer.", "chosen")
    rejected_key: str = key("The field of the worse answer.", "rejected")

    def preference(self, record: Record) -> Preference:
        """Turn one record into two conversations.

        Raises:
            RecordError: a field is missing, is neither text nor messages, or both answers are the same.
        """
        field = self.prompt_key or "prompt"
        prompt = _messages(record, field, USER) if field in record else []
        chosen, rejected = (
            checked_conversation([*prompt, *_messages(record, name, ASSISTANT)], name)
            for name in (self.chosen_key, self.rejected_key)
        )
        if chosen == rejected:
            raise RecordError(self.rejected_key, f"is the same as {self.chosen_key}", "another answer")
        return Preference(chosen, rejected)

    def conversation(self, record: Record) -> Conversation:
        """The better of the two conversations, for training on good answers alone."""
        return self.preference(record).chosen


def _messages(record: Record, field: str, role: str) -> list[Any]:
    value = record.get(field)
    if isinstance(value, list):
        return value
    return [say(role, text_in(record, field))]

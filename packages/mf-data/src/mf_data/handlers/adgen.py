"""Records of the AdvertiseGen data set."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.handlers.base import InstructionKeys
from mf_data.texts.conversations import Conversation, exchange
from mf_data.texts.records import Record, text_in


@component("data_handler", "AdgenInstructDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdgenInstructDataHandler(InstructionKeys):
    """Content and summary as prompt and answer."""

    def conversation(self, record: Record) -> Conversation:
        """See `mf_data.handlers.base.DataHandler.conversation`."""
        return exchange(text_in(record, self.prompt_key or "content"), text_in(record, "summary"))

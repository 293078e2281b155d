"""Records of the Code Alpaca data set."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.handlers.base import InstructionKeys
from mf_data.texts.conversations import Conversation, exchange
from mf_data.texts.records import Record, text_in


@component("data_handler", "CodeAlpacaInstructDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAlpacaInstructDataHandler(InstructionKeys):
    """Instruction and output as a task for a code model and its answer."""

    def conversation(self, record: Record) -> Conversation:
        """See `mf_data.handlers.base.DataHandler.conversation`."""
        return exchange(text_in(record, self.prompt_key or "instruction"), text_in(record, "output"))

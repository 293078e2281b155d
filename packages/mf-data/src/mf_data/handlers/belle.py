"""Records of the BELLE data sets, which come with one turn (`instruction`, `input`, `output`) or several."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.handlers.alpaca import AlpacaInstructDataHandler
from mf_data.handlers.base import InstructionKeys
from mf_data.handlers.share_gpt import ShareGPTDataHandler
from mf_data.texts.conversations import Conversation
from mf_data.texts.records import Record


@component("data_handler", "BelleInstructDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class BelleInstructDataHandler(InstructionKeys):
    """One turn in the form of Alpaca, or several in the form of ShareGPT (`human` and `assistant`)."""

    def conversation(self, record: Record) -> Conversation:
        """See `mf_data.handlers.base.DataHandler.conversation`."""
        if "conversations" in record:
            return ShareGPTDataHandler(assistant_role="assistant").conversation(record)
        return AlpacaInstructDataHandler(prompt_key=self.prompt_key).conversation(record)

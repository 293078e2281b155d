"""Records of the Alpaca data set."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.handlers.base import InstructionKeys
from mf_data.texts.conversations import Conversation, exchange
from mf_data.texts.records import Record, text_in


@component("data_handler", "AlpacaInstructDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class AlpacaInstructDataHandler(InstructionKeys):
    """Instruction, input and output as one turn between user and assistant; the input stands below the instruction."""

    instruction_key: str = key("The field that says what to do.", "instruction")
    input_key: str = key("The field that says with what; it may be missing or empty.", "input")
    output_key: str = key("The field that holds the answer.", "output")

    def conversation(self, record: Record) -> Conversation:
        """See `mf_data.handlers.base.DataHandler.conversation`; a text in `system` comes first."""
        if self.prompt_key:
            prompt = text_in(record, self.prompt_key)
        else:
            prompt = text_in(record, self.instruction_key)
            if record.get(self.input_key):
                prompt += "\n" + text_in(record, self.input_key)
        system = text_in(record, "system", may_be_empty=True) if record.get("system") else ""
        return exchange(prompt, text_in(record, self.output_key), system)

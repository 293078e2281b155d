"""The interface of data handlers, and the keys that they share.

A handler is a section of kind `data_handler` with one small method that turns a record into a conversation. A new one
is a new file in this folder, or in the folder that another distribution announces.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from mf_config.schema import ComponentOf, key
from mf_data.texts.conversations import Conversation
from mf_data.texts.records import Record

_RUN = "rows are made by the data set's task, with the run's own tokenizer and seq_length"


class DataHandler(Protocol):
    """A section of kind `data_handler`."""

    def conversation(self, record: Record) -> Conversation:
        """Turn one record into a conversation.

        Args:
            record: field name to value, as the file has it.
        Raises:
            RecordError: a field is missing or holds something else; `mf_data.texts.records.text_in` finds that.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerKeys:
    """Keys that MindFormers gives every handler; here a row is made after the handler, the same for all of them."""

    seq_length: int | None = key("Tokens that the model reads at once.", None, minimum=1, unit="tokens", inert=_RUN)
    tokenizer: Annotated[Any, ComponentOf("tokenizer")] | None = key("Makes the ids, chosen by type.", None, inert=_RUN)
    tokenizer_name: str | None = key(
        "Name of a model whose tokenizer makes the ids, instead of tokenizer.", None, inert=_RUN
    )
    output_columns: tuple[str, ...] = key("The columns that a row has.", ("input_ids", "labels"), inert=_RUN)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionKeys(HandlerKeys):
    """How a record with an instruction becomes a conversation."""

    prompt_key: str | None = key(
        "The field of a record that holds the whole prompt; the data set's own fields where it is absent.", None
    )

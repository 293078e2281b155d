"""Records in the form of the OpenAI interface: `messages`, and `tools` where there are any."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.handlers.base import HandlerKeys
from mf_data.texts.conversations import Conversation, checked_conversation, list_in
from mf_data.texts.records import Record


@component("data_handler", "MessagesDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesDataHandler(HandlerKeys):
    """Messages with `role` and `content`; an assistant may ask for tools in `tool_calls`."""

    messages_key: str = key("The field that holds the messages.", "messages")
    tools_key: str = key("The field that describes tools; it may be missing.", "tools")

    def conversation(self, record: Record) -> Conversation:
        """See `mf_data.handlers.base.DataHandler.conversation`."""
        tools = list_in(record, self.tools_key) if record.get(self.tools_key) else ()
        return checked_conversation(list_in(record, self.messages_key), self.messages_key, tools)

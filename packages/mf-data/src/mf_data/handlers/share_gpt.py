"""Records in the form of ShareGPT: a list of turns, each with who speaks and what."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_config.suggest import nearest
from mf_data.handlers.base import HandlerKeys
from mf_data.texts.conversations import ASSISTANT, SYSTEM, TOOL, USER, Conversation, checked_conversation, list_in, say
from mf_data.texts.records import Record, RecordError


@component("data_handler", "ShareGPTDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGPTDataHandler(HandlerKeys):
    """Turns between a human and a model, with system texts and answers of tools among them."""

    conversations_key: str = key("The field that holds the turns.", "conversations")
    role_key: str = key("The field of a turn that says who speaks.", "from")
    text_key: str = key("The field of a turn that holds what is said.", "value")
    user_role: str = key("What the user is called.", "human")
    assistant_role: str = key("What the assistant is called.", "gpt")

    def conversation(self, record: Record) -> Conversation:
        """See `mf_data.handlers.base.DataHandler.conversation`; a text in `system` comes first."""
        roles = {
            **{name: name for name in (SYSTEM, USER, ASSISTANT, TOOL)},
            **{"observation": TOOL, "function_response": TOOL, self.user_role: USER, self.assistant_role: ASSISTANT},
        }
        messages = [say(SYSTEM, record["system"])] if record.get("system") else []
        for number, turn in enumerate(list_in(record, self.conversations_key)):
            field = f"{self.conversations_key}[{number}]"
            speaker = turn.get(self.role_key) if isinstance(turn, dict) else None
            if speaker not in roles:
                allowed = f"{self.user_role}, {self.assistant_role}, {SYSTEM}, {TOOL}"
                near = nearest(str(speaker), roles)
                raise RecordError(f"{field}.{self.role_key}", f"{speaker!r:.40} is not a role", allowed, near)
            messages.append(say(roles[speaker], turn.get(self.text_key)))
        return checked_conversation(messages, self.conversations_key)

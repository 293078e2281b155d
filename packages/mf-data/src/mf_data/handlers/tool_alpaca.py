"""Records of the ToolAlpaca data set, as ChatGLM3 is tuned on them: `conversations`, and `tools` that they may use."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mf_config.schema import component
from mf_data.handlers.base import HandlerKeys
from mf_data.texts.conversations import ASSISTANT, TOOL, Conversation, Message, call, checked_conversation, list_in, say
from mf_data.texts.records import Record, RecordError


@component("data_handler", "ToolAlpacaDataHandler")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAlpacaDataHandler(HandlerKeys):
    """Messages among which one with the role tool is both the assistant's call and what came back."""

    def conversation(self, record: Record) -> Conversation:
        """See `mf_data.handlers.base.DataHandler.conversation`."""
        turns = list_in(record, "conversations")
        messages = [
            message for number, turn in enumerate(turns) for message in _messages(turn, f"conversations[{number}]")
        ]
        tools = list_in(record, "tools") if record.get("tools") else ()
        return checked_conversation(messages, "conversations", tools)


def _messages(turn: Any, field: str) -> Iterator[Message]:
    if not isinstance(turn, dict) or turn.get("role") != TOOL:
        yield turn
        return
    name, parameters = turn.get("name"), turn.get("parameters")
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise RecordError(field, "has no name and parameters", "name, parameters and observation of the tool")
    loss = {"loss": turn["loss"]} if "loss" in turn else {}
    yield say(ASSISTANT, "", tool_calls=[call(name, parameters)], **loss)
    observation = turn.get("observation")
    yield say(TOOL, observation if isinstance(observation, str) else json.dumps(observation, ensure_ascii=False))

"""Conversations with tools in the form of the ToolAlpaca data set."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.handlers.tool_alpaca import ToolAlpacaDataHandler
from mf_data.loaders.base import ON_BROKEN, LoaderKeys
from mf_data.texts.conversations import Conversation
from mf_data.texts.data_files import find_files
from mf_data.texts.record_conversations import read_converted
from mf_data.texts.records import OnBroken


@component("data_loader", "ToolAlpacaDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAlpacaDataLoader(LoaderKeys):
    """Objects with `tools` and `conversations` from a `.json` list or a `.jsonl` file."""

    dataset_dir: str | None = key("The .json or .jsonl file to read.", None)
    shuffle: bool = key("Whether each epoch reads the rows in a new order.", False)
    on_broken: OnBroken = key(ON_BROKEN, "stop")

    def conversations(self) -> Iterator[Conversation]:
        """The conversations; see `mf_data.texts.conversations.ConversationLoader`."""
        files = find_files(self.dataset_dir or "", (".json", ".jsonl"))
        return read_converted(files, ToolAlpacaDataHandler().conversation, self.on_broken)

"""Instructions and answers from tables and JSON lines."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mf_config.problems import UserError, name_values
from mf_config.schema import component, key
from mf_config.suggest import nearest
from mf_data.handlers.adgen import AdgenInstructDataHandler
from mf_data.handlers.alpaca import AlpacaInstructDataHandler
from mf_data.handlers.share_gpt import ShareGPTDataHandler
from mf_data.loaders.base import ON_BROKEN
from mf_data.loaders.tokenized_text import TokenizedTextKeys
from mf_data.texts.conversations import Conversation, exchange
from mf_data.texts.data_files import find_files
from mf_data.texts.labelled_texts import LabelledText, labelled
from mf_data.texts.record_conversations import read_converted
from mf_data.texts.records import FORMS, OnBroken, Record, RecordError, text_in

_TURNS = {
    "data_field": "conversations_key",
    "from_keyword": "role_key",
    "value_keyword": "text_key",
    "user_role_name": "user_role",
    "assistant_role_name": "assistant_role",
}
_FIELDS = {"instruction_keyword": "instruction_key", "from_keyword": "input_key", "value_keyword": "output_key"}

_HANDLERS: Mapping[str, tuple[type[Any], Mapping[str, str]]] = {
    "alpaca": (AlpacaInstructDataHandler, {}),
    "advertisegen": (AdgenInstructDataHandler, {}),
    "multi-round-chat": (ShareGPTDataHandler, _TURNS),
    "multi-round-chat-dyn": (ShareGPTDataHandler, _TURNS),
    "multi-round-chat-dyn-alpaca": (ShareGPTDataHandler, _TURNS),
    "multi-instruct-dyn": (AlpacaInstructDataHandler, _FIELDS),
}
"""Data sets by name: the handler, and its keys under the names that MindFormers has for them."""

_WITHOUT_HANDLER = ("", "default")

_CLASSES: Mapping[str, tuple[str, str]] = {
    "ag-news": ("text", "label"),
    "cola": ("sentence", "label"),
    "imdb": ("text", "label"),
    "sst-2": ("sentence", "label"),
    "tnews": ("sentence", "label"),
}
"""Data sets of texts with classes by name: the fields of text and class."""


@component("data_loader", "SFTDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class SFTDataLoader(TokenizedTextKeys):
    """Instructions, or texts with classes, from json, jsonl, csv, tsv or parquet files.

    Each record becomes a conversation; of a data set without a known name, the first two fields of a record are prompt
    and answer. TextClassificationDataset takes cola, imdb, sst-2, ag-news and tnews.
    """

    map_function_kwargs: dict[str, Any] | None = key(
        "Names of the fields and roles in a record, by those that the data set's function has for them.", None
    )
    on_broken: OnBroken = key(ON_BROKEN, "stop")

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        known = (*_WITHOUT_HANDLER, *_HANDLERS, *_CLASSES)
        if self.dataset_name not in known:
            near = nearest(self.dataset_name, known)
            hint = f"; did you mean {near}" if near else ""
            yield "dataset_name", f"{self.dataset_name} is not known{hint}", name_values([*_HANDLERS, *_CLASSES])
            return
        names = _HANDLERS[self.dataset_name][1] if self.dataset_name in _HANDLERS else {}
        unknown = set(self.map_function_kwargs or ()) - set(names)
        if unknown:
            yield "map_function_kwargs", f"{', '.join(sorted(unknown))} is unknown", name_values(names) or "no keys"

    def conversations(self) -> Iterator[Conversation]:
        """The conversations; see `mf_data.texts.conversations.ConversationLoader`."""
        if self.dataset_name in _CLASSES:
            raise UserError(
                f"data_loader.dataset_name: {self.dataset_name} has texts with classes. "
                f"Allowed: {name_values(_HANDLERS)}; or the task TextClassificationDataset."
            )
        return read_converted(self._files(), self._convert(), self.on_broken, self.file_format)

    def labelled_texts(self) -> Iterator[LabelledText]:
        """The texts with their classes; see `mf_data.texts.labelled_texts.LabelledLoader`."""
        if self.dataset_name not in _CLASSES:
            name = self.dataset_name or "it is empty and"
            raise UserError(f"data_loader.dataset_name: {name} has no classes. Allowed: {name_values(_CLASSES)}.")
        text_field, label_field = _CLASSES[self.dataset_name]
        convert = partial(labelled, text_field=text_field, label_field=label_field)
        return read_converted(self._files(), convert, self.on_broken, self.file_format)

    def _files(self) -> list[Path]:
        return find_files(self.dataset_dir or "", tuple(f".{form}" for form in FORMS))

    def _convert(self) -> Callable[[Record], Conversation]:
        if self.dataset_name in _WITHOUT_HANDLER:
            return _first_two
        handler, names = _HANDLERS[self.dataset_name]
        given = {names[name]: value for name, value in (self.map_function_kwargs or {}).items()}
        convert: Callable[[Record], Conversation] = handler(**given).conversation
        return convert


def _first_two(record: Record) -> Conversation:
    names = list(record)
    if len(names) < 2:
        raise RecordError("", f"has {len(names)} fields", "a prompt and an answer")
    return exchange(text_in(record, names[0]), text_in(record, names[1]))

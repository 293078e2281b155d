"""Data sets in the forms that the `datasets` library of Hugging Face reads, from files that are there."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mf_config.components import type_name
from mf_config.problems import UserError, name_values
from mf_config.schema import ComponentOf, component, key
from mf_config.suggest import nearest
from mf_data.loaders.base import ON_BROKEN, ShardedKeys
from mf_data.texts.conversations import Conversation, Preference
from mf_data.texts.data_files import find_files
from mf_data.texts.record_conversations import read_converted
from mf_data.texts.records import FORMS, OnBroken

_NO_CODE = "no code of a data set is run"
_NO_HUB = "files are read where they are; nothing is downloaded or kept beside them"
_SUFFIXES = tuple(f".{form}" for form in FORMS)


@component("data_loader", "CommonDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class CommonDataLoader(ShardedKeys):
    """Files of records, each turned into a conversation by a handler."""

    shuffle: bool = key("Whether each epoch reads the rows in a new order.", True)
    path: str | None = key(
        "A file or folder of records; or the form of data_files: json, jsonl, csv, tsv, parquet.", None
    )
    handler: Annotated[Any, ComponentOf("data_handler")] | None = key(
        "What turns a record into a conversation, chosen by type.", None
    )
    input_columns: tuple[str, ...] = key(
        "The columns that a row has.", ("input_ids", "labels"), inert="the data set's task makes the columns"
    )
    split: str = key("The part of the data set; where data_files is a list, all of it is train.", "train")
    name: str | None = key("Name of a configuration of the data set.", None, inert=_NO_HUB)
    data_dir: str | None = key("Folder of the data set's files.", None)
    data_files: str | tuple[str, ...] | dict[str, Any] | None = key("A file, a list of files, or files by split.", None)
    cache_dir: str | None = key("Folder for downloaded and prepared data.", None, inert=_NO_HUB)
    features: dict[str, Any] | None = key("Types of the columns.", None, inert="the handler checks each record")
    streaming: bool = key(
        "Read the records while they are needed instead of all at first.", False, inert="records are always streamed"
    )
    num_proc: int | None = key(
        "Processes that prepare the data.", None, minimum=1, inert="the tokenizer uses all cores"
    )
    revision: str | None = key("Version of the data set.", None, inert=_NO_HUB)
    token: str | None = key("Access token of the hub.", None, inert=_NO_HUB)
    trust_remote_code: bool = key("Run the code that comes with a data set.", False, inert=_NO_CODE)
    on_broken: OnBroken = key(ON_BROKEN, "stop")

    def conversations(self) -> Iterator[Conversation]:
        """The conversations; see `mf_data.texts.conversations.ConversationLoader`."""
        handler = self._checked_handler()
        files, form = self._files()
        return read_converted(files, handler.conversation, self.on_broken, form)

    def preferences(self) -> Iterator[Preference]:
        """The pairs of a handler that makes such; see `mf_data.texts.conversations.PreferenceLoader`."""
        handler = self._checked_handler()
        if not hasattr(handler, "preference"):
            name = type_name(handler)
            raise UserError(f"data_loader.handler: {name} makes no pairs. Allowed: PreferenceDataHandler.")
        files, form = self._files()
        return read_converted(files, handler.preference, self.on_broken, form)

    def _checked_handler(self) -> Any:
        if self.handler is None:
            raise UserError("data_loader.handler: is missing. Allowed: a section with the type of a data handler.")
        return self.handler

    def _files(self) -> tuple[list[Path], str | None]:
        """The files to read, and their form where `path` names it."""
        form = self.path if self.path in FORMS else None
        if self.data_files is None:
            place = self.data_dir if form or not self.path else self.path
            return find_files(place or "", _SUFFIXES, "data_loader.data_dir" if form else "data_loader.path"), form
        names = self.data_files
        splits = names if isinstance(names, dict) else {"train": names}
        if self.split not in splits:
            near = nearest(self.split, splits)
            hint = f" Did you mean {near}?" if near else ""
            raise UserError(
                f"data_loader.split: {self.split} is not among the data_files. Allowed: {name_values(splits)}.{hint}"
            )
        chosen = splits[self.split]
        folder = Path(self.data_dir or (self.path if self.path and not form else "."))
        listed = (chosen,) if isinstance(chosen, str) else tuple(chosen)
        files = [folder / name for name in listed]
        for file in files:
            if not file.is_file():
                raise UserError(f"data_loader.data_files: {file} does not exist. Allowed: files of records.")
        return files, form

"""Rows of texts with a class each."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_config.schema import component
from mf_data.datasets.base import TaskKeys, refuse_loader
from mf_data.loader import Loader
from mf_data.prepared.stored_rows import StoredFile, StoredLoader, stored_column
from mf_data.progress import Progress
from mf_data.rows.data_set import ColumnRows, padded
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import filling
from mf_data.texts.labelled_texts import LabelledLoader
from mf_data.tokenizers.base import Tokenizer

_IDS, _MASK, _LABELS = "input_ids", "attention_mask", "labels"
_NAMES = {_IDS: (_IDS,), _MASK: (_MASK, "input_mask"), _LABELS: (_LABELS, "label_ids", "label")}
"""Columns of rows, and the names that stored ones may have for them."""


@component("dataset", "TextClassificationDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class TextClassificationDataset(TaskKeys):
    """Rows of up to `seq_length` ids with the number of a class."""

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> ColumnRows:
        """Read the texts and make their rows, in memory.

        Args:
            loader: gives texts with classes, or stored rows: `input_ids`, `attention_mask` (or `input_mask`; without
                one, what is no padding counts) and `labels` (or `label_ids`).
            tokenizer: makes the ids, its special tokens around them included.
            seq_length: ids of a row; of longer texts the end is cut off.
            settings: not read.
            progress: called now and then with the bytes of text done so far.
        Returns:
            The rows: `input_ids` and `attention_mask`, int32 [n, seq_length], and `labels`, int32 [n, 1].
        Raises:
            UserError: a file is missing or broken, or lacks a column.
        """
        pad = filling(tokenizer)
        if isinstance(loader, LabelledLoader):
            ids, labels = _encoded(loader, tokenizer, seq_length, progress)
            masks = [np.ones(len(text), np.int32) for text in ids]
        elif isinstance(loader, StoredLoader):
            ids, masks, labels = _stored(loader.stored_files(), seq_length, pad)
        else:
            raise refuse_loader(self, loader)
        columns = {
            _IDS: padded(ids, seq_length, pad),
            _MASK: padded(masks, seq_length, 0),
            _LABELS: np.array(labels, np.int32).reshape(-1, 1),
        }
        return ColumnRows(columns, {_IDS: pad, _MASK: 0, _LABELS: 0})


def _encoded(
    loader: LabelledLoader, tokenizer: Tokenizer, seq_length: int, progress: Progress
) -> tuple[list[NDArray[np.int32]], list[int]]:
    ids, labels, done = [], [], 0
    for each in loader.labelled_texts():
        ids.append(np.array(tokenizer.encode(each.text, parse_special_tokens=False)[:seq_length], np.int32))
        labels.append(each.label)
        done += len(each.text.encode())
        progress(done)
    return ids, labels


def _stored(
    files: Iterable[StoredFile], seq_length: int, pad: int
) -> tuple[list[NDArray[np.int32]], list[NDArray[np.int32]], list[int]]:
    ids, masks, labels = [], [], []
    for file in files:
        id_name, label_name = (stored_column(file, _NAMES[name]) for name in (_IDS, _LABELS))
        mask_name = next((name for name in _NAMES[_MASK] if name in file.columns), None)
        for number in range(len(file)):
            row = file.row(number)
            found = row[id_name]
            mask = row[mask_name] if mask_name else found != pad
            if len(found) > seq_length or len(mask) != len(found) or row[label_name].size != 1:
                raise UserError(
                    f"{file.path}: row {number} has {len(found)} ids, {len(mask)} values of a mask and "
                    f"{row[label_name].size} labels. Allowed: up to seq_length = {seq_length}, as many, and one."
                )
            ids.append(found.astype(np.int32))
            masks.append(mask.astype(np.int32))
            labels.append(int(row[label_name][0]))
    return ids, masks, labels

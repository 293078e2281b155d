"""Rows of equal length cut from one long run of token ids that lies in memory."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import Columns, digest


class TokenRows:
    """Disjoint windows of a token stream, in one column `input_ids`; the incomplete window at the end is left out.

    Attributes:
        dropped_tokens: how many tokens of the stream are in no row.
        padding: what fills a row that stands for no data.
    """

    def __init__(self, tokens: NDArray[np.int32], width: int, *, pad_id: int):
        """Cuts the stream.

        Args:
            tokens: int32 [any], the ids of all documents, one after the other.
            width: tokens of a row; one more than a model reads at once, since the last one is only a target.
            pad_id: id that fills a row which stands for no data.
        """
        complete = len(tokens) // width
        self._ids = tokens[: complete * width].reshape(complete, width)
        self.dropped_tokens = len(tokens) - self._ids.size
        self.padding: Mapping[str, int] = {"input_ids": pad_id}

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._ids)

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """Some of the rows.

        Args:
            indices: int [n], each from 0 to `len(self) - 1`.
        Returns:
            `input_ids`: int32 [n, width], a copy.
        """
        return {"input_ids": self._ids[indices]}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all the rows: equal if, and only if, the rows are equal."""
        return digest(self._ids.shape, np.ascontiguousarray(self._ids, dtype="<i4"))

"""Rows whose documents do not see each other: positions, labels and the numbers of documents beside the ids."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import IGNORED, Columns, Rows, digest
from mf_data.rows.document_masks import labels_within, positions_in, segments_by_end
from mf_data.rows.row_order import Groups, groups_of

BOUNDARY_PADDING = {"labels": IGNORED, "position_ids": 0, "segment_ids": 0}
"""What fills the columns that tell of documents where a row stands for no data."""


class DocumentRows:
    """The rows of a data set with positions and attention reset behind each end token (`eod_reset`).

    Attributes:
        padding: what fills a row that stands for no data.
    """

    def __init__(self, rows: Rows, end_id: int):
        """Takes rows of ids, and the token that ends a document."""
        self._rows = rows
        self._end_id = end_id
        self.padding: Mapping[str, int] = {**rows.padding, **BOUNDARY_PADDING}

    @property
    def groups(self) -> Groups | None:
        """Those of the data set."""
        return groups_of(self._rows)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the rows."""
        return digest("documents", self._end_id, self._rows.fingerprint)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """Some of the rows.

        Args:
            indices: int [n].
        Returns:
            The columns of the data set, int32 [n, width] each, and as wide: `labels`, ignored at the first token of
            each document; `position_ids`, from 0 in each; `segment_ids`, the number of the document within its row.
        """
        columns = self._rows[indices]
        segments = segments_by_end(columns["input_ids"], self._end_id)
        labels = labels_within(columns.get("labels", columns["input_ids"]), segments)
        return {**columns, "labels": labels, "position_ids": positions_in(segments), "segment_ids": segments}

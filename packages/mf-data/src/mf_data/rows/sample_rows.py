"""Rows of texts with labels: each alone in its row and padded, or several in one that do not see each other."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import IGNORED, Columns, digest
from mf_data.rows.document_masks import labels_within, positions_in
from mf_data.rows.document_rows import BOUNDARY_PADDING
from mf_data.rows.packing import Packing
from mf_data.rows.samples import Samples


class SampleRows:
    """Rows of packed texts, padded on the right.

    No label lets a text foretell another one, and padding has none, whatever id it uses: the end token of a text counts
    also where the padding looks like it. Padding has the number behind the last text's, so no text sees it.

    Attributes:
        packing: which texts share a row, and how full the rows are.
        padding: what fills a row that stands for no data.
    """

    def __init__(self, samples: Samples, packing: Packing, width: int, pad_id: int):
        """Takes the texts, none longer than `width`, which of them share a row, its tokens, and the id of padding."""
        self._samples = samples
        self.packing = packing
        self._width = width
        self.padding: Mapping[str, int] = {"input_ids": pad_id, **BOUNDARY_PADDING}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all the rows."""
        samples, packing = self._samples, self.packing
        return digest("samples", self._width, samples.ids, samples.labels, samples.starts, packing.order, packing.ends)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.packing.ends)

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """Some of the rows.

        Args:
            indices: int [n].
        Returns:
            int32 [n, width] each: `input_ids`; `labels`, beside them (not shifted); `position_ids`, from 0 in each
            text; `segment_ids`, the number of the text within its row.
        """
        shape = (len(indices), self._width)
        ids = np.full(shape, self.padding["input_ids"], np.int32)
        labels = np.full(shape, IGNORED, np.int32)
        segments = np.zeros(shape, np.int32)
        for row, index in enumerate(indices.tolist()):
            end = 0
            for text in self.packing.texts(index).tolist():
                text_ids, text_labels = self._samples.one(text)
                place = slice(end, end + len(text_ids))
                ids[row, place], labels[row, place] = text_ids, text_labels
                end = place.stop
                segments[row, end:] += 1
        return {
            "input_ids": ids,
            "labels": labels_within(labels, segments),
            "position_ids": positions_in(segments),
            "segment_ids": segments,
        }

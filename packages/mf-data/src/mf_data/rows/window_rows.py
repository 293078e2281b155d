"""Rows that are windows over whole documents: windows overlap, and each token counts in one of them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import IGNORED, Columns, digest


class WindowRows:
    """Windows of at most `window` ids, from one document each, whose last id is only foretold.

    A document's first window counts all that it foretells; each further one begins `stride` ids later and counts the
    ids that no window before it has. Source: Hugging Face Transformers, "Perplexity of fixed-length models".

    Attributes:
        padding: what fills a row that stands for no data.
    """

    def __init__(self, documents: Iterable[Sequence[int]], width: int, window: int, stride: int, pad_id: int):
        """Cuts the documents.

        Args:
            documents: ids of each; the first of them is never counted.
            width: ids of a row, above `window`.
            window: ids that the model reads at once.
            stride: ids from the beginning of a window to that of the next, up to `window`.
            pad_id: id that fills a row up.
        """
        pieces, firsts, stops, counted, start = [np.zeros(0, np.int32)], [], [], [], 0
        for document in documents:
            pieces.append(np.array(document, np.int32))
            end = start + len(document)
            done = start + 1
            for first in range(start, end - 1, stride):
                if done == end:
                    break
                stop = min(first + window + 1, end)
                firsts.append(first)
                stops.append(stop)
                counted.append(done)
                done = stop
            start = end
        self._ids = np.concatenate(pieces)
        self._firsts, self._stops, self._counted = (np.array(part, np.int64) for part in (firsts, stops, counted))
        self._width = width
        self.padding: Mapping[str, int] = {"input_ids": pad_id, "labels": IGNORED}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all the rows."""
        return digest("windows", self._width, self._ids, self._firsts, self._stops, self._counted)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._firsts)

    def __getitem__(self, indices: NDArray[np.integer[Any]]) -> Columns:
        """Some of the rows.

        Args:
            indices: int [n].
        Returns:
            `input_ids` and `labels` beside them (not shifted), int32 [n, width] each.
        """
        places = self._firsts[indices][:, None] + np.arange(self._width)
        inside = places < self._stops[indices][:, None]
        ids = np.where(inside, self._ids[np.where(inside, places, 0)], np.int32(self.padding["input_ids"]))
        labels = np.where(inside & (places >= self._counted[indices][:, None]), ids, np.int32(IGNORED))
        return {"input_ids": ids, "labels": labels}

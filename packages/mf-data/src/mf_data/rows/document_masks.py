"""Where documents end within rows, in the forms that models take: numbers of documents, positions, lengths, a mask.

All functions are plain numpy. B rows, T tokens.
"""

import numpy as np
from numpy.typing import NDArray

from mf_data.rows.data_set import IGNORED


def segments_by_end(ids_BT: NDArray[np.int32], end_id: int) -> NDArray[np.int32]:
    """Number the documents of each row, which an end token closes.

    Args:
        ids_BT: int32 [rows, tokens].
        end_id: the token that ends a document; it belongs to the document that it ends.
    Returns:
        int32 [rows, tokens], from 0 in each row, one more after each end token.
    """
    ended_BT = (ids_BT == end_id).astype(np.int32)
    numbers_BT: NDArray[np.int32] = np.cumsum(ended_BT, axis=1, dtype=np.int32)
    numbers_BT -= ended_BT
    return numbers_BT


def positions_in(segments_BT: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count the tokens of each document.

    Args:
        segments_BT: int32 [rows, tokens], equal within a document, different from one to the next.
    Returns:
        int32 [rows, tokens], from 0 in each document.
    """
    places_T = np.arange(segments_BT.shape[1])
    starts_BT = np.where(begins(segments_BT), places_T, 0)
    return (places_T - np.maximum.accumulate(starts_BT, axis=1)).astype(np.int32)


def begins(segments_BT: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Where a document begins: bool [rows, tokens], True at the first token of a row too."""
    first_BT = np.ones(segments_BT.shape, bool)
    first_BT[:, 1:] = segments_BT[:, 1:] != segments_BT[:, :-1]
    return first_BT


def labels_within(labels_BT: NDArray[np.int32], segments_BT: NDArray[np.int32]) -> NDArray[np.int32]:
    """Take out the labels that the last token of one document would have to foretell of the next.

    Args:
        labels_BT: int32 [rows, tokens], beside the ids (not shifted).
        segments_BT: int32 [rows, tokens], numbers of the documents.
    Returns:
        int32 [rows, tokens]: `IGNORED` at the first token of every document.
    """
    return np.where(begins(segments_BT), np.int32(IGNORED), labels_BT)


def attention_mask(segments_BT: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which tokens each token may see: itself and those before it in its own document.

    It takes rows * tokens**2 bytes; attention that knows `cumulative_lengths` needs no such mask.

    Args:
        segments_BT: int32 [rows, tokens], numbers of the documents.
    Returns:
        bool [rows, tokens, tokens]: True where the second index may be seen from the first.
    """
    causal_TT = np.tri(segments_BT.shape[1], dtype=bool)
    same_BTT: NDArray[np.bool_] = segments_BT[:, :, None] == segments_BT[:, None, :]
    return causal_TT & same_BTT


def cumulative_lengths(segments_BT: NDArray[np.int32]) -> NDArray[np.int32]:
    """Where documents end when all rows are laid one after the other, as attention over a flat batch takes it.

    Args:
        segments_BT: int32 [rows, tokens], numbers of the documents.
    Returns:
        int32 [documents + 1]: 0, then the end of each document; the last is rows * tokens.
    """
    starts = np.flatnonzero(begins(segments_BT))
    return np.append(starts, segments_BT.size).astype(np.int32)

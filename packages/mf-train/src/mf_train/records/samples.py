"""Rows of a run as a person reads them: their text, and which of it counts in the loss."""

from itertools import groupby

from mf_data.tokenizers.base import Tokenizer
from mf_train.task import Examples

Parts = list[tuple[str, bool]]
"""Pieces of one row's text in order, each with whether its tokens count."""


def sample_rows(examples: Examples, tokenizer: Tokenizer, most: int) -> list[Parts]:
    """The first rows of a batch, decoded.

    Args:
        examples: the batch.
        tokenizer: the run's tokenizer.
        most: how many rows at most.

    Returns:
        The parts of each row: its first token, which is no target, then its targets.
    """
    rows = []
    for row in range(min(most, len(examples.input_ids_BT))):
        ids = [int(examples.input_ids_BT[row, 0]), *map(int, examples.labels_BT[row])]
        counts = [False, *(bool(weight) for weight in examples.weights_BT[row])]
        runs = groupby(zip(ids, counts, strict=True), key=lambda pair: pair[1])
        rows.append([(tokenizer.decode([one for one, _ in run]), counted) for counted, run in runs])
    return rows

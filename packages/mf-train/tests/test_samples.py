"""Rows as a person reads them."""

import numpy as np

from mf_train.records.samples import sample_rows
from mf_train.task import Examples


class Letters:
    """A tokenizer whose ids are places in the alphabet."""

    def decode(self, ids: list[int]) -> str:
        return "".join(chr(ord("a") + one) for one in ids)


def test_a_row_is_its_first_token_and_its_targets_with_what_counts():
    ids = np.int32([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    weights = np.float32([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    examples = Examples(ids, ids + 1, weights)
    assert sample_rows(examples, Letters(), 2) == [
        [("ab", False), ("cd", True), ("e", False)],
        [("e", False), ("fghi", True)],
    ]

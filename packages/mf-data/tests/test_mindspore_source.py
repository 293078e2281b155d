import numpy as np

from mf_data.batches import Batches
from mf_data.mindspore_source import MindSporeSource
from mf_data.rows import ColumnRows


def test_one_item_is_one_step_of_a_rank():
    ids = np.arange(30, dtype=np.int32).reshape(10, 3)
    rows = ColumnRows({"input_ids": ids, "labels": ids + 1}, {"input_ids": 0, "labels": -100})
    batches = Batches(rows, global_batch_size=4, seed=2, shuffle=True, drop_remainder=False)
    source = MindSporeSource(batches, range(1, 6), rank=1, ranks=2)
    assert source.column_names == ("input_ids", "labels", "valid")
    assert len(source) == 5
    for item, step in enumerate(range(1, 6)):
        wanted = batches.batch(step, 1, 2)
        input_ids, labels, valid = source[item]
        np.testing.assert_array_equal(input_ids, wanted.columns["input_ids"])
        np.testing.assert_array_equal(labels, wanted.columns["labels"])
        assert valid.tolist() == [wanted.valid]

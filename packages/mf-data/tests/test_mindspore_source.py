import numpy as np
import pytest

from mf_config.problems import UserError
from mf_data.reading.batches import Batches
from mf_data.reading.mindspore_source import MindSporeSource
from mf_data.rows.data_set import ColumnRows

IDS = np.arange(30, dtype=np.int32).reshape(10, 3)


@pytest.fixture
def batches():
    rows = ColumnRows({"input_ids": IDS, "labels": IDS + 1}, {"input_ids": 0, "labels": -100})
    return Batches(rows, global_batch_size=4, seed=2, shuffle=True, drop_remainder=False)


def test_one_item_is_one_step_of_a_rank(batches):
    source = MindSporeSource.of_batches(batches, range(1, 6), rank=1, ranks=2)
    assert source.column_names == ("input_ids", "labels", "valid")
    assert len(source) == 5
    for item, step in enumerate(range(1, 6)):
        wanted = batches.batch(step, 1, 2)
        input_ids, labels, valid = source[item]
        np.testing.assert_array_equal(input_ids, wanted.columns["input_ids"])
        np.testing.assert_array_equal(labels, wanted.columns["labels"])
        assert valid.tolist() == [wanted.valid]


def test_what_went_wrong_is_kept():
    def broken(step):
        raise UserError(f"step {step} is damaged")

    source = MindSporeSource(range(3, 5), broken, ["ids"])
    assert source.failure is None
    with pytest.raises(UserError, match="step 4 is damaged"):
        source[1]
    assert str(source.failure) == "step 4 is damaged"


def test_the_pipeline_of_mindspore_gives_the_batches_in_their_order(batches):
    dataset = pytest.importorskip("mindspore.dataset")
    source = MindSporeSource.of_batches(batches, range(6))
    pipeline = dataset.GeneratorDataset(source, list(source.column_names), shuffle=False)
    found = list(pipeline.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert len(found) == 6
    for step, columns in enumerate(found):
        np.testing.assert_array_equal(columns["input_ids"], batches.batch(step).columns["input_ids"])

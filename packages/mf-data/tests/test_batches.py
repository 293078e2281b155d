import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.reading.batches import Batches
from mf_data.rows.permutation import Permutation
from mf_data.rows.token_rows import TokenRows

MASK = 2**64 - 1


def rows_of(count: int, first: int = 10) -> TokenRows:
    """Row i holds only the token `first + i`."""
    return TokenRows(np.repeat(np.arange(first, first + count, dtype=np.int32), 4), 4, pad_id=3)


def batches_of(count: int, batch: int, **options) -> Batches:
    return Batches(rows_of(count), global_batch_size=batch, **{"seed": 5, "shuffle": True, **options})


def tokens(batches: Batches, step: int, **options) -> list[int]:
    batch = batches.batch(step, **options)
    return batch.columns["input_ids"][: batch.valid, 0].tolist()


@pytest.mark.property
@given(count=st.integers(1, 60), batch=st.integers(1, 12), seed=st.integers(0, MASK), epoch=st.integers(0, 5))
def test_every_row_comes_once_an_epoch(count, batch, seed, epoch):
    batches = batches_of(count, batch, seed=seed, drop_remainder=False)
    steps = range(epoch * batches.steps_per_epoch, (epoch + 1) * batches.steps_per_epoch)
    assert {batches.epoch_of(step) for step in steps} == {epoch}
    assert Counter(t for step in steps for t in tokens(batches, step)) == Counter(range(10, 10 + count))


@pytest.mark.property
@given(count=st.integers(12, 60), ranks=st.sampled_from([1, 2, 3, 4, 6, 12]), step=st.integers(0, 20))
def test_ranks_share_a_batch_in_order_without_overlap(count, ranks, step):
    for drop_remainder in (True, False):
        batches = batches_of(count, 12, drop_remainder=drop_remainder)
        parts = [batches.batch(step, rank, ranks) for rank in range(ranks)]
        whole = batches.batch(step)
        joined = np.concatenate([part.columns["input_ids"] for part in parts])
        np.testing.assert_array_equal(joined, whole.columns["input_ids"])
        assert joined.shape == (12, 4)
        assert sum(part.valid for part in parts) == whole.valid


@pytest.mark.property
@given(count=st.integers(8, 50), batch=st.integers(1, 8), stop=st.integers(0, 40), shuffle=st.booleans())
def test_resuming_equals_never_having_stopped(count, batch, stop, shuffle):
    unbroken = batches_of(count, batch, shuffle=shuffle)
    saved = json.loads(json.dumps(unbroken.state(stop)))
    resumed = batches_of(count, batch, shuffle=shuffle)
    step = resumed.step_of(saved)
    assert step == stop
    for ahead in range(12):
        assert tokens(resumed, step + ahead) == tokens(unbroken, stop + ahead)


def test_each_step_reads_its_part_of_its_epochs_order():
    batches = batches_of(10, 4)
    for step in (0, 1, 2, 3, 5, 0):
        part = slice(4 * (step % 2), 4 * (step % 2) + 4)
        assert batches.row_indices(step).tolist() == Permutation(10, 5, step // 2)(np.arange(10))[part].tolist()


def test_repeated_rows_are_passes_of_one_epoch_each_in_its_own_order():
    rows = batches_of(10, 4)._rows
    once = Batches(rows, global_batch_size=4, seed=5, shuffle=True)
    thrice = Batches(rows, global_batch_size=4, seed=5, shuffle=True, repeat=3)
    assert (once.steps_per_epoch, thrice.steps_per_epoch) == (2, 6)
    assert [thrice.epoch_of(step) for step in (0, 5, 6)] == [0, 0, 1]
    for step in range(14):
        assert thrice.row_indices(step).tolist() == once.row_indices(step).tolist()
        assert thrice.step_of(thrice.state(step)) == step


def test_without_shuffle_rows_come_as_they_are():
    batches = batches_of(10, 4, shuffle=False)
    assert [tokens(batches, step) for step in range(3)] == [[10, 11, 12, 13], [14, 15, 16, 17], [10, 11, 12, 13]]


def test_remainder_is_left_out_or_padded():
    assert batches_of(10, 4).steps_per_epoch == 2
    batches = batches_of(10, 4, shuffle=False, drop_remainder=False)
    assert batches.steps_per_epoch == 3
    last = batches.batch(2)
    assert last.valid == 2
    assert last.columns["input_ids"].tolist() == [[18] * 4, [19] * 4, [3] * 4, [3] * 4]
    empty = batches.batch(2, rank=1, ranks=2)
    assert empty.valid == 0
    assert empty.columns["input_ids"].tolist() == [[3] * 4, [3] * 4]


def test_another_batch_size_goes_on_with_the_next_row():
    # 40 rows, stopped after update 6 of 10 with batches of 4: rows 0 to 23 are done.
    state = batches_of(40, 4, shuffle=False).state(6)
    resumed = batches_of(40, 2, shuffle=False)
    step = resumed.step_of(state)
    assert (step, resumed.steps_per_epoch) == (12, 20)
    rest = [t for s in range(step, 20) for t in tokens(resumed, s)]
    assert rest == list(range(34, 50))


def test_another_batch_size_in_a_later_epoch_reads_the_remaining_rows_once():
    before = batches_of(24, 4)
    state = before.state(6 + 3)
    resumed = batches_of(24, 6)
    step = resumed.step_of(state)
    assert resumed.epoch_of(step) == 1
    rest = [t for s in range(step, 8) for t in tokens(resumed, s)]
    done = [t for s in range(6, 9) for t in tokens(before, s)]
    assert sorted(done + rest) == list(range(10, 34))


def test_a_batch_size_that_does_not_fit_is_refused():
    state = batches_of(40, 4).state(5)
    with pytest.raises(
        UserError, match=r"done 20 of 40 rows in batches of 4, .* batches of 8\..* divides 20, e\.g\. 4"
    ):
        batches_of(40, 8).step_of(state)


def test_another_data_set_is_refused():
    state = batches_of(40, 4).state(5)
    other = Batches(rows_of(40, first=11), global_batch_size=4, seed=5, shuffle=True)
    with pytest.raises(UserError, match="the data set is not the one of the checkpoint: it had 40 rows and now has 40"):
        other.step_of(state)


@pytest.mark.parametrize(
    ("options", "message"), [({"seed": 6}, "seed: 6, .* 5"), ({"shuffle": False}, "shuffle: False")]
)
def test_another_order_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        batches_of(40, 4, **options).step_of(batches_of(40, 4).state(5))


def test_another_seed_does_not_matter_without_shuffle():
    state = batches_of(40, 4, shuffle=False).state(5)
    assert batches_of(40, 4, shuffle=False, seed=6).step_of(state) == 5


def test_a_state_of_another_form_is_refused():
    state = batches_of(40, 4).state(5)
    del state["row"]
    with pytest.raises(UserError, match="can't be read: row is missing"):
        batches_of(40, 4).step_of({**state})


def test_ranks_must_divide_the_batch():
    with pytest.raises(UserError, match=r"a global batch of 4 rows can't be divided among 3 data-parallel ranks"):
        batches_of(40, 4).batch(0, 0, 3)


def test_fewer_rows_than_a_batch_are_refused_unless_padding_is_wanted():
    with pytest.raises(UserError, match="has 3 rows, but a batch needs 4"):
        batches_of(3, 4)
    assert batches_of(3, 4, drop_remainder=False).steps_per_epoch == 1
    with pytest.raises(UserError, match="has 0 rows"):
        batches_of(0, 4, drop_remainder=False)

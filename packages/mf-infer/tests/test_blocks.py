import pytest

from mf_infer.engine.blocks import START, BlockPool, block_key


def test_blocks_are_given_out_once_until_none_is_left():
    pool = BlockPool(4)
    taken = [pool.take() for _ in range(4)]
    assert sorted(taken[:3]) == [1, 2, 3]
    assert (taken[3], pool.free, pool.size) == (None, 0, 3)


def test_a_released_block_keeps_its_content_until_it_is_needed():
    pool = BlockPool(3)
    first, second = pool.take(), pool.take()
    pool.remember(first, b"a")
    pool.release([first, second])
    assert pool.free == 2
    assert pool.find(b"a") == first
    assert pool.free == 1
    pool.release([first])
    # The one without known content goes first.
    assert [pool.take(), pool.take()] == [second, first]
    assert pool.find(b"a") is None


def test_what_was_unused_for_longest_is_forgotten_first_and_the_end_of_a_sequence_before_its_beginning():
    pool = BlockPool(5)
    old, new = [pool.take(), pool.take()], [pool.take(), pool.take()]
    for block, key in zip(old + new, (b"1", b"2", b"3", b"4"), strict=True):
        pool.remember(block, key)
    pool.release(old)
    pool.release(new)
    assert [pool.take() for _ in range(4)] == [old[1], old[0], new[1], new[0]]


def test_a_shared_block_is_free_when_its_last_owner_has_gone():
    pool = BlockPool(2)
    block = pool.take()
    pool.share(block)
    pool.release([block])
    assert pool.free == 0
    pool.release([block])
    assert pool.free == 1
    with pytest.raises(AssertionError, match="has no owner"):
        pool.release([block])


def test_of_two_blocks_with_one_content_the_first_is_found():
    pool = BlockPool(3)
    first, second = pool.take(), pool.take()
    pool.remember(first, b"a")
    pool.remember(second, b"a")
    pool.release([second, first])
    assert pool.find(b"a") == first


def test_a_key_tells_all_tokens_before_it():
    first = block_key(START, [1, 2])
    assert block_key(first, [3, 4]) == block_key(block_key(START, [1, 2]), [3, 4])
    assert len({first, block_key(START, [2, 1]), block_key(START, [1, 2, 3]), block_key(first, [1, 2])}) == 4

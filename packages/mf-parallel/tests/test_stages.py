"""Which blocks each pipeline stage has, and what stands before and behind them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_parallel.stages import Part, StageSplit

NAMES = dict.fromkeys(["embed", "layers.0.w", "layers.1.w", "layers.2.w", "norm", "head"])


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 3))
def test_every_block_is_on_one_stage_in_order(layers: int, stages: int, chunks: int):
    if layers < stages * chunks:
        with pytest.raises(UserError, match="without a block"):
            StageSplit.of(layers, stages, chunks)
        return
    split = StageSplit.of(layers, stages, chunks)
    passed = [block for row in split.chunks for first, end in row for block in range(first, end)]
    assert passed == list(range(layers))
    sizes = [end - first for row in split.chunks for first, end in row]
    assert max(sizes) - min(sizes) <= 1


def test_offsets_move_blocks_between_stages():
    # 10 blocks in 4 stages: 2 each, and 2 left over.
    assert StageSplit.of(10, 4, offsets=(0, 1, 1, 0)).chunks == (((0, 2), (2, 5), (5, 8), (8, 10)),)
    assert StageSplit.of(4, 2, offsets=(1, -1)).chunks == (((0, 3), (3, 4)),)
    assert StageSplit.of(5, 2, 2, ((0, 0), (1, 0))).chunks == (((0, 1), (1, 2)), ((2, 4), (4, 5)))


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ((1, 1, 0, 1), r"offset: \(1, 1, 0, 1\) for 10 blocks .*Allowed: numbers that sum to 2\."),
        ((1, 1), r"2 numbers for 4 stages of 1 chunks\. Allowed: 4"),
        ((-2, 2, 1, 1), "without a block"),
    ],
)
def test_offsets_that_do_not_fit_are_refused(offsets: tuple[int, ...], message: str):
    with pytest.raises(UserError, match=message):
        StageSplit.of(10, 4, offsets=offsets)


def test_interleaved_chunks_go_round_the_stages():
    split = StageSplit.of(4, 2, 2)
    assert [split.stage_of(block) for block in range(4)] == [0, 1, 0, 1]
    assert split.parts(0) == [Part(range(0, 1), True, False), Part(range(2, 3), False, False)]
    assert split.parts(1) == [Part(range(1, 2), False, False), Part(range(3, 4), False, True)]


def test_what_stands_around_the_blocks_is_at_the_ends():
    split = StageSplit.of(3, 2)
    assert split.holders(NAMES) == {
        "embed": (0,),
        "layers.0.w": (0,),
        "layers.1.w": (0,),
        "layers.2.w": (1,),
        "norm": (1,),
        "head": (1,),
    }
    assert split.holders(NAMES, tied="embed")["embed"] == (0, 1)
    assert set(StageSplit().holders(NAMES).values()) == {(0,)}

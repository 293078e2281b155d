"""Blocks of the cache: who sees what, and what may be shared."""

from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn

from mf_config.problems import UserError
from mf_models.cache import BlockCopy, CachedStep, KvCache, ScoringStep
from mf_models.families.llama import LlamaConfig
from mf_models.initializers import initialize
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.networks import build
from mf_models.paged_cache import PagedKvCache

SIZES = {"vocab_size": 19, "hidden_size": 16, "num_layers": 1, "num_heads": 4, "n_kv_heads": 2, "intermediate_size": 24}
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]


def int32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.int32))


@pytest.fixture(scope="module")
def model() -> CausalLanguageModel:
    cell = build(LlamaConfig(**SIZES, seq_length=32, initializer_range=0.3))
    initialize(cell, seed=1)
    return cell


@pytest.fixture(scope="module")
def expected(model: CausalLanguageModel) -> np.ndarray:
    """Logits after each token of the prompt, without a cache."""
    logits: np.ndarray = model(int32([PROMPT])).asnumpy()[0]
    return logits


def test_every_token_is_scored_in_one_step(model: CausalLanguageModel, expected: np.ndarray) -> None:
    step = ScoringStep(model, model.new_cache(4, 4))
    logits = step(int32([[*PROMPT, 7, 7]]), int32([0]), int32([9]), int32([[2, 3, 1]])).asnumpy()
    np.testing.assert_allclose(logits[0, :10], expected, 0, 1e-5)


def test_sequences_share_a_full_block_and_go_on_in_a_copy(model: CausalLanguageModel, expected: np.ndarray) -> None:
    cache = model.new_cache(6, 4)
    step = CachedStep(model, cache)
    # The second row is padding, which must not touch what the first one writes.
    both = np.array([PROMPT[:6], [0] * 6])
    logits = step(int32(both), int32([0, 0]), int32([5, 0]), int32([[2, 3], [0, 0]])).asnumpy()
    np.testing.assert_allclose(logits[0], expected[5], 0, 1e-5)
    BlockCopy(cache)(int32([3, 0]), int32([5, 0]))
    # Two continuations of one beginning: block 2 is shared, block 3 was copied to block 5.
    tables = int32([[2, 3], [2, 5]])
    tokens = [PROMPT[6], (PROMPT[6] + 1) % 19]
    logits = step(int32(tokens)[:, None], int32([6, 6]), int32([0, 0]), tables).asnumpy()
    np.testing.assert_allclose(logits[0], expected[6], 0, 1e-5)
    other = model(int32([[*PROMPT[:6], tokens[1], 0, 0, 0]])).asnumpy()[0, 6]
    np.testing.assert_allclose(logits[1], other, 0, 1e-5)


def test_a_cache_whose_blocks_hold_all_heads_gives_the_same(model: CausalLanguageModel, expected: np.ndarray) -> None:
    cache = PagedKvCache(1, 6, 4, *model.model.layers[0].attention.cache_sizes[:2])
    step = CachedStep(model, cache)
    # A prompt in two pieces, the second one beside padding; then one token of each of two sequences.
    logits = step(int32([PROMPT[:6]]), int32([0]), int32([5]), int32([[2, 3]])).asnumpy()
    np.testing.assert_allclose(logits[0], expected[5], 0, 1e-5)
    BlockCopy(cache)(int32([3, 0]), int32([5, 0]))
    tables = int32([[2, 3, 1], [2, 5, 4]])
    for place in range(6, 10):
        tokens = [PROMPT[place], (PROMPT[place] + 1) % 19]
        logits = step(int32(tokens)[:, None], int32([place, place]), int32([0, 0]), tables).asnumpy()
        np.testing.assert_allclose(logits[0], expected[place], 0, 1e-5)
    changed = [*PROMPT[:6], *((token + 1) % 19 for token in PROMPT[6:])]
    np.testing.assert_allclose(logits[1], model(int32([changed])).asnumpy()[0, -1], 0, 1e-5)


class Index(nn.Cell):
    """The index of a cache as a graph of its own."""

    def __init__(self, cache: KvCache):
        super().__init__()
        self.cache = cache

    def construct(self, places: Tensor, tables: Tensor) -> tuple[Tensor, Tensor]:
        return self.cache.index(places, tables)


def test_what_lies_beyond_a_table_is_written_to_nobodys_block() -> None:
    cache = KvCache(layers=1, blocks=3, block_size=2, kv_heads=2, key_dim=1)
    written, read = Index(cache)(int32([[3, 4]]), int32([[2, 1]]))
    # Place 3 is the second token of block 1, rows 2 and 3 of the pool; place 4 has no block: rows 0 and 1.
    np.testing.assert_array_equal(written.asnumpy(), [[2, 1], [0, 0], [3, 1], [1, 0]])
    np.testing.assert_array_equal(read.asnumpy(), [[[4, 2], [5, 3]]])


@pytest.mark.parametrize("sizes", [(1, 16), (2, 0)])
def test_a_cache_without_room_is_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(UserError, match=r"Allowed: at least 2 blocks of 1 token\."):
        KvCache(1, *sizes, kv_heads=1, key_dim=4)


def test_keys_and_values_may_differ_in_width() -> None:
    cache = KvCache(layers=2, blocks=3, block_size=4, kv_heads=1, key_dim=5, value_dim=3)
    assert [tuple(pool.shape) for pool in (*cache.keys, *cache.values)] == [(3, 4, 5)] * 2 + [(3, 4, 3)] * 2
    assert {pool.dtype for pool in cache.keys} == {ms.float32}

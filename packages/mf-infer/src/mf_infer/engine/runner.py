"""Runs a model's compiled steps in a few static sizes. Legend: B rows, T tokens, N blocks of a row, V vocabulary."""

from collections.abc import Iterator, Sequence

import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from mf_infer.engine.blocks import NOBODY
from mf_infer.engine.buckets import ROW_GROWTH, SHORTEST_PREFILL, SMALLEST_CONTEXT, bucket
from mf_infer.engine.chunks import Chunk
from mf_models.cache import BlockCopy, CachedStep, ScoringStep
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.rope import LengthDependentAngles


class CellRunner:
    """A model, its cache and its steps; see `Runner`. Each size compiles when it is first needed.

    Attributes:
        blocks: blocks of the cache.
        block_size: tokens of a block.
        whole_prompts: whether the model's positions are scaled by the length of the text.
        cache: keys and values of all rows.
        weight_bytes: memory of the network's parameters.
    """

    def __init__(self, model: CausalLanguageModel, blocks: int, block_size: int, max_tokens: int):
        """Takes the model, the cache's sizes, and the most tokens of one row (the model's context)."""
        cache = model.new_cache(blocks, block_size)
        self.cache = cache
        self.weight_bytes = sum(parameter.nbytes for parameter in model.get_parameters())
        self.blocks = blocks
        self.block_size = block_size
        self.whole_prompts = isinstance(model.model.angles, LengthDependentAngles)
        self._max_tokens = max_tokens
        self._step = CachedStep(model, cache)
        self._scoring = ScoringStep(model, cache)
        self._copy = BlockCopy(cache)

    def compute(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """Logits [V] after each chunk; see `Runner.compute`. Chunks of one padded length are computed together."""
        by_length: dict[int, list[int]] = {}
        for number, chunk in enumerate(chunks):
            by_length.setdefault(self._padded(chunk), []).append(number)
        found: dict[int, NDArray[np.float32]] = {}
        for tokens, numbers in by_length.items():
            for group in _groups(numbers, tokens):
                # No limit of its own: the engine has one for the rows.
                rows = bucket(len(group), 1, self.blocks * ROW_GROWTH, ROW_GROWTH)
                logits_BV = self._run(self._step, [chunks[number] for number in group], rows, tokens)
                found |= zip(group, logits_BV, strict=False)
        return [found[number] for number in range(len(chunks))]

    def score(self, chunk: Chunk) -> NDArray[np.float32]:
        """Logits [T, V] after each token of a chunk; see `Runner.score`."""
        logits_TV: NDArray[np.float32] = self._run(self._scoring, [chunk], 1, self._padded(chunk))[0]
        return logits_TV[: len(chunk.tokens)]

    def copy(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Copy blocks; see `Runner.copy`."""
        count = bucket(len(pairs), 1, self.blocks * ROW_GROWTH, ROW_GROWTH)
        padded = np.full((count, 2), NOBODY, np.int32)
        padded[: len(pairs)] = pairs
        self._copy(Tensor(padded[:, 0].copy()), Tensor(padded[:, 1].copy())).asnumpy()

    def _padded(self, chunk: Chunk) -> int:
        if len(chunk.tokens) == 1:
            return 1
        return bucket(len(chunk.tokens), SHORTEST_PREFILL, max(self._max_tokens, SHORTEST_PREFILL))

    def _run(self, step: nn.Cell, chunks: Sequence[Chunk], rows: int, tokens: int) -> NDArray[np.float32]:
        """Run a step on padded chunks; rows without one read one token 0, which is written to nobody's block."""
        ids_BT = np.zeros((rows, tokens), np.int32)
        start_B, last_B = np.zeros(rows, np.int32), np.zeros(rows, np.int32)
        tables_BN = np.full((rows, self._columns(chunks)), NOBODY, np.int32)
        for row, chunk in enumerate(chunks):
            ids_BT[row, : len(chunk.tokens)] = chunk.tokens
            start_B[row], last_B[row] = chunk.start, len(chunk.tokens) - 1
            tables_BN[row, : len(chunk.blocks)] = chunk.blocks
        logits: NDArray[np.float32] = step(*map(Tensor, (ids_BT, start_B, last_B, tables_BN))).asnumpy()
        return logits

    def _columns(self, chunks: Sequence[Chunk]) -> int:
        """Blocks of a row in the smallest graph that holds all chunks."""
        most, smallest = -(-self._max_tokens // self.block_size), -(-SMALLEST_CONTEXT // self.block_size)
        return bucket(max(len(chunk.blocks) for chunk in chunks), min(smallest, most), most)


def _groups(numbers: Sequence[int], tokens: int) -> Iterator[Sequence[int]]:
    """Chunks that are computed together: all that have one token, and prompts by fours.

    A group that would be padding by half is computed one by one: prompts cost what their tokens cost.
    """
    if tokens == 1:
        yield numbers
        return
    first = 0
    while first < len(numbers):
        size = min(len(numbers) - first, ROW_GROWTH)
        size = size if size > ROW_GROWTH // 2 else 1
        yield numbers[first : first + size]
        first += size

"""Runs a model's steps by the device's fused decoder. Legend: M tokens, R rows, N blocks of a row, V vocabulary."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mf_infer.blocks import NOBODY
from mf_infer.chunks import Chunk
from mf_infer.runner import CellRunner
from mf_models.fused_decoding import fused_decoder
from mf_models.layers.causal_lm import CausalLanguageModel


class FusedRunner(CellRunner):
    """As `CellRunner`, for models that `mf_models.fused_decoding.covers` accepts; no size waits for a graph."""

    def __init__(self, model: CausalLanguageModel, blocks: int, block_size: int, max_tokens: int):
        """See `CellRunner`."""
        super().__init__(model, blocks, block_size, max_tokens)
        self._decoder = fused_decoder(model, self.cache)

    def prefill(self, chunk: Chunk) -> NDArray[np.float32]:
        """Logits [V] after a chunk; see `Runner.prefill`."""
        logits_V: NDArray[np.float32] = self._decode([chunk], [len(chunk.tokens) - 1])[0]
        return logits_V

    def score(self, chunk: Chunk) -> NDArray[np.float32]:
        """Logits [T, V] after each token of a chunk; see `Runner.score`."""
        return self._decode([chunk], range(len(chunk.tokens)))

    def decode(self, chunks: Sequence[Chunk]) -> NDArray[np.float32]:
        """Logits [rows, V] after one more token of each row; see `Runner.decode`."""
        return self._decode(chunks, range(len(chunks)))

    def _decode(self, chunks: Sequence[Chunk], wanted: Sequence[int]) -> NDArray[np.float32]:
        """Compute chunks together; of their tokens, counted through, the wanted ones get logits."""
        sizes = [len(chunk.tokens) for chunk in chunks]
        ids_M = np.concatenate([chunk.tokens for chunk in chunks])
        places_M = np.concatenate([np.arange(chunk.start, chunk.start + len(chunk.tokens)) for chunk in chunks])
        tables_RN = np.full((len(chunks), max(len(chunk.blocks) for chunk in chunks)), NOBODY)
        for row, chunk in enumerate(chunks):
            tables_RN[row, : len(chunk.blocks)] = chunk.blocks
        return self._decoder(ids_M, places_M, np.repeat(np.arange(len(chunks)), sizes), tables_RN, np.asarray(wanted))

"""Runs a model's steps by the device's fused decoder. Legend: M tokens, R rows, N blocks of a row, V vocabulary."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mf_infer.engine.blocks import NOBODY
from mf_infer.engine.chunks import Chunk
from mf_infer.engine.runner import CellRunner
from mf_models.fused_decoding import fused_decoder
from mf_models.layers.causal_lm import CausalLanguageModel


class FusedRunner(CellRunner):
    """As `CellRunner`, for models that `mf_models.fused_decoding.covers` accepts; no size waits for a graph."""

    def __init__(self, model: CausalLanguageModel, blocks: int, block_size: int, max_tokens: int):
        """See `CellRunner`."""
        super().__init__(model, blocks, block_size, max_tokens)
        self._decoder = fused_decoder(model, self.cache)

    def compute(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """Logits [V] after each chunk; see `Runner.compute`."""
        ends = np.cumsum([len(chunk.tokens) for chunk in chunks])
        return list(self._decode(chunks, ends - 1))

    def score(self, chunk: Chunk) -> NDArray[np.float32]:
        """Logits [T, V] after each token of a chunk; see `Runner.score`."""
        return self._decode([chunk], np.arange(len(chunk.tokens)))

    def _decode(self, chunks: Sequence[Chunk], wanted: NDArray[np.intp]) -> NDArray[np.float32]:
        """Compute chunks together; of their tokens, counted through, the wanted ones get logits."""
        sizes = [len(chunk.tokens) for chunk in chunks]
        ids_M = np.concatenate([chunk.tokens for chunk in chunks])
        places_M = np.concatenate([np.arange(chunk.start, chunk.start + len(chunk.tokens)) for chunk in chunks])
        tables_RN = np.full((len(chunks), max(len(chunk.blocks) for chunk in chunks)), NOBODY)
        for row, chunk in enumerate(chunks):
            tables_RN[row, : len(chunk.blocks)] = chunk.blocks
        return self._decoder(ids_M, places_M, np.repeat(np.arange(len(chunks)), sizes), tables_RN, wanted)

"""Runs a model's compiled steps in a few static sizes. Legend: B rows, N <= B requests, T tokens, V vocabulary."""

from collections.abc import Sequence

import numpy as np
from mindspore import Tensor
from numpy.typing import NDArray

from mf_infer.buckets import SHORTEST_PREFILL, SMALLEST_CACHE, bucket
from mf_models.cache import CachedStep
from mf_models.layers.causal_lm import CausalLanguageModel


class CellSlots:
    """A cache of one size and the graphs that use it: one for decoding, and one for each length of prefill."""

    def __init__(self, model: CausalLanguageModel, rows: int, tokens: int):
        """Takes the model, and the cache's size."""
        self._rows = rows
        self._tokens = tokens
        self._step = CachedStep(model, model.new_cache(rows, tokens))

    def prefill(self, prompts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Logits [N, V] after each of N prompts; see `Slots.prefill`."""
        length = bucket(max(map(len, prompts)), SHORTEST_PREFILL, self._tokens)
        # Rows without a request read one token 0, which no other row sees.
        ids_BT = np.zeros((self._rows, length), np.int32)
        last_B = np.zeros(self._rows, np.int32)
        for row, prompt in enumerate(prompts):
            ids_BT[row, : len(prompt)] = prompt
            last_B[row] = len(prompt) - 1
        return self._run(ids_BT, np.zeros(self._rows, np.int32), last_B)[: len(prompts)]

    def decode(self, token_ids: Sequence[int], positions: Sequence[int]) -> NDArray[np.float32]:
        """Logits [N, V] after one more token of each of N requests; see `Slots.decode`."""
        ids_B1 = np.zeros((self._rows, 1), np.int32)
        start_B = np.zeros(self._rows, np.int32)
        ids_B1[: len(token_ids), 0] = token_ids
        start_B[: len(positions)] = positions
        return self._run(ids_B1, start_B, np.zeros(self._rows, np.int32))[: len(token_ids)]

    def _run(
        self, ids_BT: NDArray[np.int32], start_B: NDArray[np.int32], last_B: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Logits [B, V] of one step; arguments as in `CachedStep.construct`."""
        logits_BV: NDArray[np.float32] = self._step(Tensor(ids_BT), Tensor(start_B), Tensor(last_B)).asnumpy()
        return logits_BV


class CellRunner:
    """A model and its slots, which are kept: each size compiles once."""

    def __init__(self, model: CausalLanguageModel, max_batch_size: int, max_tokens: int):
        """Takes the model, the most requests computed together, and the most tokens of one (the model's context)."""
        self._model = model
        self._max_batch_size = max_batch_size
        self._max_tokens = max_tokens
        self._slots: dict[tuple[int, int], CellSlots] = {}

    def slots(self, count: int, tokens: int) -> CellSlots:
        """Slots for `count` requests of up to `tokens` tokens; see `Runner.slots`."""
        rows = bucket(count, 1, self._max_batch_size)
        size = rows, bucket(tokens, SMALLEST_CACHE, self._max_tokens)
        if size not in self._slots:
            self._slots[size] = CellSlots(self._model, *size)
        return self._slots[size]

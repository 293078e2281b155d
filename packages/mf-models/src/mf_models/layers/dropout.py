"""Dropout whose choice is a function of seed, step, place in the network, row and element, and of nothing else.

So a resumed run drops what the uninterrupted one does, and a row loses the same elements on whichever process and in
whichever micro batch it stands.

Legend: B rows of the batch, E elements of a row, ... any dims.
"""

import hashlib

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

DROPOUT_KEY = "dropout_key"
"""Name of the parameter that holds the key of the step."""

_BITS = 24
"""Bits of a draw; float32 would hold no more."""
_MULTIPLIERS = (0x21F0AAAD, 0xD35A2D97)
_SHIFTS = (16, 15, 15)
"""Source: Wellons 2018, Prospecting for Hash Functions, and the improved constants that he published in 2022."""


class _Mix(nn.Cell):
    """Turns int32 numbers into others that look drawn at random; one to one."""

    def __init__(self) -> None:
        super().__init__()
        self.multipliers = tuple(Tensor(_int32(value)) for value in _MULTIPLIERS)
        self.shifts = tuple(Tensor(shift, ms.int32) for shift in _SHIFTS)
        # A right shift of int32 repeats the sign; these take the repeated bits away.
        self.masks = tuple(Tensor((1 << (32 - shift)) - 1, ms.int32) for shift in _SHIFTS)
        self.xor = ops.BitwiseXor()
        self.conjunction = ops.BitwiseAnd()
        self.shift = ops.RightShift()

    def construct(self, x: Tensor) -> Tensor:
        """int32 of any shape."""
        x = self.folded(x, 0) * self.multipliers[0]
        x = self.folded(x, 1) * self.multipliers[1]
        return self.folded(x, 2)

    def folded(self, x: Tensor, part: int) -> Tensor:
        """x ^ (x >> shift), where x counts as unsigned."""
        return self.xor(x, self.conjunction(self.shift(x, self.shifts[part]), self.masks[part]))


class Dropout(nn.Cell):
    """Zeroes a share of the elements and stretches the others, in training only.

    `connect_dropout` gives it the key of the step, and its own stream by its name in the network.
    """

    def __init__(self, rate: float):
        """Takes the share, from 0, below 1."""
        super().__init__()
        self.rate = rate
        self.key: Parameter | None = None
        self.stream = Tensor(0, ms.int32)
        self.mix = _Mix()
        self.xor = ops.BitwiseXor()
        self.conjunction = ops.BitwiseAnd()
        self.bits = Tensor((1 << _BITS) - 1, ms.int32)
        self.threshold = round(rate * (1 << _BITS))

    def construct(self, x: Tensor) -> Tensor:
        """[B, ...] to [B, ...]."""
        return x * self.factors(x.shape).astype(x.dtype) if self.is_active() else x

    def is_active(self) -> bool:
        """Whether anything is dropped: only in training, and only by a model that has a key."""
        return self.training and self.rate > 0 and self.key is not None

    def factors(self, shape: tuple[int, ...]) -> Tensor:
        """0 for an element that is dropped, 1 / (1 - rate) for one that stays.

        Args:
            shape: [B, ...] of what is multiplied by them.

        Returns:
            Tensor of this shape, float32, without gradient.
        """
        elements = 1
        for size in shape[1:]:
            elements = elements * size
        assert self.key is not None
        rows_B = ops.arange(shape[0]).astype(ms.int32) + self.key[1]
        streams_B1 = self.mix(self.xor(self.mix(self.xor(self.stream, self.key[0])), rows_B)).reshape((-1, 1))
        numbers_E = self.mix(ops.arange(elements).astype(ms.int32))
        draws_BE = self.conjunction(self.mix(self.xor(streams_B1, numbers_E)), self.bits)
        kept_BE = (draws_BE >= self.threshold).astype(ms.float32)
        return ops.stop_gradient(kept_BE * (1.0 / (1.0 - self.rate))).reshape(shape)


def connect_dropout(model: nn.Cell) -> Parameter | None:
    """Let all dropout of a model draw from one key; may be called again when cells were added or taken away.

    Args:
        model: any cell.

    Returns:
        The key, None where the model has no dropout.
    """
    found = [(name, cell) for name, cell in model.cells_and_names() if isinstance(cell, Dropout) and cell.rate > 0]
    if not found:
        return None
    keys = [cell.key for _, cell in found if cell.key is not None]
    key = keys[0] if keys else Parameter(Tensor(np.zeros(2, np.int32)), name=DROPOUT_KEY, requires_grad=False)
    for name, cell in found:
        # A cell keeps its stream when its name changes, as in a part of a network.
        if cell.key is None:
            cell.key, cell.stream = key, Tensor(_int32(_digest(name)))
    return key


def set_dropout_key(key: Parameter, *, seed: int, step: int, first_row: int = 0) -> None:
    """Fix what the next forward pass drops.

    Args:
        key: result of `connect_dropout`.
        seed: of the run.
        step: number of the training step.
        first_row: number of the first row of the batch within the step, over all processes and micro batches.
    """
    key.set_data(Tensor(np.array([_digest(f"{seed}/{step}"), first_row], np.uint32).view(np.int32)))


def _digest(text: str) -> int:
    """32 bits that depend on every letter."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


def _int32(value: int) -> np.ndarray:
    """32 bits as a signed number."""
    return np.array(value, np.uint32).view(np.int32)

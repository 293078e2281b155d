"""Computes activations again in the backward pass instead of keeping them; applied to a finished network from outside.

Results don't change by a bit. Source: Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import mindspore as ms
from mindspore import Tensor, nn

from mf_config.sections.memory import RecomputeSection
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.recompute_choice import COMMUNICATION, OPERATORS, Chunks, chosen_blocks, patterns_of, selected_blocks

_ATTENTION = "attention"

_ACTIVATIONS = ("gate", "activation")
"""Attributes of feed-forwards that hold the function between their projections."""

_ACTIVATION_NAMES = ("mul", "w1.activation.silu")
"""What MindFormers calls the operators of that function."""


def recompute(
    cell: CausalLanguageModel, section: RecomputeSection, chunks: Chunks, blocks: Iterable[int] | None = None
) -> list[str]:
    """Let a network keep fewer activations; call it before the cell is compiled.

    On the CPU, attention is never computed again, whatever the section says: MindSpore 2.10 keeps what a cell with its
    own backward made the first time, so that memory grows and a step takes three times as long.

    Args:
        cell: the network, or a part of it.
        section: `recompute_config`.
        chunks: the blocks of all pipeline stages.
        blocks: the numbers of the cell's blocks; None where it has all.

    Returns:
        The patterns of the section that fit no part of a block.
    """
    full = chosen_blocks(section.recompute, chunks)
    selected = [
        *selected_blocks(section.select_recompute, OPERATORS, chunks),
        *selected_blocks(section.select_comm_recompute, COMMUNICATION, chunks),
    ]
    kept = [*patterns_of(section.select_recompute_exclude), *patterns_of(section.select_comm_recompute_exclude)]
    if ms.get_context("device_target") == "CPU":
        kept.append(_ATTENTION)
    unused = {pattern for pattern, _ in selected}
    for number, block in zip(blocks or itertools.count(), cell.model.layers, strict=False):
        parts = [part for part in _parts(block) if not any(part.fits(pattern) for pattern in kept)]
        if number in full and kept:
            for part in _outermost(parts):
                part.recompute()
        elif number in full:
            block.recompute()
        for pattern, chosen in selected:
            fitting = [part for part in parts if part.fits(pattern)]
            if fitting:
                unused.discard(pattern)
            if number in chosen and number not in full:
                for part in fitting:
                    part.recompute()
    return sorted(unused)


@dataclass(frozen=True, slots=True)
class _Part:
    """Something in a block that can be computed again.

    Attributes:
        names: its name in the cells, or those of MindFormers' operators in it, or both.
        recompute: has it computed again; MindSpore takes no notice of a second call.
    """

    names: tuple[str, ...]
    recompute: Callable[[], None]

    def fits(self, pattern: str) -> bool:
        """Whether a pattern fits one of the names."""
        return any(re.fullmatch(pattern, name) for name in self.names)


def _outermost(parts: Sequence[_Part]) -> list[_Part]:
    """The parts that are not inside another one; the layers of attention where that itself is none of them."""
    outer: list[_Part] = []
    for part in parts:
        if not any(part.names[0].startswith(f"{other.names[0]}.") for other in outer):
            outer.append(part)
    return outer


def _parts(block: nn.Cell) -> Iterator[_Part]:
    """What a block consists of, the whole before its parts."""
    for name, inner in list(block.cells_and_names()):
        if not name:
            continue
        yield _Part((name, f"{name}.norm") if name.endswith("norm") else (name,), inner.recompute)
        activation = next((found for found in _ACTIVATIONS if callable(getattr(inner, found, None))), None)
        if activation is not None:
            yield _Part(
                tuple(f"{name}.{other}" for other in _ACTIVATION_NAMES), partial(_recompute_function, inner, activation)
            )


def _recompute_function(cell: nn.Cell, attribute: str) -> None:
    """Have a function that a cell holds computed again."""
    held = getattr(cell, attribute)
    if not isinstance(held, nn.Cell):
        wrapped = _Recomputed(held)
        wrapped.recompute()
        setattr(cell, attribute, wrapped)


class _Recomputed(nn.Cell):
    """A function of tensors as a cell, because only cells can be computed again."""

    def __init__(self, function: Callable[..., Tensor]):
        super().__init__()
        self.function = function

    def construct(self, *tensors: Tensor) -> Tensor:
        """What the function makes of the tensors."""
        return self.function(*tensors)

"""`recompute_config` and `swap_config`: memory of activations against time."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import key

_WITH_ITS_LAYER = "communication is repeated with the layer around it, or not at all"

Selection = bool | tuple[bool | int | str | tuple[bool | int, ...], ...] | dict[str, bool | int | tuple[int, ...]]
"""Which layers: all or none; counts for each stage (and each interleaved part); patterns of cell names, with counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecomputeSection:
    r"""Which activations are computed again in the backward pass instead of being kept; results stay the same.

    Patterns fit whole names within a block, of its cells or of MindFormers' operators: `attention_norm`,
    `feed_forward\.mul`. On CPU, what attention computes between its projections is always kept.
    """

    recompute: bool | int | tuple[bool | int | tuple[bool | int, ...], ...] = key(
        "Layers that are wholly recomputed: True for all, or a number for each pipeline stage.", False
    )
    select_recompute: Selection = key(
        "Layers of which single operators are recomputed: True, numbers for each stage, or patterns of their names.",
        False,
    )
    select_comm_recompute: Selection = key(
        "The same for what stands beside communication: without patterns, the norms.", False
    )
    parallel_optimizer_comm_recompute: bool = key(
        "Gather divided weights again in the backward pass.", False, inert=_WITH_ITS_LAYER
    )
    mp_comm_recompute: bool = key(
        "Repeat the communication of model_parallel in recomputed layers.", True, inert=_WITH_ITS_LAYER
    )
    recompute_slice_activation: bool = key(
        "Divide what a recomputed layer keeps among ranks.", False, inert="every rank keeps what it computed"
    )
    select_recompute_exclude: Selection = key("Operators that are never recomputed.", False)
    select_comm_recompute_exclude: Selection = key("Communication that is never repeated.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapSection:
    """Which activations wait in the host's memory for the backward pass."""

    swap: bool = key("Whether activations are moved to the host.", False)
    default_prefetch: int = key("Layers ahead from which they are fetched back.", 1, minimum=1, unit="layers")
    layer_swap: tuple[dict[str, Any], ...] | None = key("Whole layers: backward_prefetch and layers.", None)
    op_swap: tuple[dict[str, Any], ...] | None = key("Operators: op_name, backward_prefetch and layers.", None)

"""Gives the operators of a finished network the strategies that follow from its plan."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mindspore import nn, ops

from mf_models.kernels import select_kernels
from mf_models.layers.attention import SelfAttention
from mf_models.layers.block import DecoderBlock
from mf_models.layers.embedding import Embedding
from mf_models.layers.linear import Linear
from mf_models.layers.mlp import GatedMlp
from mf_models.layers.moe import ExpertLinear, ExpertMlps, RoutedExperts, SharedAndRoutedExperts
from mf_models.layers.norm import LayerNorm, RmsNorm, ShiftedRmsNorm
from mf_models.layers.router import Router
from mf_models.sharded.experts import ShardedExpertLinear, ShardedExpertSwiglu, ShardedRoutedExperts
from mf_models.sharded.operators import (
    ShardedBias,
    ShardedCrossEntropy,
    ShardedHeadNorm,
    ShardedLayerNorm,
    ShardedLinear,
    ShardedRmsNorm,
    ShardedRotaryAttention,
    ShardedSum,
    ShardedSwiglu,
)
from mf_parallel.expert_parallel import AXIS as EXPERT_AXIS
from mf_parallel.plan import ParallelPlan, ParameterPlan
from mf_parallel.rules import Role

AXIS = "tp"

_ROW_AXES = ("dp", "zero", "ep")
"""Axes along which ranks read different rows."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many ranks share what of the activations.

    Attributes:
        rows: rows that different ranks read.
        features: heads, inner features and vocabulary of divided layers.
        tokens: rows of [M, D] between divided layers: those of `rows`, times those that divide tokens there.
        experts: experts; some of the ranks of `rows`.
    """

    rows: int
    features: int
    tokens: int
    experts: int = 1

    @classmethod
    def of(cls, plan: ParallelPlan) -> "Shares":
        """Those of a plan."""
        mesh = plan.mesh
        rows = math.prod(mesh.degree(axis) for axis in _ROW_AXES if axis in mesh.axes)
        features = mesh.degree(AXIS)
        return cls(rows, features, rows * (features if plan.divided_tokens else 1), mesh.degree(EXPERT_AXIS))

    @property
    def outer(self) -> int:
        """Ranks that read different rows and hold the same experts."""
        return self.rows // self.experts


def shard_operators(network: nn.Cell, plan: ParallelPlan, *, only_weights: bool = False) -> None:
    """Give the operators of a network their strategies; those that have none get theirs from the compiler.

    Args:
        network: made while `mf_parallel.automatic.context.AutomaticParallelism` is active, not compiled yet.
        plan: the layout of its parameters.
        only_weights: leave all operators out that apply no matrix or table.
    """
    shares = Shares.of(plan)
    by_layer = {kind: _BY_LAYER[kind] for kind in (Linear, Embedding)} if only_weights else _BY_LAYER
    # Some get other cells in place of theirs.
    for name, cell in list(network.cells_and_names()):
        for kind, shard in by_layer.items():
            if isinstance(cell, kind):
                shard(cell, shares, _parameters_of(name, plan))
    if plan.tied is not None:
        # The embedding is the head too, which the network itself applies.
        cell, parameter = network, plan.parameters[plan.tied]
        cell.linear = ShardedLinear(shares.rows, _outputs(parameter, shares), 1, shares.rows)


def sharded_cross_entropy(plan: ParallelPlan) -> nn.Cell:
    """The loss of the tokens of a network with such a plan, in place of `Kernels.cross_entropy`."""
    shares = Shares.of(plan)
    tables = [parameter for parameter in plan.parameters.values() if parameter.role is Role.VOCABULARY]
    head = tables[0] if plan.tied else tables[-1]
    return ShardedCrossEntropy(shares.rows, _outputs(head, shares))


def _parameters_of(cell: str, plan: ParallelPlan) -> Mapping[str, ParameterPlan]:
    """The parameters that a cell owns itself, by their last name."""
    owned = {}
    for name, parameter in plan.parameters.items():
        path, _, own = name.rpartition(".")
        if path == cell:
            owned[own] = parameter
    return owned


def _outputs(parameter: ParameterPlan, shares: Shares) -> int:
    """How many ranks share the rows of a matrix."""
    return shares.features if AXIS in parameter.axes else 1


def _linear(cell: Any, shares: Shares, owned: Mapping[str, ParameterPlan]) -> None:
    weight = owned["weight"]
    if weight.role is Role.ROW:
        cell.linear = ShardedLinear(shares.rows, 1, _outputs(weight, shares), shares.tokens)
        cell.add = ShardedBias(shares.tokens, 1)
    else:
        outputs = _outputs(weight, shares)
        cell.linear = ShardedLinear(shares.rows, outputs, 1, shares.rows)
        cell.add = ShardedBias(shares.rows, outputs)


def _embedding(cell: Any, shares: Shares, owned: Mapping[str, ParameterPlan]) -> None:
    rows = _outputs(owned["embedding_weight"], shares)
    cell.gather = ops.Gather().shard(((rows, 1), (shares.rows, 1)))


def _rms_norm(cell: Any, shares: Shares, owned: Mapping[str, ParameterPlan]) -> None:
    (parameter,) = owned.values()
    if parameter.role is Role.PER_HEAD:
        cell.rms_norm = ShardedHeadNorm(shares.rows, shares.features, cell.epsilon)
    else:
        cell.rms_norm = ShardedRmsNorm(shares.tokens, cell.epsilon)


def _layer_norm(cell: Any, shares: Shares, _owned: Mapping[str, ParameterPlan]) -> None:
    cell.layer_norm = ShardedLayerNorm(shares.tokens, cell.epsilon)


def _attention(cell: Any, shares: Shares, _owned: Mapping[str, ParameterPlan]) -> None:
    # The conditions are those under which a device's own operation of this name may be used.
    if cell.cap is None and cell.log_scale is None and not cell.alibi:
        heads = cell.wq.weight.shape[0] // cell.head_dim
        cell.rotary_attention = ShardedRotaryAttention(shares.rows, shares.features, heads, cell.scale)


def _gate(cell: Any, shares: Shares, _owned: Mapping[str, ParameterPlan]) -> None:
    if cell.gate is select_kernels().swiglu:
        cell.gate = ShardedSwiglu(shares.rows, shares.features)


def _block(cell: Any, shares: Shares, _owned: Mapping[str, ParameterPlan]) -> None:
    cell.add = ShardedSum(shares.tokens, 1)
    _replace_experts(cell, "feed_forward", shares)


def _shared_and_routed(cell: Any, shares: Shares, _owned: Mapping[str, ParameterPlan]) -> None:
    _replace_experts(cell, "routed_experts", shares)


def _replace_experts(holder: Any, name: str, shares: Shares) -> None:
    experts = getattr(holder, name)
    if isinstance(experts, RoutedExperts):
        holder.insert_child_to_cell(name, ShardedRoutedExperts(experts, shares.rows, shares.experts))


def _router(cell: Any, shares: Shares, _owned: Mapping[str, ParameterPlan]) -> None:
    by_rows = ((shares.rows, 1),)
    if cell.softmax is not None:
        cell.softmax = ops.Softmax(-1).shard(by_rows)
    cell.sigmoid = ops.Sigmoid().shard(by_rows)
    cell.top = ops.TopK(sorted=True).shard(by_rows)


def _expert_linear(cell: Any, shares: Shares, owned: Mapping[str, ParameterPlan]) -> None:
    weight = owned["weight"]
    outputs, inputs = _outputs(weight, shares), 1
    if weight.role is Role.ROW:
        outputs, inputs = inputs, outputs
    cell.linear = ShardedExpertLinear(shares.outer, shares.experts, outputs, inputs)


def _expert_mlps(cell: Any, shares: Shares, _owned: Mapping[str, ParameterPlan]) -> None:
    cell.swiglu = ShardedExpertSwiglu(shares.outer, shares.experts, shares.features)


_BY_LAYER: dict[type[nn.Cell], Callable[[Any, Shares, Mapping[str, ParameterPlan]], None]] = {
    Linear: _linear,
    Embedding: _embedding,
    RmsNorm: _rms_norm,
    ShiftedRmsNorm: _rms_norm,
    LayerNorm: _layer_norm,
    SelfAttention: _attention,
    GatedMlp: _gate,
    DecoderBlock: _block,
    SharedAndRoutedExperts: _shared_and_routed,
    Router: _router,
    ExpertLinear: _expert_linear,
    ExpertMlps: _expert_mlps,
}
"""For each kind of layer what gives its operators their strategies: the cell, the shares, and its own parameters."""

"""Experts by operators whose strategies are given.

Tokens that different ranks read are groups of their own. In each, every expert has the same room, so that ranks which
share the experts send each other messages of one size.

Legend: G groups of tokens, N tokens of a group, K experts of a token, M = N * K choices, E experts, R slots of an
expert in a group, S = E * R, P ranks that share the experts, O = G / P, D model dim, F inner dim.
"""

from typing import TypeVar

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.ops.auto_generate import SiLU

from mf_models.layers.balance import router_losses
from mf_models.layers.moe import Losses, RoutedExperts, room
from mf_models.layers.router import LEAST_SUM

_Operator = TypeVar("_Operator", bound=ops.Primitive)


def _by_group(operator: _Operator, groups: int, *ranks: int) -> _Operator:
    """An operator whose inputs of so many dimensions are divided along their first one, by groups."""
    operator.shard(tuple((groups, *[1] * (rank - 1)) if rank else () for rank in ranks))
    return operator


class ShardedExpertLinear(nn.Cell):
    """As `mf_models.kernels.expert_linear.expert_linear`, where blocks x of all groups are of expert x."""

    def __init__(self, outer: int, experts: int, outputs: int, inputs: int):
        """Takes how many ranks share each dimension.

        Args:
            outer: the groups that other ranks with the same experts read.
            experts: the experts.
            outputs: the output features.
            inputs: the input features; the partial sums of these ranks are added up.
        """
        super().__init__(auto_prefix=False)
        self.matmul = ops.BatchMatMul(transpose_b=True)
        self.matmul.shard(((outer, experts, 1, inputs), (experts, outputs, inputs)))

    def construct(self, x_OERD: Tensor, weight_EFD: Tensor, _expert_X: None = None) -> Tensor:
        """[O, E, P * R, D] to [O, E, P * R, F]."""
        return self.matmul(x_OERD, weight_EFD)


class ShardedExpertSwiglu(nn.Cell):
    """As `mf_models.sharded.operators.ShardedSwiglu`, of all experts."""

    def __init__(self, outer: int, experts: int, features: int):
        """Takes how many ranks share groups, experts and features, as `ShardedExpertLinear` does."""
        super().__init__(auto_prefix=False)
        divided = (outer, experts, 1, features)
        self.silu = SiLU().shard((divided,))
        self.mul = ops.Mul().shard((divided, divided))

    def construct(self, gate_OERF: Tensor, up_OERF: Tensor) -> Tensor:
        """Two tensors [O, E, P * R, F] to one."""
        return self.mul(self.silu(gate_OERF), up_OERF)


class GroupSlots(nn.Cell):
    """As `mf_models.layers.slots.slots_of_experts`, in each group by itself."""

    def __init__(self, groups: int, experts: int):
        """Takes the numbers of groups and experts."""
        super().__init__(auto_prefix=False)
        self.experts = experts
        self.one, self.zero = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)
        self.onehot = ops.OneHot()
        self.onehot.shard(((groups, 1, 1), (), ()))
        self.before = _by_group(ops.CumSum(exclusive=True), groups, 3)
        self.own = _by_group(ops.Mul(), groups, 3, 3)
        self.sum = _by_group(ops.ReduceSum(), groups, 3)
        self.first = _by_group(ops.CumSum(exclusive=True), groups, 2)
        self.scale = _by_group(ops.Mul(), groups, 2, 0)
        self.limit = _by_group(ops.Minimum(), groups, 2, 0)
        self.less = _by_group(ops.Less(), groups, 2, 0)
        self.add = _by_group(ops.Add(), groups, 2, 2)
        self.number = ops.Add().shard(((groups, 1), (1,)))
        self.place = ops.Add().shard(((groups, 1, 1), (1,)))
        self.sort = _by_group(ops.Sort(), groups, 2)
        self.gather = _by_group(ops.Gather(batch_dims=1), groups, 2, 2)

    def construct(self, choice_GM: Tensor, capacity: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Slots are taken in the order of the choices.

        Args:
            choice_GM: [G, M] int32, the expert of each choice.
            capacity: R, at least 1.

        Returns:
            The number of the choice that fills each slot, [G, S] int32, any where none does; the slot of each choice,
            [G, M] int32, any where it has none; 1 where it has one, [G, M] float32; and 1 where a choice is of an
            expert, [G, M, E] float32.
        """
        groups, choices = choice_GM.shape
        chosen_GME = self.onehot(choice_GM, self.experts, self.one, self.zero)
        rank_GM = self.sum(self.own(self.before(chosen_GME, 1), chosen_GME), -1)
        first_GE = self.first(self.sum(chosen_GME, 1), 1)
        # Choices of one expert stand together when sorted, in their order.
        numbers_M = ops.arange(choices).astype(ms.int32)
        by_expert_GM = self.sort(self.number(self.scale(choice_GM, choices), numbers_M))[1]
        place_GER = self.place(first_GE.reshape((groups, -1, 1)), ops.arange(capacity).astype(ms.float32))
        place_GS = self.limit(place_GER.reshape((groups, -1)), choices - 1.0).astype(ms.int32)
        slot_GM = self.add(self.scale(choice_GM, capacity), self.limit(rank_GM, capacity - 1.0).astype(ms.int32))
        kept_GM = self.less(rank_GM, float(capacity)).astype(ms.float32)
        return self.gather(by_expert_GM, place_GS, 1), slot_GM, kept_GM, chosen_GME


class GroupWeights(nn.Cell):
    """As `mf_models.layers.router.Router.weights`, of choices in the order in which they take slots."""

    def __init__(self, groups: int, is_normalized: bool, scale: float):
        """Takes the number of groups, and what is done with the scores of the chosen experts."""
        super().__init__(auto_prefix=False)
        self.is_normalized = is_normalized
        self.scale = scale
        self.pick = _by_group(ops.Mul(), groups, 4, 4)
        self.sum = _by_group(ops.ReduceSum(), groups, 4)
        self.keep = _by_group(ops.Mul(), groups, 3, 3)
        self.total = _by_group(ops.ReduceSum(keep_dims=True), groups, 3)
        self.enough = _by_group(ops.Add(), groups, 3, 0)
        self.divide = _by_group(ops.RealDiv(), groups, 3, 3)
        self.multiply = _by_group(ops.Mul(), groups, 3, 0)

    def construct(self, scores: Tensor, chosen: Tensor, kept: Tensor, of_token: int) -> Tensor:
        """How much each choice counts.

        Args:
            scores: [G, N, 1, E], or [G, 1, N, E] where all first choices come first.
            chosen: [G, N, K, E] or [G, K, N, E], 1 where the choice is of the expert.
            kept: [G, N, K] or [G, K, N], 1 where the choice has a slot.
            of_token: the dimension of K, 2 or 1.

        Returns:
            [G, N, K] or [G, K, N].
        """
        weights = self.keep(self.sum(self.pick(scores, chosen), -1), kept)
        if self.is_normalized:
            weights = self.divide(weights, self.enough(self.total(weights, of_token), LEAST_SUM))
        return self.multiply(weights, self.scale)


class ShardedRoutedExperts(nn.Cell):
    """As `mf_models.layers.moe.RoutedExperts`, whose router and experts it has.

    Source: Lepikhin et al. 2020, GShard, section 2.2 (groups) and section 3 (the exchange).
    """

    def __init__(self, routed: RoutedExperts, groups: int, sharers: int):
        """Takes the cell, how many ranks read different tokens, and how many of these share the experts."""
        super().__init__(auto_prefix=False)
        self.router, self.ffn, self.moe = routed.router, routed.ffn, routed.moe
        self.groups, self.sharers, self.outer = groups, sharers, groups // sharers
        self.slots = GroupSlots(groups, routed.moe.num_experts)
        self.weights = GroupWeights(groups, routed.moe.normalized, routed.moe.scale)
        self.reorder = _by_group(ops.Transpose(), groups, 3)
        self.token = _by_group(ops.FloorDiv() if routed.moe.first_token_first else ops.FloorMod(), groups, 2, 0)
        self.gather = _by_group(ops.Gather(batch_dims=1), groups, 3, 2)
        self.exchange = ops.Transpose()
        self.exchange.shard(((self.outer, 1, sharers, 1, 1),))
        self.weigh = _by_group(ops.Mul(), groups, 4, 4)
        self.sum = _by_group(ops.ReduceSum(), groups, 4)

    def construct(self, x_BTD: Tensor) -> tuple[Tensor, Losses]:
        """As `RoutedExperts.construct`; an expert without a limit has room for all tokens of a group.

        Args:
            x_BTD: [B, T, D], of all ranks.

        Returns:
            [B, T, D], and in training the losses.
        """
        width, chosen, experts = x_BTD.shape[-1], self.moe.chosen, self.moe.num_experts
        x_GND = x_BTD.reshape((self.groups, -1, width))
        tokens = x_GND.shape[1]
        routed = self.router(x_BTD.reshape((-1, width)))
        choice_GNK = routed[0].reshape((self.groups, tokens, chosen))
        # Choices take slots token by token, or all first choices before all second ones.
        by_token, order, of_token = self.moe.first_token_first, (tokens, chosen), 2
        if not by_token:
            choice_GNK, order, of_token = self.reorder(choice_GNK, (0, 2, 1)), (chosen, tokens), 1
        capacity = tokens
        if self.training and self.moe.capacity_factor > 0:
            capacity = room(tokens, chosen, experts, self.moe.capacity_factor)
        choice_GS, slot_GM, kept_GM, chosen_GME = self.slots(choice_GNK.reshape((self.groups, -1)), capacity)
        rows_GSD = self.gather(x_GND, self.token(choice_GS, chosen if by_token else tokens), 1)
        y_GMD = self.gather(self.results(rows_GSD, capacity), slot_GM, 1)
        scores = routed[1].reshape((self.groups, tokens, 1, experts) if by_token else (self.groups, 1, tokens, experts))
        chosen_of = chosen_GME.reshape((self.groups, *order, experts))
        weights = self.weights(scores, chosen_of, kept_GM.reshape((self.groups, *order)), of_token)
        weighed = self.weigh(y_GMD.reshape((self.groups, *order, width)), weights.reshape((self.groups, *order, 1)))
        y_BTD = self.sum(weighed, of_token).reshape(x_BTD.shape).astype(x_BTD.dtype)
        losses: Losses = ()
        if self.training and self.moe.loss_names:
            losses = (router_losses(routed[0], routed[1], routed[2], self.moe, x_BTD.shape[0]),)
        return y_BTD, losses

    def results(self, rows_GSD: Tensor, capacity: int) -> Tensor:
        """The rows of all slots through their experts: to the ranks of the experts, and back.

        Args:
            rows_GSD: [G, S, D].
            capacity: R.

        Returns:
            [G, S, D].
        """
        experts, width = self.moe.num_experts, rows_GSD.shape[-1]
        x_OPERD = rows_GSD.reshape((self.outer, self.sharers, experts, capacity, width))
        x_OEPRD = self.exchange(x_OPERD, (0, 2, 1, 3, 4))
        y = self.ffn(x_OEPRD.reshape((self.outer, experts, -1, width)))
        y_OEPRD = y.reshape((self.outer, experts, self.sharers, capacity, width))
        return self.exchange(y_OEPRD, (0, 2, 1, 3, 4)).reshape(rows_GSD.shape)

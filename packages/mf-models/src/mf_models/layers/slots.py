"""Where the rows of tokens go in the batch of their experts.

Legend: N tokens, K experts of a token, M = N * K choices, E experts, R rows of a block, X blocks, S = X * R slots.
"""

import mindspore as ms
from mindspore import Tensor, ops

Slots = tuple[Tensor, Tensor, Tensor, Tensor]
"""The slot of each choice [N, K] int32, 1 where the choice has one [N, K], the choice of each slot [S] int32 (0 where
none fills it), 1 where one does [S]."""


def slots_of_experts(choice_NK: Tensor, experts: int, capacity: int, first_token_first: bool = True) -> Slots:
    """One block for each expert; a choice that finds its expert's block full has no slot.

    Args:
        choice_NK: [N, K] int32, the experts of each token, best first.
        experts: E.
        capacity: R, at least 1.
        first_token_first: whether tokens take their slots one after another; else all first choices come first.

    Returns:
        The slots of blocks 0 to E - 1.
    """
    rank_NK = _ranks(choice_NK, experts, first_token_first)[0]
    kept_NK = (rank_NK < capacity).astype(ms.float32)
    slot_NK = choice_NK * capacity + ops.minimum(rank_NK, capacity - 1)
    # What has no slot goes to one behind the last, which is cut off.
    target_NK = ops.select(rank_NK < capacity, slot_NK, ops.fill(ms.int32, rank_NK.shape, experts * capacity))
    return slot_NK, kept_NK, *_choices(target_NK, experts * capacity)


def slots_of_blocks(choice_NK: Tensor, experts: int, rows: int, blocks: int) -> tuple[Slots, Tensor]:
    """As many blocks for each expert as its tokens need; every choice has a slot.

    Args:
        choice_NK: [N, K] int32, the experts of each token.
        experts: E.
        rows: R.
        blocks: X, enough for any choice.

    Returns:
        The slots, and the expert of each block, [X] int32, ascending; blocks that are left over are the last expert's.
    """
    rank_NK, count_E = _ranks(choice_NK, experts, True)
    needed_E = (count_E + (rows - 1)) // rows
    end_E = ops.cumsum(needed_E, 0).astype(ms.int32)
    slot_NK = ops.gather((end_E - needed_E) * rows, choice_NK, 0) + rank_NK
    number_X1 = ops.arange(blocks).astype(ms.int32).reshape((-1, 1))
    expert_X = (number_X1 >= end_E[: experts - 1]).astype(ms.int32).sum(1)
    kept_NK = ops.ones(slot_NK.shape, ms.float32)
    return (slot_NK, kept_NK, *_choices(slot_NK, blocks * rows)), expert_X.astype(ms.int32)


def _ranks(choice_NK: Tensor, experts: int, first_token_first: bool) -> tuple[Tensor, Tensor]:
    """How many choices of the same expert come before each, [N, K], and how many choose each expert, [E]; int32."""
    tokens, chosen = choice_NK.shape
    ordered_M = (choice_NK if first_token_first else choice_NK.transpose((1, 0))).reshape((-1, 1))
    chosen_ME = (ordered_M == ops.arange(experts).astype(ms.int32)).astype(ms.int32)
    rank_M = ((ops.cumsum(chosen_ME, 0).astype(ms.int32) - 1) * chosen_ME).sum(1).astype(ms.int32)
    if first_token_first:
        rank_NK = rank_M.reshape((tokens, chosen))
    else:
        rank_NK = rank_M.reshape((chosen, tokens)).transpose((1, 0))
    return rank_NK, chosen_ME.sum(0).astype(ms.int32)


def _choices(target_NK: Tensor, slots: int) -> tuple[Tensor, Tensor]:
    """The choice of each slot and whether there is one; targets from `slots` on are dropped."""
    target_M = target_NK.reshape((-1,))
    numbers_M = ops.arange(1, target_M.shape[0] + 1).astype(ms.int32)
    one_more_S = ops.tensor_scatter_elements(ops.zeros((slots + 1,), ms.int32), target_M, numbers_M, 0)[:slots]
    filled_S = (one_more_S > 0).astype(ms.float32)
    return ops.maximum(one_more_S - 1, 0).astype(ms.int32), filled_S

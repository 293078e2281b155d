"""How equally experts are used, and what is added to the loss so that they are and router outputs stay small.

Legend: N tokens, K experts of a token, E experts, G groups of experts, J sequences.
"""

import mindspore as ms
from mindspore import Tensor, ops

from mf_models.layers.moe_config import MoeConfig


def router_losses(choice_NK: Tensor, scores_NE: Tensor, logits_NE: Tensor, moe: MoeConfig, sequences: int) -> Tensor:
    """The losses of one block with experts, each times its weight.

    Args:
        choice_NK: [N, K] int32, the experts of each token, before any is dropped.
        scores_NE: [N, E], from 0 to 1.
        logits_NE: [N, E], outputs of the router.
        moe: says which losses there are.
        sequences: how many the tokens are of, which lie one behind the other.

    Returns:
        [L], float32, in the order of `moe.loss_names`.
    """
    losses: tuple[Tensor, ...] = ()
    pieces = sequences if moe.per_sequence else 1
    if moe.balance_factor:
        losses = (*losses, moe.balance_factor * balance_loss(choice_NK, scores_NE, None, pieces))
    if moe.group_balance_factor:
        losses = (*losses, moe.group_balance_factor * balance_loss(choice_NK, scores_NE, moe.balance_groups, pieces))
    if moe.z_factor:
        losses = (*losses, moe.z_factor * z_loss(logits_NE))
    return ops.stack(losses)


def balance_loss(choice_NK: Tensor, scores_NE: Tensor, groups: int | None = None, sequences: int = 1) -> Tensor:
    """E * sum_e f_e * p_e: f the share of the choices that fall on an expert, p its mean share of the scores.

    It is 1 where all experts are used equally. For groups, f is the mean and p the sum over a group's experts.

    Args:
        choice_NK: [N, K] int32.
        scores_NE: [N, E], from 0 to 1.
        groups: G, divides E; a group for each expert where None.
        sequences: J; the loss is the mean of those of each sequence.

    Returns:
        [].
    Source: Fedus et al. 2021, Switch Transformers, equations 4 to 6; DeepSeek-AI 2024, DeepSeek-V2, equations 23 to 28.
    """
    experts = scores_NE.shape[1]
    numbers_E = ops.arange(experts).astype(ms.int32)
    share_JE = (choice_NK.reshape((sequences, -1, 1)) == numbers_E).astype(ms.float32).mean(1)
    # Sigmoid scores don't sum to 1; softmax scores stay as they are.
    mean_JE = (scores_NE / scores_NE.sum(-1, keepdims=True)).reshape((sequences, -1, experts)).mean(1)
    if groups is not None:
        share_JE = share_JE.reshape((sequences, groups, -1)).mean(2)
        mean_JE = mean_JE.reshape((sequences, groups, -1)).sum(2)
    return experts * (share_JE * mean_JE).sum() / sequences


def choice_counts(choice_NK: Tensor, experts: int) -> Tensor:
    """How often each expert is chosen.

    Args:
        choice_NK: [N, K] int32, the experts of each token, before any is dropped.
        experts: E.

    Returns:
        [E] int32, adding up to N * K; without gradient.
    """
    numbers_E = ops.arange(experts).astype(ms.int32)
    return (choice_NK.reshape((-1, 1)) == numbers_E).astype(ms.int32).sum(0).astype(ms.int32)


def z_loss(logits_NE: Tensor) -> Tensor:
    """Mean square of log(sum(exp(logits))).

    Args:
        logits_NE: [N, E].

    Returns:
        [].
    Source: Zoph et al. 2022, ST-MoE, equation 5.
    """
    highest_N1 = ops.stop_gradient(logits_NE.max(axis=-1, keepdims=True))
    log_sum_N1 = ops.log(ops.exp(logits_NE - highest_N1).sum(-1, keepdims=True)) + highest_N1
    return (log_sum_N1 * log_sum_N1).mean()

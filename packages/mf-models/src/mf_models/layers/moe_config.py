"""Sizes of a mixture of experts and the way tokens choose among them, as the cells take them; imports no MindSpore."""

from dataclasses import dataclass
from typing import Any, Self

from mf_config.sections.moe import MoeSection


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeConfig:
    """Experts in the place of feed-forwards; what has a default here is as in Mixtral where it is not given.

    Attributes:
        num_experts: routed experts of a block.
        chosen: experts that each token goes to.
        expert_size: inner width of a routed expert.
        scores: how a router's outputs become scores: `softmax` over all experts, or `sigmoid` of each.
        corrected: whether a learnt bias is added to the scores for the choice alone.
        groups: equal groups of neighbouring experts.
        kept_groups: groups that a token may choose from, those with the highest score.
        best_of_group: how many of the best scores in a group make, added up, the group's own.
        normalized: whether the weights of a token's experts sum to 1 before they are scaled.
        scale: factor of the weights.
        shared_size: inner width of the expert that every token goes to; 0 for none.
        shared_gate: whether its result is weighed by a gate of its own.
        dense_layers: blocks that keep an ordinary feed-forward.
        capacity_factor: most tokens of an expert in a training step over an even share; 0 or less for no limit.
        first_token_first: whether, where an expert is full, the tokens that come first in the batch are kept; else
            those that have it as their first choice.
        balance_factor: weight of the loss that keeps experts equally loaded.
        group_balance_factor: weight of the loss that keeps `balance_groups` of experts equally loaded.
        balance_groups: equal groups of neighbouring experts; those that share a device.
        per_sequence: whether the load counts in each sequence by itself, instead of in all tokens of a step.
        z_factor: weight of the loss that keeps the router's outputs small.
    """

    num_experts: int
    chosen: int
    expert_size: int
    scores: str = "softmax"
    corrected: bool = False
    groups: int = 1
    kept_groups: int = 1
    best_of_group: int = 1
    normalized: bool = True
    scale: float = 1.0
    shared_size: int = 0
    shared_gate: bool = False
    dense_layers: tuple[int, ...] = ()
    capacity_factor: float = 0.0
    first_token_first: bool = False
    balance_factor: float = 0.0
    group_balance_factor: float = 0.0
    balance_groups: int = 1
    per_sequence: bool = False
    z_factor: float = 0.0

    @classmethod
    def of(cls, section: MoeSection, **options: Any) -> Self:
        """The experts that a section `moe_config` describes.

        Args:
            section: the section.
            **options: the attributes that it doesn't say, `expert_size` at least, or that the family has otherwise.
        """
        grouped = section.topk_method == "group_limited_greedy"
        factors = balance_factors(section)
        given: dict[str, Any] = {
            "groups": section.n_group if grouped else 1,
            "kept_groups": section.topk_group if grouped else 1,
            "normalized": section.norm_topk_prob,
            "scale": section.routed_scaling_factor,
            "shared_gate": section.use_shared_expert_gating,
            "capacity_factor": section.capacity_factor,
            "first_token_first": section.enable_sdrop,
            "balance_factor": factors.get("expert", 0.0),
            "group_balance_factor": factors.get("device", 0.0),
            "balance_groups": section.expert_group_size or 1,
            "z_factor": section.z_loss_factor,
        }
        return cls(num_experts=section.expert_num, chosen=section.num_experts_chosen, **given | options)

    @property
    def loss_names(self) -> tuple[str, ...]:
        """The losses that a block with experts adds to that of the tokens, in the order of the cell's tensor."""
        factors = {"balance": self.balance_factor, "group_balance": self.group_balance_factor, "z": self.z_factor}
        return tuple(name for name, factor in factors.items() if factor)


def balance_factors(section: MoeSection) -> dict[str, float]:
    """The kinds of balance losses that a section asks for, each with its weight."""
    if section.aux_loss_types is None:
        return {"expert": section.aux_loss_factor}
    return dict(zip(section.aux_loss_types, section.aux_loss_factors or (), strict=True))

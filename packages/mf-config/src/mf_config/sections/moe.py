"""`moe_config`: mixtures of experts in the feed-forward layers."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_NO_EXPERTS = "there are no experts yet"
_UPSTREAM_UNUSED = "no computation reads it; aux_loss_types and aux_loss_factors count"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeSection:
    """Experts, and how tokens choose among them."""

    expert_num: int = key("Experts of a layer; 1 for an ordinary feed-forward.", 1, minimum=1, pending=_NO_EXPERTS)
    num_experts_chosen: int = key("Experts that each token goes to.", 1, minimum=1, inert=_NO_EXPERTS)
    capacity_factor: float = key(
        "Most tokens of an expert over an even share; 0 or less for no limit.",
        1.1,
        unit="times an even share",
        inert=_NO_EXPERTS,
    )
    aux_loss_factor: float = key("Weight of the balance loss.", 0.05, minimum=0, maximum=1, inert=_UPSTREAM_UNUSED)
    aux_loss_types: tuple[Literal["expert", "device", "comm"], ...] | None = key(
        "Balance losses: over experts, devices or communication.", None, inert=_NO_EXPERTS
    )
    aux_loss_factors: tuple[float, ...] | None = key(
        "Weight of each of aux_loss_types.", None, minimum=0, inert=_NO_EXPERTS
    )
    z_loss_factor: float = key("Weight of the router's z-loss.", 0.0, minimum=0, inert=_NO_EXPERTS)
    routing_policy: Literal["TopkRouterV1", "TopkRouterV2"] = key(
        "How tokens choose.", "TopkRouterV1", inert=_NO_EXPERTS
    )
    topk_method: Literal["greedy", "group_limited_greedy"] = key(
        "Whether experts are chosen among all or within the best groups.", "greedy", inert=_NO_EXPERTS
    )
    n_group: int | None = key("Groups of experts for group_limited_greedy.", None, minimum=1, inert=_NO_EXPERTS)
    topk_group: int | None = key("Groups that a token may choose from.", None, minimum=1, inert=_NO_EXPERTS)
    norm_topk_prob: bool = key("Make the weights of the chosen experts sum to 1.", True, inert=_NO_EXPERTS)
    routed_scaling_factor: float = key(
        "Factor on the weights where they are not normalised.", 1.0, above=0, inert=_NO_EXPERTS
    )
    enable_sdrop: bool = key("Drop by tokens first instead of by choices first.", False, inert=_NO_EXPERTS)
    use_fused_ops_topkrouter: bool = key("Choose in one fused operator.", False, inert=_NO_EXPERTS)
    router_dense_type: Literal["float16", "float32", "bfloat16"] = key(
        "Type of the router's product.", "float32", inert=_NO_EXPERTS
    )
    shared_expert_num: int = key("Experts that every token goes to.", 0, minimum=0, inert=_NO_EXPERTS)
    use_shared_expert_gating: bool = key("Weigh the shared experts by a gate of their own.", False, inert=_NO_EXPERTS)
    first_k_dense_replace: bool | int = key(
        "Layers at the beginning that stay ordinary.", True, minimum=0, inert=_NO_EXPERTS
    )
    moe_intermediate_size: int = key("Inner width of an expert.", 1407, minimum=1, inert=_NO_EXPERTS)
    expert_group_size: int | None = key("Groups for the balance between devices.", None, minimum=1, inert=_NO_EXPERTS)
    group_wise_a2a: bool = key(
        "Divide the exchange of tokens among the ranks of model_parallel.", False, inert=_NO_EXPERTS
    )
    comp_comm_parallel: bool = key("Overlap exchange and computing.", False, inert=_NO_EXPERTS)
    comp_comm_parallel_degree: int = key("Parts that are overlapped.", 2, minimum=1, inert=_NO_EXPERTS)
    max_router_load: int = key("Most choices of one step.", 131072, minimum=1, inert=_NO_EXPERTS)
    save_token_distribution: bool = key("Record how many tokens each expert gets.", False, inert=_NO_EXPERTS)
    cur_layer: int = key("The layer that is recorded.", 0, minimum=0, inert=_NO_EXPERTS)
    enable_cold_hot_expert: bool = key("Give often chosen experts copies.", False, inert=_NO_EXPERTS)
    update_step: int = key("Steps between changes of these copies.", 10000, minimum=1, unit="steps", inert=_NO_EXPERTS)
    hot_expert_num: int = key("Experts with copies.", 0, minimum=0, inert=_NO_EXPERTS)
    cold_token_percent: float = key(
        "Share of the tokens of the other experts.", 1.0, minimum=0, maximum=1, inert=_NO_EXPERTS
    )
    moe_module_name: str = key("Name of the layers' cells.", "", inert=_NO_EXPERTS)

"""`moe_config`: mixtures of experts in the feed-forward layers."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import TRAIN_MODES, key

_ONE_ROUTER = "one router does what both do"
_NO_CHOICE = "the fastest way is chosen for the device; there is no option"
_ONE_EXCHANGE = "tokens are exchanged at once; the result is the same"
_NO_COPIES = "experts stay where they are, which changes the speed of a step and not its result"
_NOT_RECORDED = "the callback ColdHotExpertMonitor records the load of each expert"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeSection:
    """Experts, and how tokens choose among them."""

    expert_num: int = key("Experts of a layer; 1 for an ordinary feed-forward.", 1, minimum=1)
    num_experts_chosen: int = key("Experts that each token goes to.", 1, minimum=1)
    capacity_factor: float = key(
        "Most tokens of an expert over an even share of a process's tokens, in training; 0 or less for no limit.",
        1.1,
        unit="times an even share",
        modes=TRAIN_MODES,
    )
    aux_loss_factor: float = key(
        "Weight of the balance loss over experts where aux_loss_types is not given. MindFormers 1.3 takes it, but adds "
        "no loss.",
        0.05,
        minimum=0,
        maximum=1,
        modes=TRAIN_MODES,
    )
    aux_loss_types: tuple[Literal["expert", "device", "comm"], ...] | None = key(
        "Balance losses: over experts, over the expert_group_size groups that share a device, or over communication.",
        None,
        modes=TRAIN_MODES,
    )
    aux_loss_factors: tuple[float, ...] | None = key(
        "Weight of each of aux_loss_types.", None, minimum=0, modes=TRAIN_MODES
    )
    z_loss_factor: float = key("Weight of the router's z-loss.", 0.0, minimum=0, modes=TRAIN_MODES)
    routing_policy: Literal["TopkRouterV1", "TopkRouterV2"] = key(
        "How tokens choose.", "TopkRouterV1", inert=_ONE_ROUTER
    )
    topk_method: Literal["greedy", "group_limited_greedy"] = key(
        "Whether experts are chosen among all or within the best groups.", "greedy"
    )
    n_group: int | None = key("Groups of experts for group_limited_greedy.", None, minimum=1)
    topk_group: int | None = key("Groups that a token may choose from.", None, minimum=1)
    norm_topk_prob: bool = key("Make the weights of the chosen experts sum to 1.", True)
    routed_scaling_factor: float = key("Factor on the weights; DeepSeek-V2 leaves normalised ones alone.", 1.0, above=0)
    enable_sdrop: bool = key(
        "Where an expert is full, keep the first tokens instead of those that have it as their first choice.",
        False,
        modes=TRAIN_MODES,
    )
    use_fused_ops_topkrouter: bool = key("Choose in one fused operator.", False, inert=_NO_CHOICE)
    router_dense_type: Literal["float16", "float32", "bfloat16"] = key("Type of the router's product.", "float32")
    shared_expert_num: int = key(
        "Experts that every token goes to; together they are one of so many times the width.", 0, minimum=0
    )
    use_shared_expert_gating: bool = key("Weigh the shared experts by a gate of their own.", False)
    first_k_dense_replace: bool | int = key("Layers of DeepSeek at the beginning that stay ordinary.", True, minimum=0)
    moe_intermediate_size: int = key(
        "Inner width of an expert; intermediate_size says it for MixtralConfig and beside LlamaConfig.", 1407, minimum=1
    )
    expert_group_size: int | None = key(
        "Number of groups of the balance loss over devices; 1 where not given.", None, minimum=1, modes=TRAIN_MODES
    )
    group_wise_a2a: bool = key(
        "Divide the exchange of tokens among the ranks of model_parallel.", False, inert=_ONE_EXCHANGE
    )
    comp_comm_parallel: bool = key("Overlap exchange and computing.", False, inert=_ONE_EXCHANGE)
    comp_comm_parallel_degree: int = key("Parts that are overlapped.", 2, minimum=1, inert=_ONE_EXCHANGE)
    max_router_load: int = key("Most choices of one step.", 131072, minimum=1, inert="there is no limit")
    save_token_distribution: bool = key("Record how many tokens each expert gets.", False, inert=_NOT_RECORDED)
    cur_layer: int = key("The layer that is recorded.", 0, minimum=0, inert=_NOT_RECORDED)
    enable_cold_hot_expert: bool = key("Give often chosen experts copies.", False, inert=_NO_COPIES)
    update_step: int = key("Steps between changes of these copies.", 10000, minimum=1, unit="steps", inert=_NO_COPIES)
    hot_expert_num: int = key("Experts with copies.", 0, minimum=0, inert=_NO_COPIES)
    cold_token_percent: float = key(
        "Share of the tokens of the other experts.", 1.0, minimum=0, maximum=1, inert=_NO_COPIES
    )
    moe_module_name: str = key("Name of the layers' cells.", "", inert=_NO_COPIES)

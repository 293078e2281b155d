"""Mixtures of experts: how many, in what groups, on what ranks."""

from collections.abc import Iterator

from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule

_MOE = "moe_config"


@rule("experts-to-choose", Severity.ERROR, "moe_config.num_experts_chosen", "moe_config.expert_num")
def experts_to_choose(checked: Checked) -> Iterator[Finding]:
    """A token chooses at most as many experts as there are."""
    moe = checked.config.moe_config
    if moe.num_experts_chosen > moe.expert_num:
        what = f"{moe.num_experts_chosen} of {moe.expert_num} experts can't be chosen"
        yield Finding(f"{_MOE}.num_experts_chosen", what, f"up to {moe.expert_num}")


@rule("experts-divide-among-ranks", Severity.ERROR, "parallel_config.expert_parallel", "moe_config.expert_num")
def experts_divide_among_ranks(checked: Checked) -> Iterator[Finding]:
    """expert_parallel divides expert_num and data_parallel."""
    config = checked.config
    if not config.use_parallel:
        return
    ranks = config.parallel_config.expert_parallel
    for name, number in (
        ("expert_num", config.moe_config.expert_num),
        ("data_parallel", config.parallel_config.data_parallel),
    ):
        if ranks > 1 and number % ranks and not (name == "data_parallel" and number == 1):
            what = f"{ranks} ranks can't divide {name} {number}"
            yield Finding("parallel_config.expert_parallel", what, f"a divisor of {number}")


@rule("groups-of-experts", Severity.ERROR, "moe_config.n_group", "moe_config.topk_group", "moe_config.expert_num")
def groups_of_experts(checked: Checked) -> Iterator[Finding]:
    """group_limited_greedy has n_group groups that divide the experts, of which topk_group are kept."""
    moe = checked.config.moe_config
    if moe.topk_method != "group_limited_greedy":
        return
    for name in ("n_group", "topk_group"):
        if getattr(moe, name) is None:
            yield Finding(f"{_MOE}.{name}", "is missing, and topk_method group_limited_greedy needs it", "an integer")
    if moe.n_group and moe.expert_num % moe.n_group:
        yield Finding(
            f"{_MOE}.n_group", f"{moe.n_group} groups can't divide {moe.expert_num} experts", "a divisor of it"
        )
    if moe.n_group and moe.topk_group and moe.topk_group > moe.n_group:
        yield Finding(f"{_MOE}.topk_group", f"{moe.topk_group} of {moe.n_group} groups", f"up to {moe.n_group}")


@rule("weights-of-balance-losses", Severity.ERROR, "moe_config.aux_loss_factors", "moe_config.aux_loss_types")
def weights_of_balance_losses(checked: Checked) -> Iterator[Finding]:
    """Each of aux_loss_types has its factor."""
    types, factors = checked.config.moe_config.aux_loss_types or (), checked.config.moe_config.aux_loss_factors or ()
    if len(types) != len(factors):
        what = f"{len(factors)} factors for {len(types)} aux_loss_types"
        yield Finding(f"{_MOE}.aux_loss_factors", what, "one number for each type")


RULES = (experts_to_choose, experts_divide_among_ranks, groups_of_experts, weights_of_balance_losses)

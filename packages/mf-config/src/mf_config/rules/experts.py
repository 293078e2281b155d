"""Mixtures of experts: how many, in what groups, on what ranks."""

from collections.abc import Iterator

from mf_config.components import type_name
from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule
from mf_config.schema import tag_of

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


_ABOVE = (experts_to_choose, groups_of_experts, weights_of_balance_losses)
"""What families check too, because a program may set their experts without a run file."""


@rule("experts-of-the-family", Severity.ERROR, "moe_config.expert_num", "model.model_config.type")
def experts_of_the_family(checked: Checked) -> Iterator[Finding]:
    """The family of model.model_config has experts, and computes what moe_config asks for."""
    family, count = checked.config.model.model_config, checked.config.moe_config.expert_num
    if family is None or count == 1:
        return
    if not hasattr(family, "with_experts"):
        yield Finding(f"{_MOE}.expert_num", f"{count}, but {type_name(family)} has no experts", "1")
        return
    said = {finding.path for other in _ABOVE for finding in other.check(checked)}
    for name, what, allowed in family.problems():
        if name.startswith(f"{_MOE}.") and name not in said:
            yield Finding(name, what, allowed)


@rule(
    "experts-in-a-divided-network",
    Severity.BLOCKER,
    "parallel_config.pipeline_stage",
    "parallel_config.use_seq_parallel",
    "moe_config.aux_loss_factor",
    "moe_config.z_loss_factor",
)
def experts_in_a_divided_network(checked: Checked) -> Iterator[Finding]:
    """Experts take whole sequences, and their losses count where one process has all blocks."""
    config, degrees = checked.config, checked.config.parallel_config
    moe = config.moe_config
    if not config.use_parallel or moe.expert_num == 1:
        return
    if degrees.use_seq_parallel and degrees.model_parallel > 1:
        yield Finding("parallel_config.use_seq_parallel", "experts can't take parts of sequences yet", "False")
    losses = moe.aux_loss_factor if moe.aux_loss_types is None else sum(moe.aux_loss_factors or ())
    if checked.trains and degrees.pipeline_stage > 1 and losses + moe.z_loss_factor > 0:
        what = f"{degrees.pipeline_stage} stages can't add up the losses of experts yet"
        yield Finding("parallel_config.pipeline_stage", what, "1, or aux_loss_factor: 0 and z_loss_factor: 0")


_IN_EVENTS = "tensorboard.log_expert_load_to_tensorboard"
_RECORDER = "ColdHotExpertMonitor"


@rule(
    "choices-to-count",
    Severity.WARNING,
    "callbacks",
    _IN_EVENTS,
    f"{_MOE}.expert_num",
    "parallel_config.pipeline_stage",
    "parallel.parallel_mode",
)
def choices_to_count(checked: Checked) -> Iterator[Finding]:
    """The load of experts is recorded where there are experts, all of whose blocks one process has by itself."""
    config = checked.config
    why = _why_not_counted(checked)
    if not checked.trains or not why:
        return
    if config.tensorboard.tensorboard_dir and config.tensorboard.log_expert_load_to_tensorboard:
        yield Finding(_IN_EVENTS, f"has no effect: {why}")
    for index, callback in enumerate(config.callbacks):
        tag = tag_of(type(callback))
        if tag is not None and tag.names[0] == _RECORDER:
            yield Finding(f"callbacks[{index}]", f"{_RECORDER} has no effect: {why}")


def _why_not_counted(checked: Checked) -> str:
    """Why nobody knows the load of the experts; empty where it is known."""
    config = checked.config
    if config.moe_config.expert_num == 1:
        return "the network has no experts"
    if config.use_parallel and config.parallel_config.pipeline_stage > 1:
        return "the stages of a pipeline don't count the choices of experts"
    by_mindspore = config.parallel.mode in ("SEMI_AUTO_PARALLEL", "AUTO_PARALLEL")
    if config.use_parallel and config.context.device_target == "Ascend" and by_mindspore:
        return "MindSpore divides the work, and is given no strategies for counting the choices of experts"
    return ""


RULES = (
    experts_to_choose,
    experts_divide_among_ranks,
    groups_of_experts,
    weights_of_balance_losses,
    experts_of_the_family,
    experts_in_a_divided_network,
    choices_to_count,
)

"""Looks for layouts of a run that fit its devices, the fastest and those that change least; needs no device."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from mf_config import RunConfig, UserError
from mf_models.network_work import network_work
from mf_parallel.planner.card import DeviceCard
from mf_parallel.planner.estimate import Estimate, estimate
from mf_parallel.planner.layout import BackEnd
from mf_train.planning.layout_of_run import layout_of

_LEAST_ROW_PART = 1024
"""Tokens of a row that a rank has at least where the search divides rows."""

Changes = Mapping[str, Any]
"""Dotted paths of keys, `parallel_config.model_parallel`, to their values."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A layout that fits.

    Attributes:
        changes: the keys whose values differ from those of the run configuration.
        estimate: what it takes.
    """

    changes: Changes
    estimate: Estimate

    def as_options(self) -> str:
        """The changes as options of the command line."""
        return " ".join(f"--set {key}={value}" for key, value in self.changes.items())


def proposals(config: RunConfig, devices: int, card: DeviceCard, back_end: BackEnd, most: int = 5) -> list[Proposal]:
    """Layouts with the same rows a step that fit the memory of the devices.

    Args:
        config: the run configuration.
        devices: ranks of the job.
        card: the device.
        back_end: who executes the layout.
        most: how many are wanted.

    Returns:
        The one that changes fewest keys, the fastest among equals; then the fastest others, fastest first.
    """
    network, asked = network_work(config.model.model_config), config.model.model_config.compute_dtype
    found = []
    for changes in _candidates(config, devices, card, back_end):
        try:
            layout = layout_of(with_changes(config, changes), devices, back_end, network)
        except UserError:
            continue
        one = estimate(layout, card, asked)
        if one.fits:
            new = {path: value for path, value in changes.items() if _present(config, path) != value}
            found.append(Proposal(new, one))
    found.sort(key=lambda one: -one.estimate.tokens_per_second)
    nearest = min(found, key=lambda one: len(one.changes), default=None)
    others = [one for one in found if one is not nearest]
    return [] if nearest is None else [nearest, *others[: most - 1]]


def with_changes(config: Any, changes: Changes) -> Any:
    """A configuration, or a section of it, with other values of some keys."""
    for path, value in changes.items():
        name, _, rest = path.partition(".")
        config = replace(config, **{name: with_changes(getattr(config, name), {rest: value}) if rest else value})
    return config


def _present(config: Any, path: str) -> Any:
    """The value of a key; None where the section has no such key."""
    for name in path.split("."):
        config = getattr(config, name, None)
    return config


def _candidates(config: RunConfig, devices: int, card: DeviceCard, back_end: BackEnd) -> Iterator[Changes]:
    """Values of the keys that decide a layout; some of them don't fit the network."""
    model = config.model.model_config
    near = [degree for degree in range(1, card.devices_per_node + 1) if devices % degree == 0]
    tensor = [degree for degree in near if model.num_heads % degree == 0]
    context = [degree for degree in near if degree == 1 or model.seq_length // degree >= _LEAST_ROW_PART]
    if back_end is BackEnd.MINDSPORE:
        # What `automatic_limits` refuses.
        tensor, context = [degree for degree in tensor if model.vocab_size % degree == 0], [1]
    pipeline = [degree for degree in range(1, model.num_layers + 1) if devices % degree == 0]
    for tp, cp, pp in product(tensor, context, pipeline):
        replicas, rest = divmod(devices, tp * cp * pp)
        if rest:
            continue
        has_experts = config.moe_config.expert_num > 1
        degrees = {
            "parallel_config.data_parallel": replicas,
            "parallel_config.model_parallel": tp,
            "parallel_config.context_parallel": cp,
            "parallel_config.pipeline_stage": pp,
            "parallel_config.use_seq_parallel": tp > 1 and cp == 1 and not has_experts,
        }
        expert_degrees = [
            degree
            for degree in range(1, replicas + 1)
            if replicas % degree == 0 and config.moe_config.expert_num % degree == 0
        ]
        # Divided state costs little, so that whole state is only looked at where it is asked for.
        sharding = sorted({True, config.parallel.enable_parallel_optimizer})
        memory = product(expert_degrees, sharding, (False, True), _rows(config, replicas, pp))
        for experts, shards, recompute, rows in memory:
            yield {
                "use_parallel": True,
                **degrees,
                "parallel_config.expert_parallel": experts,
                "parallel.enable_parallel_optimizer": shards,
                "recompute_config.recompute": recompute,
                **rows,
                **_for_other_stages(config, pp),
            }


def _rows(config: RunConfig, replicas: int, stages: int) -> Iterator[Changes]:
    """How a step of as many rows as now is cut: into micro batches as large as now, or of one row."""
    runner, degrees = config.runner_config, config.parallel_config
    piped = config.use_parallel and degrees.pipeline_stage > 1
    micro_batches = degrees.micro_batch_num if piped else runner.gradient_accumulation_steps
    in_step = runner.batch_size * micro_batches * (degrees.data_parallel if config.use_parallel else 1)
    for rows in sorted({runner.batch_size, 1}):
        count, rest = divmod(in_step, rows * replicas)
        if rest == 0 and count >= stages:
            key = "parallel_config.micro_batch_num" if stages > 1 else "runner_config.gradient_accumulation_steps"
            yield {"runner_config.batch_size": rows, key: count}


def _for_other_stages(config: RunConfig, stages: int) -> Changes:
    """Keys with a number for each stage, which another number of stages makes meaningless."""
    if stages == config.parallel_config.pipeline_stage:
        return {}
    usual = {
        "model.model_config.offset": 0,
        "model.model_config.pp_interleave_num": 1,
        "recompute_config.select_recompute": False,
        "recompute_config.select_comm_recompute": False,
    }
    return {path: value for path, value in usual.items() if _present(config, path) is not None}

"""From a run configuration to what the planner estimates; needs no device and no MindSpore."""

import math
import re
from collections.abc import Callable
from typing import Any

from mf_config import RunConfig, UserError
from mf_config.schema import TRAIN_MODES
from mf_models.network_work import network_work
from mf_models.recompute_choice import COMMUNICATION, OPERATORS, Chunks, chosen_blocks, selected_blocks
from mf_parallel.planner.layout import BackEnd, Layout, Recomputed
from mf_parallel.planner.network import NetworkWork
from mf_parallel.stages import StageSplit
from mf_train.layout.network_limits import check_network
from mf_train.layout.plans import is_divided_by_mindspore, mesh_of, plans_of
from mf_train.layout.process_count import other_degree
from mf_train.optimizer import Shape

_OTHER_DEGREES = ("model_parallel", "context_parallel", "pipeline_stage")

_PRODUCTS = ("feed_forward.mul", "feed_forward.w1.activation.silu")
_NORMS = ("attention_norm.norm", "ffn_norm.norm")
"""The parts of a block that selective recomputation usually makes anew, by MindFormers' names."""


class _NoKernels:
    """Kernels of no device: a rule keeps these functions, and only its slots are asked for."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def uncalled(*_: Any) -> None:
            raise AssertionError(f"{name} needs a device")

        return uncalled


def check_plannable(config: RunConfig) -> None:
    """Refuse a configuration that the planner does not understand.

    Raises:
        UserError: it does not train, or trains adapters.
    """
    if config.run_mode not in TRAIN_MODES:
        raise UserError(f"run_mode: {config.run_mode} takes no training steps. Allowed: {', '.join(TRAIN_MODES)}.")
    if getattr(config.model.model_config, "pet_config", None) is not None:
        raise UserError(
            "model.model_config.pet_config: what adapters take of memory and time is not known. Allowed: no pet_config."
        )


def devices_of(config: RunConfig) -> int:
    """The number of devices that a configuration asks for by its degrees."""
    count = config.parallel_config.data_parallel if config.use_parallel else 1
    for name in _OTHER_DEGREES:
        count *= other_degree(config, name)
    return count


def back_end_of(config: RunConfig, devices: int) -> BackEnd:
    """Who executes the layout of a run.

    Args:
        config: the run configuration.
        devices: ranks of the job.
    """
    return BackEnd.MINDSPORE if devices > 1 and is_divided_by_mindspore(config) else BackEnd.EXPLICIT


def layout_of(
    config: RunConfig, devices: int, back_end: BackEnd = BackEnd.EXPLICIT, network: NetworkWork | None = None
) -> Layout:
    """How a configuration divides network and rows.

    Args:
        config: the run configuration.
        devices: ranks of the job; the degrees must multiply to it, where data_parallel 1 stands for what they leave.
        back_end: who executes it.
        network: the network of the configuration, where it is known already.

    Raises:
        UserError: the network can't be divided so.
    """
    network = network or network_work(config.model.model_config)
    mesh = mesh_of(config, devices)
    plans = plans_of(config, mesh, network.shapes_of_kinds)
    if back_end is BackEnd.EXPLICIT:
        check_network(config.model.model_config, plans)
    piped = plans.weights.split.stages > 1
    runner, degrees = config.runner_config, config.parallel_config
    return Layout(
        network=network,
        weights=plans.weights,
        optimizer=plans.optimizer,
        divides_gradients=plans.divides_gradients,
        kept_by_optimizer=_kept_by(config),
        rows=runner.batch_size * config.micro_batch_interleave_num,
        micro_batches=degrees.micro_batch_num if piped else runner.gradient_accumulation_steps,
        exchanging=plans.rows.ranks,
        recomputed=_recomputed(config, plans.weights.split),
        scheduler=config.parallel.pipeline_config.pipeline_scheduler,
        back_end=back_end,
    )


def _kept_by(config: RunConfig) -> Callable[[Shape], int]:
    """Shape of a piece to the elements that the optimizer keeps of it."""
    if config.optimizer is None:
        raise UserError("optimizer: is missing. Allowed: a section with a type, such as AdamW.")
    slots = config.optimizer.rule(_NoKernels()).slots
    return lambda shape: sum(math.prod(slot.shape) for slot in slots(shape))


def _recomputed(config: RunConfig, split: StageSplit) -> Recomputed:
    section = config.recompute_config
    chunks: Chunks = [[range(config.model.model_config.num_layers)]]
    if split.stages > 1:
        chunks = [[range(*ends) for ends in row] for row in split.chunks]
    selected = [
        *selected_blocks(section.select_recompute, OPERATORS, chunks),
        *selected_blocks(section.select_comm_recompute, COMMUNICATION, chunks),
    ]
    products = [blocks for pattern, blocks in selected if any(re.fullmatch(pattern, name) for name in _PRODUCTS)]
    norms = [blocks for pattern, blocks in selected if any(re.fullmatch(pattern, name) for name in _NORMS)]
    return Recomputed(chosen_blocks(section.recompute, chunks), frozenset().union(*products), frozenset().union(*norms))

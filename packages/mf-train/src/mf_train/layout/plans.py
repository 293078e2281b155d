"""How a run configuration divides network, optimizer state and rows among processes; needs no device."""

from collections.abc import Mapping
from dataclasses import dataclass

from mf_config import RunConfig
from mf_config.layout import Mesh
from mf_config.problems import UserError
from mf_models.registry import family_of
from mf_parallel.optimizer_sharding import shard_optimizer
from mf_parallel.plan import ParallelPlan, make_plan
from mf_parallel.row_places import RowDivision
from mf_parallel.stages import StageSplit
from mf_train.layout.process_count import other_degree, replicas_of
from mf_train.layout.row_division import row_division

AUTOMATIC_MODES = ("SEMI_AUTO_PARALLEL", "AUTO_PARALLEL")
"""Parallel modes in which MindSpore divides the work, where the device has that."""


@dataclass(frozen=True, slots=True)
class Plans:
    """Everything that is divided.

    Attributes:
        weights: the layout of the network's parameters.
        optimizer: that of each kind of the optimizer's state.
        divides_gradients: whether gradients are divided as the optimizer's state is, before they are added up over
            micro batches.
        rows: how the tokens of a row are divided.
        row_length: tokens of a row.
    """

    weights: ParallelPlan
    optimizer: ParallelPlan
    divides_gradients: bool
    rows: RowDivision
    row_length: int


def mesh_of(config: RunConfig, size: int) -> Mesh:
    """Lay processes out as a configuration says.

    Args:
        config: the run configuration.
        size: a number of processes that fits it.
    Returns:
        The mesh. Experts are divided among processes that read different rows, as in MindFormers, so `dp` times `ep`
        is data_parallel.
    Raises:
        UserError: the experts can't be divided so.
    """
    degrees, replicas = config.parallel_config, replicas_of(config, size)
    if size == 1:
        return Mesh.of()
    if replicas % degrees.expert_parallel:
        raise UserError(
            f"parallel_config.expert_parallel: {degrees.expert_parallel}, but {replicas} groups of processes read "
            f"different rows. Allowed: a divisor of {replicas}."
        )
    return Mesh.of(
        pp=other_degree(config, "pipeline_stage"),
        dp=replicas // degrees.expert_parallel,
        ep=degrees.expert_parallel,
        cp=other_degree(config, "context_parallel"),
        tp=other_degree(config, "model_parallel"),
    )


def plans_of(config: RunConfig, mesh: Mesh, shapes: Mapping[str, tuple[int, ...]]) -> Plans:
    """Lay out a run.

    Args:
        config: the run configuration.
        mesh: the mesh of its processes.
        shapes: parameter name to its whole shape, in the network's order.
    Raises:
        UserError: it can't be divided so; every reason is named.
    """
    weights = plan_of(config, mesh, shapes)
    optimizer = optimizer_plan_of(config, weights)
    shares = config.parallel.parallel_optimizer_config.gradient_accumulation_shard and optimizer is not weights
    return Plans(weights, optimizer, shares, row_division(config, mesh), config.model.model_config.seq_length)


def is_divided_by_mindspore(config: RunConfig) -> bool:
    """Whether MindSpore divides the work of a run among several processes; otherwise mf itself does.

    Args:
        config: the run configuration.
    """
    return config.context.device_target != "CPU" and config.parallel.mode in AUTOMATIC_MODES


def reads_all_rows(config: RunConfig) -> bool:
    """Whether every process of a run that MindSpore divides reads the rows of all, of which the compiler cuts its own.

    Args:
        config: the run configuration.
    """
    section = config.parallel
    if not (config.use_parallel and is_divided_by_mindspore(config)):
        return False
    is_whole = section.full_batch and section.dataset_strategy == "data_parallel"
    # A search looks at the whole step.
    return section.mode == "AUTO_PARALLEL" or section.dataset_strategy == "full_batch" or is_whole


def micro_batches(config: RunConfig, mesh: Mesh) -> int:
    """Equal parts of a process's rows that are differentiated one after another.

    Args:
        config: the run configuration.
        mesh: the mesh of its processes; in a pipeline its micro batches take the place of accumulation.
    """
    runner, degrees = config.runner_config, config.parallel_config
    parts = degrees.micro_batch_num if mesh.degree("pp") > 1 else runner.gradient_accumulation_steps
    return parts * config.micro_batch_interleave_num


def plan_of(config: RunConfig, mesh: Mesh, shapes: Mapping[str, tuple[int, ...]]) -> ParallelPlan:
    """Lay out the network of a run.

    Args:
        config: the run configuration.
        mesh: the mesh of its processes.
        shapes: parameter name to its whole shape, in the network's order.
    Raises:
        UserError: the network can't be divided so; every reason is named.
    """
    degrees, model_config = config.parallel_config, config.model.model_config
    stages = mesh.degree("pp")
    split = None
    if stages > 1:
        split = StageSplit.of(model_config.num_layers, stages, model_config.pp_interleave_num, model_config.offset)
    return make_plan(
        mesh,
        shapes,
        family_of(model_config).sharding(model_config),
        split=split,
        divided_tokens=degrees.use_seq_parallel and mesh.degree("tp") > 1 and mesh.degree("cp") == 1,
        # As in MindFormers: first and last stage divide the vocabulary in any case.
        whole_vocabulary=degrees.vocab_emb_dp and stages == 1,
    )


def optimizer_plan_of(config: RunConfig, plan: ParallelPlan) -> ParallelPlan:
    """Lay out the optimizer's state of a run.

    Args:
        config: the run configuration.
        plan: the layout of the weights.
    Raises:
        UserError: the state can't be divided so.
    """
    if not (config.use_parallel and config.parallel.enable_parallel_optimizer):
        return plan
    section = config.parallel.parallel_optimizer_config
    return shard_optimizer(plan, section.optimizer_weight_shard_size, section.parallel_optimizer_threshold * 1024)

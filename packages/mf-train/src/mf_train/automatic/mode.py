"""Whether MindSpore divides the work of a run, and what it is told of the run then."""

from collections.abc import Iterator
from pathlib import Path

import mindspore as ms

from mf_config import RunConfig
from mf_config.layout import Mesh
from mf_config.problems import UserError
from mf_parallel.automatic.context import AutomaticParallelism
from mf_train.layout.plans import AUTOMATIC_MODES, micro_batches, reads_all_rows

_OTHER = "parallel.parallel_mode 3 (HYBRID_PARALLEL), by which mf divides the work itself"


def parallelism_of(config: RunConfig, mesh: Mesh, rank: int) -> AutomaticParallelism | None:
    """What MindSpore is told of a run; None where mf divides the work itself.

    Args:
        config: the run configuration.
        mesh: the mesh of its processes.
        rank: this process.

    Raises:
        UserError: MindSpore can't divide such a run.
    """
    section = config.parallel
    if mesh.size == 1 or ms.get_context("device_target") != "Ascend" or section.mode not in AUTOMATIC_MODES:
        return None
    problems = list(_not_divided(config, mesh))
    if problems:
        raise UserError("\n".join(problems))
    optimizer = section.parallel_optimizer_config
    return AutomaticParallelism(
        search=section.search_mode if section.mode == "AUTO_PARALLEL" else None,
        memory_weight=config.parallel_config.mem_coeff,
        row_ranks=mesh.degree("dp") * mesh.degree("ep"),
        whole_rows=reads_all_rows(config),
        stages=mesh.degree("pp"),
        chunks=config.model.model_config.pp_interleave_num if mesh.degree("pp") > 1 else 1,
        scheduler=section.pipeline_config.pipeline_scheduler,
        divides_optimizer=section.enable_parallel_optimizer,
        sharing_ranks=optimizer.optimizer_weight_shard_size,
        divides_gradients=optimizer.gradient_accumulation_shard and micro_batches(config, mesh) > 1,
        exchanges=section.enable_alltoall,
        strategy_file=_strategy_file(config, section.strategy_ckpt_save_file, rank),
        earlier_strategy=_earlier_strategy(config, rank),
    )


def _strategy_file(config: RunConfig, name: str, rank: int) -> Path:
    """Where the layouts of a rank are: one file for each, as in MindFormers."""
    named = Path(name)
    folder = named.parent if named.is_absolute() else Path(config.output_dir) / "strategy"
    return folder.absolute() / f"{named.stem}_rank_{rank}.ckpt"


def _earlier_strategy(config: RunConfig, rank: int) -> Path | None:
    name = config.parallel.strategy_ckpt_load_file
    if not name:
        return None
    path = _strategy_file(config, name, rank)
    if not path.is_file():
        raise UserError(
            f"parallel.strategy_ckpt_load_file: there is no file {path}. Allowed: what a run with as many ranks has "
            "written to strategy_ckpt_save_file."
        )
    return path


def _not_divided(config: RunConfig, mesh: Mesh) -> Iterator[str]:
    """What of a run MindSpore can't divide: a line for each key."""
    model = config.model.model_config
    if config.parallel.mode == "AUTO_PARALLEL" and config.parallel.search_mode == "dynamic_programming":
        # Of version 2.10: the process ends with a fault where a network has several blocks.
        yield (
            "parallel.search_mode: MindSpore's search by dynamic_programming crashes for networks like these. "
            f"Allowed: recursive_programming, sharding_propagation, or {_OTHER}."
        )
    if mesh.degree("cp") > 1:
        yield f"parallel_config.context_parallel: MindSpore is given no strategies for it. Allowed: 1, or {_OTHER}."
    if mesh.degree("tp") > 1 and model.vocab_size % mesh.degree("tp"):
        yield (
            f"model.model_config.vocab_size: {model.vocab_size} rows can't be shared by model_parallel "
            f"{mesh.degree('tp')} ranks. Allowed: a multiple, or {_OTHER}."
        )
    if not _cuts_rows(config, mesh):
        yield (
            f"parallel.dataset_strategy: {config.parallel.dataset_strategy} does not divide rows among the "
            f"{mesh.degree('dp') * mesh.degree('ep')} ranks that share them. Allowed: full_batch, data_parallel."
        )
    if config.micro_batch_interleave_num > 1:
        yield f"micro_batch_interleave_num: rows are not split once more. Allowed: 1, or {_OTHER}."
    if getattr(model, "pet_config", None) is not None:
        yield f"model.model_config.pet_config: adapters have no strategies. Allowed: none, or {_OTHER}."
    if config.do_eval:
        yield f"do_eval: MindSpore divides the training step alone. Allowed: False, or {_OTHER}."


def _cuts_rows(config: RunConfig, mesh: Mesh) -> bool:
    """Whether the key says of each input that ranks share its rows, and nothing else, or is one of the two words."""
    strategy = config.parallel.dataset_strategy
    if isinstance(strategy, str):
        return strategy in ("full_batch", "data_parallel")
    rows = mesh.degree("dp") * mesh.degree("ep")
    return all(one and one[0] == rows and set(one[1:]) <= {1} for one in strategy)

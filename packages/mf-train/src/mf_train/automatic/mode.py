"""Whether MindSpore divides the work of a run, and what it is told of the run then."""

from pathlib import Path

from mf_config import RunConfig
from mf_config.layout import Mesh
from mf_config.problems import UserError
from mf_parallel.automatic.context import AutomaticParallelism
from mf_train.layout.automatic_limits import check_automatic
from mf_train.layout.plans import is_divided_by_mindspore, micro_batches, reads_all_rows


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
    if mesh.size == 1 or not is_divided_by_mindspore(config):
        return None
    check_automatic(config, mesh)
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

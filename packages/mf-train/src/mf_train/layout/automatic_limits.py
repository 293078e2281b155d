"""What of a run MindSpore can't divide; needs no device."""

from collections.abc import Iterator

from mf_config import RunConfig
from mf_config.layout import Mesh
from mf_config.problems import UserError
from mf_train.divergence import skips_loss_spikes

_OTHER = "parallel.parallel_mode 3 (HYBRID_PARALLEL), by which mf divides the work itself"


def check_automatic(config: RunConfig, mesh: Mesh) -> None:
    """Refuse a run that MindSpore shall divide and can't.

    Args:
        config: the run configuration.
        mesh: the mesh of its processes.

    Raises:
        UserError: a line for each key that has to change.
    """
    problems = list(_problems(config, mesh))
    if problems:
        raise UserError("\n".join(problems))


def _problems(config: RunConfig, mesh: Mesh) -> Iterator[str]:
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
    if getattr(config.trainer, "z_loss_factor", 0.0) > 0:
        yield f"trainer.z_loss_factor: MindSpore is given no strategies for this loss. Allowed: 0, or {_OTHER}."
    if skips_loss_spikes(config):
        yield (
            "monitor_config.skip_loss_spikes: the stages of a pipeline that MindSpore divides don't know the loss. "
            f"Allowed: False, or {_OTHER}."
        )
    if config.do_eval:
        yield f"do_eval: MindSpore divides the training step alone. Allowed: False, or {_OTHER}."


def _cuts_rows(config: RunConfig, mesh: Mesh) -> bool:
    """Whether the key says of each input that ranks share its rows, and nothing else, or is one of the two words."""
    strategy = config.parallel.dataset_strategy
    if isinstance(strategy, str):
        return strategy in ("full_batch", "data_parallel")
    rows = mesh.degree("dp") * mesh.degree("ep")
    return all(one and one[0] == rows and set(one[1:]) <= {1} for one in strategy)

"""What keys of a run change in a finished network: adapters beside its layers, activations that are computed again."""

import logging
from collections.abc import Sequence

from mf_config import RunConfig
from mf_config.problems import UserError
from mf_models.adaptation import Adaptation, trained_share
from mf_models.recompute import recompute
from mf_train.layout.division import Division
from mf_train.pipeline.work import StagePart

_log = logging.getLogger(__name__)


def recompute_parts(parts: Sequence[StagePart], division: Division, config: RunConfig) -> None:
    """Let the parts of a network keep fewer activations, as `recompute_config` says."""
    section, split = config.recompute_config, division.plan.split
    divided = split.stages > 1
    chunks = [[range(*ends) for ends in row] for row in split.chunks] if divided else [[_all_blocks(config)]]
    unused: set[str] = set()
    for part in parts:
        unused |= set(recompute(part.network, section, chunks, part.part.blocks if divided else None))
    for pattern in sorted(unused):
        _log.warning("recompute_config: %r fits no part of a block", pattern)


def adapt(parts: Sequence[StagePart], division: Division, config: RunConfig) -> Adaptation | None:
    """Put beside a network what `pet_config` asks for, and say what is trained.

    Returns:
        The trained weights; None without `pet_config`, where all weights are trained.

    Raises:
        UserError: the section doesn't fit the network, or the network is divided.
    """
    # A family of another distribution need not have the key.
    section = getattr(config.model.model_config, "pet_config", None)
    if section is None:
        return None
    if not division.weights.are_whole:
        what = "pet_config: adapters can't be trained beside weights that are divided among processes yet"
        raise UserError(f"{what}. Allowed: model_parallel 1 and pipeline_stage 1.")
    network = parts[0].network
    adaptation: Adaptation = section.adapt(network, config.model.model_config, config.seed)
    _log.info("%s", trained_share(list(network.get_parameters())))
    return adaptation


def _all_blocks(config: RunConfig) -> range:
    return range(config.model.model_config.num_layers)

"""From a model's files to the pieces that several processes compute."""

import atexit
from pathlib import Path

from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_infer.engine.runner import CellRunner
from mf_infer.loading.opening import Sizes, Source, configure, integers_of, prefixes, stored_weights
from mf_infer.processes.leading import LeadingRunner
from mf_infer.processes.team import Team
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.registry import config_from_hf
from mf_models.weights import fitting, shapes_of, tell_of_widening


def open_leading_runner(
    source: Source, context: ContextSection, num_blocks: int | None
) -> tuple[ModelConfig, LeadingRunner]:
    """Load this process's piece of a model, and tell the other processes of the job to load theirs.

    Args:
        source: the model.
        context: the device and MindSpore's settings, which hold for the whole process.
        num_blocks: blocks of the cache; None takes the configuration's.
    Returns:
        The configuration and the runner; the others were started by `mf_infer.processes.followers.start_followers`.
    Raises:
        UserError: as in `open_runner`, or the model can't be divided.
    """
    config, sizes = configure(source, context, num_blocks)
    if integers_of(config) is not None:
        raise UserError(
            "tensor_parallel: quantization_config asks for integers. Allowed: float32 weights, or 1 process."
        )
    if prefixes(source):
        raise UserError(
            "tensor_parallel: a prefix does not go with it. Allowed: an adapter that is merged in, or 1 process."
        )
    tell_of_widening(stored_weights(source, config))
    team = Team()
    team.hear([str(source.path), str(source.adapter or ""), config.to_hf(), sizes])
    runner = LeadingRunner(_piece(team, source, config, sizes), team)
    atexit.register(runner.end)
    return config, runner


def open_piece(team: Team) -> CellRunner:
    """Load a piece of the model that the first process of a team has chosen.

    Args:
        team: this process's team; the first process is in `open_leading_runner`.
    """
    path, adapter, settings, sizes = team.hear()
    source = Source(Path(path), config_from_hf(settings, path), Path(adapter) if adapter else None)
    assert source.config is not None
    return _piece(team, source, source.config, sizes)


def _piece(team: Team, source: Source, config: ModelConfig, sizes: Sizes) -> CellRunner:
    model = build(config)
    plan = team.plan(config, model)
    team.fill(model, plan, fitting(config, shapes_of(model), stored_weights(source, config), str(source.path)))
    model.set_train(False)
    # Before the layers are connected: the cache asks them for their sizes.
    runner = CellRunner(model, *sizes)
    team.connect_layers(model, plan)
    return runner

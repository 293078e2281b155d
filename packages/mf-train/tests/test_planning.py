"""Plans of run configurations: bytes equal those that processes hold, refusals."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mf_config import RunConfig, UserError, decode, load
from mf_config.sections.model import ModelSection
from mf_config.sections.parallel import ParallelDegrees, ParallelSection
from mf_models.presets import preset
from mf_parallel.planner.card import device_card
from mf_parallel.planner.estimate import Estimate, estimate
from mf_parallel.testing import run_processes
from mf_train.optimizers.adamw import AdamW
from mf_train.planning.layout_of_run import check_plannable, layout_of

PROGRAM = Path(__file__).parent / "programs" / "held_bytes.py"

NETWORK = ("model.model_config.num_layers=3", "model.model_config.num_heads=4", "model.model_config.n_kv_heads=2")
ZERO = ("parallel.enable_parallel_optimizer=True", "parallel.parallel_optimizer_config.parallel_optimizer_threshold=1")
MESHES: dict[str, tuple[str, ...]] = {
    "sharded": (*NETWORK, *ZERO, "parallel_config.data_parallel=4"),
    "piped": (
        *NETWORK,
        "model.model_config.tie_word_embeddings=True",
        "model.model_config.vocab_size=323",
        "parallel_config.pipeline_stage=2",
        "parallel_config.model_parallel=2",
        "parallel_config.micro_batch_num=2",
        "optimizer={type: Momentum, momentum: 0.9}",
    ),
    "experts": (
        *NETWORK,
        *ZERO,
        "moe_config.expert_num=4",
        "moe_config.num_experts_chosen=2",
        "parallel_config.data_parallel=4",
        "parallel_config.expert_parallel=2",
    ),
}
"""Four processes each."""


def test_bytes_are_those_that_processes_hold(write_run: Callable[[Path], Path], tmp_path: Path) -> None:
    run_file = str(write_run(tmp_path))
    meshes = {name: (run_file, ["use_parallel=True", *settings]) for name, settings in MESHES.items()}
    (tmp_path / "meshes.json").write_text(json.dumps(meshes))
    result = run_processes([str(PROGRAM), str(tmp_path)], workers=4, directory=tmp_path, timeout_s=300)
    assert result.exit_status == 0, result.first_traceback or "\n".join(result.outputs)[-3000:]
    for name, (path, settings) in meshes.items():
        found = _estimate(decode(load(path, settings)), 4, "CPU")
        for rank in range(4):
            held = json.loads((tmp_path / f"{name}-{rank}.json").read_text())
            told = found.memory[found.layout.weights.stage(rank)]
            assert (told.parameters, told.optimizer) == (held["weights"], held["slots"] + held["pieces"]), (name, rank)


def test_a_job_of_thousands_is_planned() -> None:
    degrees = ParallelDegrees(
        data_parallel=64, model_parallel=4, pipeline_stage=8, micro_batch_num=32, use_seq_parallel=True
    )
    config = RunConfig(
        use_parallel=True,
        model=ModelSection(model_config=preset("llama2_70b", seq_length=4096)),
        optimizer=AdamW(learning_rate=1e-4),
        parallel=ParallelSection(enable_parallel_optimizer=True),
        parallel_config=degrees,
    )
    found = _estimate(config, 2048, "910B")
    assert found.layout.devices == 2048
    assert found.fits
    # Parameters of the paper's model, on 4 x 8 ranks each.
    elements = 69e9 / 32
    assert sum(one.parameters for one in found.memory) / 8 == pytest.approx(4 * elements, rel=0.01)


def test_optimizers_say_what_they_keep(run_file: Path) -> None:
    bytes_of = {}
    for text in ("AdamW, betas: [0.9, 0.95]", "Momentum, momentum: 0.9", "SGD"):
        found = _estimate(decode(load(str(run_file), [f"optimizer={{type: {text}}}"])), 1, "CPU").memory[0]
        bytes_of[text.partition(",")[0]] = found.optimizer / found.parameters
    assert bytes_of == {"AdamW": 2, "Momentum": 1, "SGD": 0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["run_mode=eval"], "run_mode: eval takes no training steps"),
        (["model.model_config.pet_config={pet_type: lora, target_modules: '.*wq'}"], "pet_config"),
    ],
)
def test_what_is_no_training_of_all_weights_is_refused(run_file: Path, settings: list[str], message: str) -> None:
    config = decode(load(str(run_file), settings))
    with pytest.raises(UserError, match=message):
        check_plannable(config)


def _estimate(config: RunConfig, devices: int, device: str) -> Estimate:
    return estimate(layout_of(config, devices), device_card(device), "bfloat16")

"""Estimated peaks beside the memory that real processes on a CPU take for their steps."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mf_config import decode, load
from mf_parallel.planner.card import device_card
from mf_parallel.planner.estimate import estimate
from mf_parallel.testing import run_processes
from mf_train.planning.layout_of_run import layout_of

PROGRAM = Path(__file__).parent / "programs" / "resident_memory.py"

CLOSE = 0.15

NETWORK = (
    "model.model_config.seq_length=512",
    "model.model_config.hidden_size=512",
    "model.model_config.num_layers=6",
    "model.model_config.num_heads=8",
    "model.model_config.n_kv_heads=8",
    "model.model_config.intermediate_size=1408",
    "model.model_config.vocab_size=8192",
    "runner_config.batch_size=8",
    "do_eval=False",
)
"""So large that weights and activations are most of what a process takes: 27 million weights, 4,096 tokens a step."""

TENSOR = ("parallel_config.model_parallel=2", "parallel_config.vocab_emb_dp=False")
HALVES = ("parallel_config.data_parallel=2", "runner_config.batch_size=4")
SHARED = (
    "parallel.enable_parallel_optimizer=True",
    "parallel.parallel_optimizer_config.parallel_optimizer_threshold=0",
)
PIPELINE = ("parallel_config.pipeline_stage=2", "parallel_config.micro_batch_num=4", "runner_config.batch_size=2")


@dataclass(frozen=True)
class Case:
    """A job, and what differs in it from `NETWORK`."""

    name: str
    settings: tuple[str, ...] = ()
    size: int = 1


CASES = [
    Case("plain"),
    Case("long_rows", ("model.model_config.seq_length=1024", "runner_config.batch_size=4")),
    Case("accumulated", ("runner_config.gradient_accumulation_steps=4", "runner_config.batch_size=2")),
    Case("recomputed", ("recompute_config.recompute=True",)),
    Case("experts", ("moe_config.expert_num=4", "moe_config.num_experts_chosen=2", "moe_config.capacity_factor=1.25")),
    Case("rows", HALVES, 2),
    Case("shared_state", (*HALVES, *SHARED), 2),
    Case("matrices", TENSOR, 2),
    Case("tokens", (*TENSOR, "parallel_config.use_seq_parallel=True"), 2),
    Case("context", ("parallel_config.context_parallel=2",), 2),
    Case("stages", PIPELINE, 2),
]


NARROW = (
    "model.model_config.seq_length=16",
    "model.model_config.hidden_size=64",
    "model.model_config.intermediate_size=64",
    "model.model_config.vocab_size=512",
)
"""What leaves of a network next to nothing but its compiled graphs, which are no part of the plan."""


def reached(case: Case, settings: list[str], run_file: str, folder: Path) -> list[int]:
    """Bytes that each process takes at most."""
    folder.mkdir()
    (folder / f"{case.name}.json").write_text(json.dumps([run_file, [*settings, f"output_dir={folder / 'output'}"]]))
    result = run_processes([str(PROGRAM), str(folder), case.name], case.size, folder, timeout_s=600)
    assert result.exit_status == 0, result.first_traceback or "\n".join(result.outputs)[-3000:]
    return [json.loads((folder / f"{case.name}-{rank}.json").read_text()) for rank in range(case.size)]


@pytest.mark.slow
@pytest.mark.multiproc
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_peaks_are_near_those_that_processes_reach(case: Case, write_run: Callable[[Path], Path], tmp_path: Path):
    settings = [f"use_parallel={case.size > 1}", *NETWORK, *case.settings]
    run_file = str(write_run(tmp_path))
    wide = reached(case, settings, run_file, tmp_path / "wide")
    narrow = reached(case, [*settings, *NARROW], run_file, tmp_path / "narrow")
    layout = layout_of(decode(load(run_file, settings)), case.size)
    memory = estimate(layout, device_card("CPU"), "float32").memory
    errors = {}
    for rank, peak, graphs in zip(range(case.size), wide, narrow, strict=True):
        errors[rank] = memory[layout.weights.stage(rank)].peak / (peak - graphs) - 1
    assert all(abs(error) < CLOSE for error in errors.values()), (errors, wide, narrow)

"""`mf-train plan`: what it prints, what it refuses, and what it proposes instead."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mf_config import decode, load
from mf_config.command_line import FAILURE, OK, USER_ERROR
from mf_parallel.planner.card import device_card
from mf_parallel.planner.layout import BackEnd
from mf_train.cli import main
from mf_train.planning.compiled_ranks import ranks_of
from mf_train.planning.layout_of_run import layout_of
from mf_train.planning.layout_search import proposals, with_changes

LLAMA = """\
run_mode: train
context: {device_target: Ascend}
use_parallel: True
trainer: {type: CausalLanguageModelingTrainer}
optimizer: {type: AdamW, learning_rate: 1.e-4}
runner_config: {batch_size: 1}
parallel: {enable_parallel_optimizer: True, parallel_mode: HYBRID_PARALLEL}
parallel_config:
  data_parallel: 1
  model_parallel: 4
  pipeline_stage: 8
  micro_batch_num: 64
  use_seq_parallel: True
  vocab_emb_dp: False
model:
  arch: {type: LlamaForCausalLM}
  model_config: {type: LlamaConfig, checkpoint_name_or_path: llama2_70b, seq_length: 4096}
"""


@pytest.fixture
def llama(tmp_path: Path) -> str:
    path = tmp_path / "llama.yaml"
    path.write_text(LLAMA)
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> dict[str, Any]:
    assert main(["plan", *words, "--json"]) == status
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_table_for_a_person(llama: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", llama]) == OK
    shown = capsys.readouterr().out
    assert "32 x Ascend910B, pp 8, tp 4" in shown
    assert "sums of activations" in shown
    assert "model FLOPs utilization" in shown
    stages = [line.split()[0] for line in shown.splitlines() if line[:1].isdigit() and " 10 " in line]
    assert stages == [str(stage) for stage in range(8)]


def test_devices_beyond_the_degrees_read_other_rows(llama: str, capsys: pytest.CaptureFixture[str]) -> None:
    one, many = (answer(capsys, OK, llama, "--devices", count)["estimate"] for count in ("32", "64"))
    assert (one["mesh"]["dp"], many["mesh"]["dp"]) == (1, 2)
    assert many["tokens_per_step"] == 2 * one["tokens_per_step"]


def test_what_does_not_fit_has_layouts_that_do(llama: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--set", "parallel_config.pipeline_stage=1", "--set", "parallel_config.model_parallel=8"]
    found = answer(capsys, FAILURE, llama, *small, "--devices", "64", "--set", "parallel_config.data_parallel=8")
    assert not found["estimate"]["fits"]
    assert found["proposals"]
    rows = found["estimate"]["tokens_per_step"]
    changes = [len(one["changes"]) for one in found["proposals"]]
    rates = [one["estimate"]["tokens_per_second"] for one in found["proposals"][1:]]
    assert all(one["estimate"]["fits"] for one in found["proposals"])
    assert {one["estimate"]["tokens_per_step"] for one in found["proposals"]} == {rows}
    assert changes[0] == min(changes)
    assert rates == sorted(rates, reverse=True)


def test_changes_that_are_proposed_make_the_layout(llama: str) -> None:
    config, card = decode(load(llama)), device_card("910B")
    for one in proposals(config, 32, card, BackEnd.EXPLICIT):
        options = [f"{key}={value}" for key, value in one.changes.items()]
        asked = layout_of(decode(load(llama, options)), 32)
        assert asked.weights.mesh == one.estimate.layout.weights.mesh
        assert with_changes(config, one.changes) == decode(load(llama, options))


@pytest.mark.parametrize(
    ("words", "path", "what"),
    [
        (["--devices", "48"], "parallel_config.data_parallel", "multiply to 32, but there are 48 devices"),
        (["--set", "parallel_config.model_parallel=16"], "parallel_config.model_parallel", "16 tp ranks cannot share"),
    ],
)
def test_impossible_layouts_name_key_and_line(
    llama: str, words: list[str], path: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = answer(capsys, USER_ERROR, llama, *words)["problems"][0]
    assert (problem["path"], what in problem["what"]) == (path, True)
    assert main(["plan", llama, *words]) == USER_ERROR
    place = f"{llama}:9" if "--devices" in words else "command line:--set"
    assert capsys.readouterr().err.startswith(f"{place}: {path}: ")


BY_MINDSPORE = ("--set", "parallel.parallel_mode=1", "--set", "recompute_config.recompute=True")


def test_the_back_end_is_that_of_the_run(llama: str, capsys: pytest.CaptureFixture[str]) -> None:
    def estimate(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = answer(capsys, OK, llama, *BY_MINDSPORE, *words, "--device", "910B")["estimate"]
        return found

    by_mindspore, by_mf = (estimate("--back-end", name) for name in ("mindspore", "explicit"))
    assert by_mindspore != by_mf
    assert estimate() == by_mindspore
    assert estimate("--set", "parallel.parallel_mode=3") == by_mf
    assert estimate("--set", "context.device_target=CPU") == by_mf


def test_what_mindspore_can_not_divide_is_refused_as_the_run_is(llama: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (*BY_MINDSPORE, "--set", "parallel_config.context_parallel=2", "--devices", "64")
    found = answer(capsys, USER_ERROR, llama, *rows)
    assert [one["path"] for one in found["problems"]] == ["parallel_config.context_parallel"]
    assert found["proposals"] and all(one["estimate"]["mesh"]["cp"] == 1 for one in found["proposals"])
    # Asked for by name it is MindFormers', which has strategies for it.
    assert answer(capsys, OK, llama, *rows, "--back-end", "mindspore")["problems"] == []


def test_ranks_to_compile() -> None:
    assert ranks_of("last, 0,3,3", 8) == [0, 3, 7]
    with pytest.raises(ValueError, match="--compile 8: there is no such rank"):
        ranks_of("8", 8)


def test_no_device_and_no_mindspore_is_needed(llama: str) -> None:
    program = (
        "import sys; from mf_train.cli import main; main(['plan', *sys.argv[1:]]); "
        "assert 'mindspore' not in sys.modules"
    )
    words = [llama, "--devices", "2048", "--set", "parallel_config.data_parallel=64"]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_thousands_of_devices_are_estimated_at_once(llama: str) -> None:
    config = decode(load(llama))
    begin = time.process_time()
    layout_of(config, 2048)
    assert time.process_time() - begin < 1.0


@pytest.mark.slow
def test_ranks_compile_for_ascend(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [
        "use_parallel=True",
        "model.model_config.num_layers=2",
        "model.model_config.compute_dtype=float32",
        "model.model_config.param_init_type=float32",
        "parallel_config.pipeline_stage=2",
        "parallel_config.micro_batch_num=2",
    ]
    words = [word for setting in settings for word in ("--set", setting)]
    found = answer(capsys, OK, str(run_file), *words, "--device", "910B", "--compile", "0,last")
    assert [(one["rank"], one["failure"], one["seconds"] > 0) for one in found["compiled"]] == [
        (0, "", True),
        (1, "", True),
    ]

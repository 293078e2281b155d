"""Checkpoints of MindSpore on the command line.

`strategy.ckpt` is what MindSpore saved for a Llama of one layer with dp 2, mp 4 and a parallel optimizer: a matrix is
divided among four ranks, and each part's rows among the two that have the same.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mf_ckpt
from mf_ckpt import CheckpointFamily, KeyMap, Rename
from mf_ckpt.cli import main
from mf_ckpt.formats.mindspore_ckpt import CkptWriter

DATA = Path(__file__).parents[1] / "data" / "mindspore"
LAYER = "model.layers.{layer}"
KEYS = KeyMap(
    Rename(name, other)
    for name, other in {
        "model.embed_tokens.weight": "embed.table",
        "model.norm.weight": "norm.weight",
        "lm_head.weight": "head.weight",
        f"{LAYER}.input_layernorm.weight": "layers.{layer}.norm1.weight",
        f"{LAYER}.post_attention_layernorm.weight": "layers.{layer}.norm2.weight",
        **{f"{LAYER}.self_attn.{one}_proj.weight": f"layers.{{layer}}.w{one}.weight" for one in "qkvo"},
        f"{LAYER}.mlp.gate_proj.weight": "layers.{layer}.w1.weight",
        f"{LAYER}.mlp.down_proj.weight": "layers.{layer}.w2.weight",
        f"{LAYER}.mlp.up_proj.weight": "layers.{layer}.w3.weight",
    }.items()
)
COLUMNS = ("wo", "w2")
"""Matrices whose columns the strategy divides."""


def whole(name: str, offset: int) -> np.ndarray:
    if "norm" in name:
        return np.arange(offset, offset + 16, dtype=np.float32)
    shape = {"w1": (32, 16), "w3": (32, 16), "w2": (16, 32), "embed": (24, 16), "head": (24, 16)}
    rows, columns = next((size for word, size in shape.items() if word in name), (16, 16))
    return np.arange(offset, offset + rows * columns, dtype=np.float32).reshape(rows, columns)


def piece(name: str, array: np.ndarray, rank: int) -> np.ndarray:
    if array.ndim == 1:
        return array
    tensor_parallel = np.split(array, 4, axis=1 if any(word in name for word in COLUMNS) else 0)[rank % 4]
    return np.split(tensor_parallel, 2, axis=0)[rank // 4]


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    strategy = json.loads((DATA / "strategy.json").read_text())
    return {name: whole(name, 1000 * number) for number, name in enumerate(strategy["parallel_layout_item"])}


@pytest.fixture
def run(tmp_path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """The output folder of a MindFormers run on eight ranks."""
    folder = tmp_path / "run"
    for rank in range(8):
        with CkptWriter(folder / f"checkpoint/rank_{rank}/llama_rank_{rank}-1_5.ckpt", crc=True) as writer:
            for name, array in arrays.items():
                writer.add(name, piece(name, array, rank))
            writer.add("global_step", np.int32([5]))
    (folder / "strategy").mkdir()
    shutil.copy(DATA / "strategy.ckpt", folder / "strategy/ckpt_strategy_rank_0.ckpt")
    return folder


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "toy"}')
    return path


@pytest.fixture(autouse=True)
def family(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def describe(config: dict[str, object]) -> CheckpointFamily:
        return CheckpointFamily(forms={"mindspore": KEYS})

    point = SimpleNamespace(value="toy:describe", load=lambda: describe)
    monkeypatch.setattr("mf_ckpt.families.entry_points", lambda group: [point])
    return


def test_the_folders_of_eight_ranks_become_a_hugging_face_folder(
    run: Path, config: Path, arrays: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["convert", str(run), str(tmp_path / "hf"), "--to", "hf", "--config", str(config)]) == 0
    assert "left out 1 tensors, for no weight is named so: 'global_step'" in capsys.readouterr().err
    assert json.loads((tmp_path / "hf/config.json").read_text()) == {"model_type": "toy"}
    converted = mf_ckpt.open(tmp_path / "hf")
    weights = {KEYS.backward(name): array for name, array in arrays.items() if not name.startswith("adam")}
    assert len(weights) == 12
    assert sorted(converted) == sorted(weights)
    for name, array in weights.items():
        np.testing.assert_array_equal(converted[name], array)


def test_a_checkpoint_of_mf_keeps_the_optimizer_too_and_goes_back(
    run: Path, config: Path, arrays: dict[str, np.ndarray], tmp_path: Path
):
    assert main(["convert", str(run / "checkpoint"), str(tmp_path / "mf"), "--to", "mf", "--config", str(config)]) == 0
    state = mf_ckpt.open(tmp_path / "mf").optimizer
    np.testing.assert_array_equal(
        state["adam_m.model.layers.0.mlp.down_proj.weight"], arrays["adam_m.layers.0.w2.weight"]
    )
    assert main(["convert", str(tmp_path / "mf"), str(tmp_path / "whole.ckpt"), "--to", "mindspore"]) == 0
    back = mf_ckpt.open(tmp_path / "whole.ckpt")
    assert sorted(back) == sorted(arrays)
    assert all(np.array_equal(back[name], array) for name, array in arrays.items())


def test_a_strategy_that_lies_elsewhere_is_named(
    run: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (run / "strategy").rename(tmp_path / "elsewhere")
    convert = ["convert", str(run), str(tmp_path / "hf"), "--to", "hf", "--config", str(config)]
    assert main(convert) == 2
    assert "no strategy file that says how" in capsys.readouterr().err
    assert main([*convert, "--strategy", str(tmp_path / "elsewhere")]) == 0
    assert main(["verify", str(run)]) == 1
    assert main(["verify", str(run), "--strategy", str(tmp_path / "elsewhere")]) == 0
    capsys.readouterr()
    assert main(["inspect", str(run), "--strategy", str(tmp_path / "elsewhere")]) == 0
    assert capsys.readouterr().out.endswith("\nstored as pieces of ranks\n")
    assert main(["inspect", str(run), "--strategy", str(tmp_path / "elsewhere"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["form"] == "mindspore"


def test_every_file_of_every_rank_is_verified(run: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["verify", str(run)]) == 0
    assert "headers and index are sound" in capsys.readouterr().out
    damaged = run / "checkpoint/rank_3/llama_rank_3-1_5.ckpt"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    assert main(["verify", str(run)]) == 1
    assert f"{damaged}: has other content than when it was saved (CRC-32" in capsys.readouterr().out


def test_the_pieces_of_one_rank_are_not_taken_for_a_model(
    run: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rank = run / "checkpoint/rank_1"
    assert main(["convert", str(rank), str(tmp_path / "hf"), "--to", "hf", "--config", str(config)]) == 2
    message = f"{rank}: is the folder of one of 8 ranks. Allowed: {run / 'checkpoint'}, or a file in it as it is.\n"
    assert capsys.readouterr().err == message
    assert main(["inspect", str(rank / "llama_rank_1-1_5.ckpt")]) == 0


def test_an_interrupted_conversion_leaves_the_file_that_was_there_and_goes_on(
    run: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert main(["convert", str(run), str(tmp_path / "mf"), "--to", "mf", "--config", str(config)]) == 0
    there = tmp_path / "whole.ckpt"
    there.write_bytes(b"what was there")

    def fail(file: Path, place: Path) -> None:
        raise OSError("disk full")

    command = ["convert", str(tmp_path / "mf"), str(there), "--to", "mindspore"]
    with monkeypatch.context() as patched:
        patched.setattr("mf_ckpt.store.resumable_save.publish_file", fail)
        assert main(command) == 1
    assert there.read_bytes() == b"what was there"
    assert main(command) == 0
    assert mf_ckpt.verify(there) == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

"""Matrices of a GGUF file as integers stand for what the file is expanded to, in the order of the cell."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

import mf_ckpt
from mf_ckpt import MappedSource
from mf_ckpt.formats.gguf_file import open_gguf
from mf_models.families.llama import LlamaConfig
from mf_models.families.qwen import QwenConfig
from mf_models.gguf_blocks import StoredBlocks
from mf_models.networks import build
from mf_models.registry import family_of
from mf_models.weights import fitting, shapes_of

SIZES: dict[str, Any] = {"hidden_size": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 40, "seq_length": 32}
LLAMA = LlamaConfig(**SIZES, n_kv_heads=2, intermediate_size=96)
TYPES = {"ffn_down": "Q4_0", "ffn_up": "F32", "token_embd": "Q8_0"}


def write(path: Path, config: LlamaConfig | QwenConfig) -> None:
    """Random weights, in blocks of Q4_1 where `TYPES` says nothing else."""
    chance, keys = np.random.default_rng(0), family_of(config).forms(config)["gguf"]
    shapes = shapes_of(build(config))
    arrays = {name: chance.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    stored = MappedSource(MappedSource(mf_ckpt.ArraySource(arrays), family_of(config).key_map(config)), keys)
    writer = gguf.GGUFWriter(path, "llama")
    for name in stored:
        dtype = next((dtype for part, dtype in TYPES.items() if part in name), "Q4_1")
        kind = gguf.GGMLQuantizationType["F32" if stored[name].ndim == 1 else dtype]
        writer.add_tensor(name, gguf.quants.quantize(stored[name], kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("config", [LLAMA, QwenConfig(**SIZES, intermediate_size=192)], ids=["llama", "qwen"])
def test_integers_stand_for_the_weights_of_the_cell(config: LlamaConfig | QwenConfig, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", config)
    weights, _ = mf_ckpt.in_hf_form(mf_ckpt.open(tmp_path / "m.gguf"), config.to_hf())
    cells = fitting(config, shapes_of(build(config)), weights, "m.gguf")
    blocks = StoredBlocks(open_gguf(tmp_path / "m.gguf"), config)
    kept = [name for name in cells if blocks.get(name) is not None]
    floats = {name for name in cells if name not in kept}
    assert {name.split(".")[-2] for name in floats} == {"attention_norm", "ffn_norm", "norm_out", "w3"} | (
        {"wq", "wk", "wv"} if isinstance(config, QwenConfig) else set()
    )
    for name in kept:
        found = blocks.get(name)
        assert found is not None
        assert (found.offset_FG is not None) == ("w2" not in name and "embedding" not in name)
        np.testing.assert_array_equal(found.widened(), cells[name])


def test_matrices_that_have_changed_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", LLAMA)
    blocks = StoredBlocks(open_gguf(tmp_path / "m.gguf"), LLAMA, ["model.layers.1.self_attn.q_proj.weight"])
    assert blocks.get("model.layers.1.attention.wq.weight") is None
    assert blocks.get("model.layers.0.attention.wq.weight") is not None
    assert blocks.get("no such parameter") is None

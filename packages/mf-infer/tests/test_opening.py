"""Weights of every form that a model may come in; no graph is compiled here."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import mf_ckpt
from mf_ckpt.cli import main
from mf_config.problems import UserError
from mf_infer.llm import ON_CPU
from mf_infer.loading.int8 import Int8Linear
from mf_infer.loading.opening import Source, cache_sizes, open_runner
from mf_infer.loading.run_file import read_run_file
from mf_models.config_keys.quantization import QuantizationSection
from mf_models.families.gpt2 import GPT2Config
from mf_models.families.llama import LlamaConfig
from mf_models.weights import to_checkpoint_names

DATA = Path(__file__).parent / "data"
BASE = DATA / "llama_gqa"
SIZES = {
    "hidden_size": 48,
    "num_layers": 2,
    "num_heads": 4,
    "n_kv_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 160,
    "seq_length": 128,
}


def weights(source):
    """The weights of an opened model under Hugging Face names, and its runner."""
    config, runner = open_runner(source, ON_CPU, 4)
    return dict(to_checkpoint_names(config, runner._step.model)), runner


def test_an_adapter_is_merged():
    found, _ = weights(Source(BASE, adapter=DATA / "llama_gqa_lora"))
    merged = load_file(DATA / "llama_gqa_lora" / "merged.safetensors")
    plain = mf_ckpt.open(BASE)
    changed = [name for name in merged if not np.array_equal(merged[name], plain[name])]
    assert changed
    for name, array in merged.items():
        np.testing.assert_allclose(found[name], array, atol=1e-6, err_msg=name)


def test_the_cache_has_the_asked_blocks_and_that_of_nobody():
    _, runner = weights(Source(BASE))
    assert (runner.blocks, runner.block_size) == (5, 16)


def test_a_run_file_says_what_weights_without_a_configuration_are(tmp_path):
    content = json.loads((BASE / "config.json").read_text())
    keys = {**SIZES, "rms_norm_eps": content["rms_norm_eps"], "theta": content["rope_theta"], "num_blocks": 64}
    assert {content["hidden_size"], content["num_hidden_layers"], content["vocab_size"]} == {48, 2, 160}
    lines = "\n".join(f"    {name}: {value}" for name, value in keys.items())
    file = tmp_path / "run.yaml"
    file.write_text(
        "run_mode: predict\ninput_data: a\nload_checkpoint: x\ncontext:\n  device_target: CPU\n"
        f"model:\n  arch:\n    type: LlamaForCausalLM\n  model_config:\n    type: LlamaConfig\n{lines}\n"
    )
    config, tokenizer = read_run_file(file)
    assert isinstance(config, LlamaConfig)
    assert (tokenizer, cache_sizes(config)) == (None, (64, 16))
    weights_file = tmp_path / "llama.ckpt"
    assert main(["convert", str(BASE), str(weights_file), "--to", "mindspore"]) == 0
    found, _ = weights(Source(weights_file, config))
    plain = mf_ckpt.open(BASE)
    assert all(np.array_equal(found[name], plain[name]) for name in plain)
    with pytest.raises(UserError, match=r"has no config\.json"):
        weights(Source(weights_file))


def test_a_run_file_may_ask_for_integers():
    section = QuantizationSection(quant_method="rtn", weight_dtype="int8", modules_to_not_convert=("wq",))
    config = LlamaConfig(**SIZES, quantization_config=section)
    _, runner = open_runner(Source(BASE, config), ON_CPU, 4)
    attention = runner._step.model.model.layers[0].attention
    assert isinstance(attention.wk, Int8Linear)
    assert not isinstance(attention.wq, Int8Linear)
    assert not isinstance(runner._step.model.lm_head, Int8Linear)


def test_families_without_keys_for_it_have_a_cache_of_the_usual_size():
    assert cache_sizes(GPT2Config()) == (512, 16)

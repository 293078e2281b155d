import subprocess
import sys
from pathlib import Path

import gguf
import mindspore as ms
import numpy as np
import pytest

import mf_ckpt
import mf_models
from mf_ckpt import MappedSource, lora
from mf_ckpt.cli import main as ckpt
from mf_infer.llm import LLM, ON_CPU
from mf_infer.loading.int8 import LEFT_AS_IT_IS, NO_PRODUCT, fill, rounded
from mf_infer.loading.opening import Source, open_runner
from mf_infer.sampling_params import SamplingParams
from mf_models.device import prepare
from mf_models.families.llama import LlamaConfig
from mf_models.layers.int8_linear import Int8Linear, round_to_nearest
from mf_models.layers.linear import Linear
from mf_models.networks import build
from mf_models.pretrained import open_weights, read_config
from mf_models.registry import family_of
from mf_models.weights import fitting, shapes_of

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module", autouse=True)
def graphs_are_compiled():
    """Cells are compiled, as `LLM` has them."""
    prepare(ON_CPU)


def loaded(name, keep):
    """A model with rounded matrices."""
    config = read_config(DATA / name)
    model = build(config)
    cells = fitting(config, shapes_of(model), open_weights(DATA / name, config), name)
    fill(model, cells, rounded(cells, keep))
    return model


def weight_bytes(model):
    return sum(parameter.nbytes for parameter in model.get_parameters())


def perplexity(model, ids):
    logits = model(ms.Tensor(ids.astype(np.int32))).asnumpy()[:, :-1].astype(np.float64)
    logprobs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.exp(-np.take_along_axis(logprobs, ids[:, 1:, None], -1).mean())


def test_a_model_takes_less_memory_and_stays_nearly_as_good():
    golden = np.load(DATA / "tiny_chat" / "golden.npz")
    whole, model = mf_models.load(DATA / "tiny_chat")[1], loaded("tiny_chat", LEFT_AS_IT_IS)
    before, bytes_before = perplexity(whole, golden["input_ids"]), weight_bytes(whole)
    blocks = [cell for _, cell in model.model.layers.cells_and_names() if isinstance(cell, Linear | Int8Linear)]
    assert blocks
    assert all(isinstance(cell, Int8Linear) for cell in blocks)
    floats = sum(cell.weight.shape[0] * cell.in_features for cell in blocks)
    integers, scales = sum(cell.weight.size for cell in blocks), sum(cell.scale.size for cell in blocks)
    assert weight_bytes(model) == bytes_before - 4 * floats + integers + 2 * scales
    assert perplexity(model, golden["input_ids"]) == pytest.approx(before, rel=0.02)


def test_a_matrix_that_is_rounded_in_parts_is_that_which_is_rounded_whole(monkeypatch):
    monkeypatch.setattr("mf_infer.loading.int8._FLOATS_AT_ONCE", 7 * 48)
    model, whole = loaded("qwen2", LEFT_AS_IT_IS), mf_models.load(DATA / "qwen2")[1]
    for found, expected in zip(model.model.layers, whole.model.layers, strict=True):
        blocks = round_to_nearest(expected.attention.wq.weight.asnumpy())
        np.testing.assert_array_equal(found.attention.wq.weight.asnumpy(), blocks.integers_FGI)
        np.testing.assert_array_equal(found.attention.wq.scale.asnumpy(), blocks.scale_FG)
        np.testing.assert_array_equal(found.attention.wq.bias.asnumpy(), expected.attention.wq.bias.asnumpy())
        np.testing.assert_array_equal(found.ffn_norm.weight.asnumpy(), expected.ffn_norm.weight.asnumpy())


def test_named_layers_stay_as_they_are():
    model = loaded("llama_gqa", ("wq", "model.layers.0.attention.wk", "1"))
    first, second = model.model.layers
    assert [type(getattr(first.attention, name)) for name in ("wq", "wk", "wv")] == [Linear, Linear, Int8Linear]
    assert isinstance(second.attention.wv, Linear)
    assert isinstance(model.lm_head, Int8Linear)


def test_a_head_that_is_the_embedding_gets_integers_of_its_own():
    model = loaded("qwen2", NO_PRODUCT)
    assert read_config(DATA / "qwen2").tie_word_embeddings
    assert isinstance(model.lm_head, Int8Linear)
    assert model.model.tok_embeddings.embedding_weight.dtype == ms.float32


GGUF_CONFIG = LlamaConfig(
    hidden_size=64, num_layers=2, num_heads=4, n_kv_heads=2, intermediate_size=96, vocab_size=50, seq_length=64
)


@pytest.fixture(scope="module")
def blocks_file(tmp_path_factory):
    """Random weights in blocks: Q4_1, but the table of tokens Q8_0, one matrix of each block Q4_0, another F16."""
    config, chance = GGUF_CONFIG, np.random.default_rng(0)
    arrays = {name: chance.standard_normal(shape) / 4 for name, shape in shapes_of(build(config)).items()}
    cells = mf_ckpt.ArraySource({name: array.astype(np.float32) for name, array in arrays.items()})
    family = family_of(config)
    stored = MappedSource(MappedSource(cells, family.key_map(config)), family.forms(config)["gguf"])
    types = {"token_embd": "Q8_0", "ffn_gate": "Q4_0", "ffn_up": "F16", "norm": "F32"}
    file = tmp_path_factory.mktemp("blocks") / "m.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    for name in stored:
        kind = gguf.GGMLQuantizationType[next((kind for part, kind in types.items() if part in name), "Q4_1")]
        writer.add_tensor(name, gguf.quants.quantize(stored[name], kind), raw_dtype=kind)
    writer.add_uint32("llama.context_length", config.seq_length)
    writer.add_uint32("llama.embedding_length", config.hidden_size)
    writer.add_uint32("llama.block_count", config.num_layers)
    writer.add_uint32("llama.feed_forward_length", config.intermediate_size)
    writer.add_uint32("llama.attention.head_count", config.num_heads)
    writer.add_uint32("llama.attention.head_count_kv", config.n_kv_heads)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def logprobs(llm, prompts):
    """Of all tokens of prompts that are computed together, with those of four answers."""
    params = SamplingParams(temperature=0, max_tokens=4, logprobs=3, prompt_logprobs=0, ignore_eos=True)
    outputs = llm.generate([{"prompt_token_ids": prompt} for prompt in prompts], params)
    return [
        [record.logprob for record in (*output.prompt_logprobs[1:], *output.outputs[0].logprobs)] for output in outputs
    ]


def test_blocks_of_a_file_are_kept_and_give_the_bits_of_expanded_ones(blocks_file, tmp_path):
    assert ckpt(["convert", str(blocks_file), str(tmp_path / "hf"), "--to", "hf"]) == 0
    kept, expanded = LLM(blocks_file), LLM(tmp_path / "hf")
    # Rows of 64 have two blocks, those of 96 three; one takes 36 bytes with scale and offset, and 34 with a scale.
    with_offset = 2 * ((64 + 32 + 32 + 64) * 2 + 64 * 3) + 50 * 2
    floats = 50 * 64 + 5 * 64 + 2 * 96 * 64
    assert kept.weight_bytes == 36 * with_offset + 34 * 2 * 96 * 2 + 4 * floats
    chance = np.random.default_rng(1)
    prompts = [chance.integers(0, 50, count).tolist() for count in (23, 3, 9)]
    found = logprobs(kept, prompts)
    assert found == logprobs(expanded, prompts)
    assert found == [logprobs(kept, [prompt])[0] for prompt in prompts]


def test_a_matrix_that_an_adapter_changes_is_no_block_any_more(blocks_file, tmp_path):
    query = "model.layers.1.self_attn.q_proj.weight"
    matrices = mf_ckpt.ArraySource({"a": np.ones((1, 64), np.float32), "b": np.ones((64, 1), np.float32)})
    pair = lora.LoraPair(a="a", b="b", rank=1, scale=1.0, shape=(64, 64))
    adapter = lora.Adapter(matrices, lora.LoraConfig(rank=1, alpha=1), {query: pair}, {}, "m")
    lora.write_adapter(tmp_path, adapter)
    _, runner = open_runner(Source(blocks_file, adapter=tmp_path), ON_CPU, 4)
    model = runner._step.model
    assert [type(block.attention.wq) for block in model.model.layers] == [Int8Linear, Linear]
    assert isinstance(model.lm_head, Int8Linear)


PEAK = """
import re, sys
from pathlib import Path
from mf_infer.llm import ON_CPU
from mf_infer.loading.opening import Source, open_runner

def peak_bytes():
    # That of `resource` would be the peak of the process that started this one, where it is higher.
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

small, large, weight_type = sys.argv[1:]
open_runner(Source(Path(small), weight_type=weight_type), ON_CPU, 4)
before = peak_bytes()
open_runner(Source(Path(large), weight_type=weight_type), ON_CPU, 4)
print(peak_bytes() - before)
"""


def peak_of_loading(small, large, weight_type, folder):
    command = [sys.executable, "-c", PEAK, str(small), str(large), weight_type]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout)


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="only Linux tells the peak of one process")
def test_loading_integers_takes_less_memory_than_loading_floats(tmp_path):
    config = LlamaConfig(
        hidden_size=512, num_layers=4, num_heads=8, intermediate_size=1376, vocab_size=1000, seq_length=64
    )
    chance, floats = np.random.default_rng(0), 0
    cells = mf_ckpt.ArraySource(
        {name: chance.standard_normal(shape, np.float32) for name, shape in shapes_of(build(config)).items()}
    )
    with mf_ckpt.Writer(tmp_path / "model") as writer:
        for name, array in MappedSource(cells, family_of(config).key_map(config)).items():
            writer.add(name, array)
            floats += array.nbytes
        writer.add_json("config.json", config.to_hf())
    assert 50e6 < floats < 60e6
    float32, int8 = (
        peak_of_loading(DATA / "llama_gqa", tmp_path / "model", kind, tmp_path) for kind in ("float32", "int8")
    )
    assert float32 > floats
    assert int8 < 0.5 * float32, (int8, float32)

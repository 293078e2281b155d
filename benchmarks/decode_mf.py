"""mf's side of the decoding benchmark.

`prepare FOLDER` writes random weights as a checkpoint, in Hugging Face's form, and as GGUF files; `run FOLDER WEIGHTS
BATCH CONTEXT` answers rounds.
"""

import sys
import time
from importlib.metadata import version
from pathlib import Path

import gguf
import numpy as np
from decode_model import (
    EPSILON,
    HEAD_DIM,
    INTERMEDIATE_SIZE,
    MAX_LENGTH,
    NEW_TOKENS,
    SIZES,
    THETA,
    answer,
    prompts,
)

import mf_ckpt
from mf_infer import LLM, SamplingParams
from mf_infer.llm import ON_CPU, LoadOptions
from mf_models.threads import sleep_while_waiting

_GGUF_TYPES = {"f32": gguf.GGMLQuantizationType.F32, "q8_0": gguf.GGMLQuantizationType.Q8_0}
_WEIGHT_TYPES = {"f32": "float32", "q8_0": "int8"}
_BYTES_PER_WEIGHT = {"f32": 4.0, "q8_0": 34 / 32}


def prepare(folder: Path) -> None:
    """Write the model in all its forms."""
    # After the threads are told to sleep: MindSpore reads that when it is loaded.
    from mf_models.device import prepare as prepare_device
    from mf_models.families.llama import LlamaConfig
    from mf_models.initializers import initialize
    from mf_models.networks import build
    from mf_models.weights import to_checkpoint_names

    prepare_device(ON_CPU)
    config = LlamaConfig(
        **SIZES,
        intermediate_size=INTERMEDIATE_SIZE,
        seq_length=MAX_LENGTH,
        rms_norm_eps=EPSILON,
        theta=THETA,
        tie_word_embeddings=True,
    )
    model = build(config)
    initialize(model, seed=0)
    with mf_ckpt.Writer(folder / "mf") as writer:
        for name, array in to_checkpoint_names(config, model):
            writer.add(name, array)
        writer.add_json("config.json", config.to_hf())
    mf_ckpt.export(folder / "mf", folder / "weights")
    weights = dict(to_checkpoint_names(config, model))
    for kind in _GGUF_TYPES:
        _write_gguf(folder / f"{kind}.gguf", kind, weights)


def _write_gguf(path: Path, kind: str, weights: dict[str, np.ndarray]) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(MAX_LENGTH)
    writer.add_embedding_length(SIZES["hidden_size"])
    writer.add_block_count(SIZES["num_layers"])
    writer.add_feed_forward_length(INTERMEDIATE_SIZE)
    writer.add_head_count(SIZES["num_heads"])
    writer.add_head_count_kv(SIZES["n_kv_heads"])
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_freq_base(THETA)
    writer.add_vocab_size(SIZES["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, SIZES["num_layers"])
    for name, array in weights.items():
        kept = np.asarray(array, np.float32)
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            # llama.cpp turns neighbours, Hugging Face the halves of a head.
            kept = kept.reshape(-1, 2, HEAD_DIM // 2, kept.shape[1]).swapaxes(1, 2).reshape(kept.shape)
        type_ = _GGUF_TYPES[kind if kept.ndim > 1 else "f32"]
        new_name = names.get_name(name, try_suffixes=(".weight",))
        writer.add_tensor(new_name, gguf.quantize(np.ascontiguousarray(kept), type_), raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def run(folder: Path, kind: str, batch: int, context: int) -> None:
    """Answer rounds."""
    llm = LLM(folder / "mf", options=LoadOptions(weight_type=_WEIGHT_TYPES[kind], max_batch_size=batch))
    # While the last prompt is computed, the first rows are ahead.
    params = SamplingParams(temperature=0, max_tokens=NEW_TOKENS + 4 * batch, ignore_eos=True)
    width, inner = SIZES["hidden_size"], INTERMEDIATE_SIZE
    block = 2 * width * width + 2 * SIZES["n_kv_heads"] * HEAD_DIM * width + 3 * width * inner
    weights = SIZES["num_layers"] * block + SIZES["vocab_size"] * width
    for number, _ in enumerate(sys.stdin):
        requests = [llm.request({"prompt_token_ids": ids}, params) for ids in prompts(batch, context, number)]
        tokens: dict[str, list[int]] = {request.id: [] for request in requests}
        begin = time.perf_counter()
        for request in requests:
            llm.engine.add_request(request)
        while not all(tokens.values()):
            _step(llm, tokens)
        first = time.perf_counter()
        for _ in range(NEW_TOKENS):
            _step(llm, tokens)
        end = time.perf_counter()
        for request in requests:
            llm.engine.abort(request.id)
        while llm.engine.has_work:
            llm.engine.step()
        versions = {name: version(name) for name in ("mindspore", "mf-infer")}
        found = [row[:NEW_TOKENS] for row in tokens.values()]
        answer(first - begin, end - first, found, round(weights * _BYTES_PER_WEIGHT[kind]), versions)


def _step(llm: LLM, tokens: dict[str, list[int]]) -> None:
    for piece in llm.engine.step():
        tokens[piece.request_id] += piece.token_ids


if __name__ == "__main__":
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    if sys.argv[1] == "prepare":
        prepare(Path(sys.argv[2]))
    else:
        run(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))

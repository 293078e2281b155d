"""Learnt keys and values before each text, against a float64 forward pass that knows none of the layers.

Legend: T tokens, P learnt rows, N query heads, K key/value heads, H head width.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

import mf_ckpt
import mf_models
from mf_ckpt import lora
from mf_config.problems import UserError
from mf_models.adaptation import trained_share
from mf_models.cache import CachedStep
from mf_models.families.deepseek_v3 import DeepseekV3Config
from mf_models.families.llama import LlamaConfig
from mf_models.fused_decoding import covers
from mf_models.initializers import initialize
from mf_models.networks import parameters
from mf_models.pet.prefixtuning import PrefixTuningConfig
from mf_models.pet.ptuning2 import Ptuning2Config
from mf_models.prefix_tuning.stored import has_prefix
from mf_models.weights import to_checkpoint_names

HEADS, GROUPS, HEAD, LAYERS = 4, 2, 4, 2
CONFIG = LlamaConfig(
    hidden_size=16,
    num_layers=LAYERS,
    num_heads=HEADS,
    n_kv_heads=GROUPS,
    vocab_size=24,
    seq_length=16,
    intermediate_size=12,
    initializer_range=0.4,
)
SECTIONS: dict[str, Any] = {
    "ptuning2": Ptuning2Config(pre_seq_len=3, dropout_prob=0.0),
    "ptuning2, projected": Ptuning2Config(pre_seq_len=3, prefix_projection=True, projection_dim=5, dropout_prob=0.0),
    "prefixtuning": PrefixTuningConfig(prefix_token_num=2, mid_dim=5, dropout_rate=0.0),
}
IDS = np.random.default_rng(1).integers(0, 24, (2, 7)).astype(np.int32)


def adapted(section: Any, seed: int = 0) -> tuple[Any, Any]:
    model = mf_models.build(CONFIG)
    initialize(model, seed=3)
    return model, section.adapt(model, CONFIG, seed)


def rows_of(block: int, w: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Learnt keys and values of a block, [K, P, H] each."""
    own = f"model.layers.{block}.attention.adapter"
    if f"{own}.keys" in w:
        return w[f"{own}.keys"], w[f"{own}.values"]
    first = own if f"{own}.table" in w else "model.adapter"
    made = np.tanh(w[f"{first}.table"] @ w[f"{first}.first"].T) @ w[f"{own}.second"].T
    keys, values = np.split(made, 2, 1)
    of_heads = [part.reshape((len(made), GROUPS, HEAD)).swapaxes(0, 1) for part in (keys, values)]
    return of_heads[0], of_heads[1]


def expected_logits(w: dict[str, np.ndarray], ids: np.ndarray) -> np.ndarray:
    """[T] to [T, vocabulary], one head and one query at a time."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + CONFIG.rms_norm_eps) * w[name])

    half = HEAD // 2
    turn = np.exp(1j * np.arange(len(ids))[:, None] * CONFIG.theta ** (-np.arange(half) / half))
    x = w["model.tok_embeddings.embedding_weight"][ids]
    for block in range(LAYERS):
        name = f"model.layers.{block}"
        h = norm(x, f"{name}.attention_norm.weight")
        q, k, v = (h @ w[f"{name}.attention.{part}.weight"].T for part in ("wq", "wk", "wv"))
        learnt_keys, learnt_values = rows_of(block, w)
        mixed = np.zeros_like(q)
        for head in range(HEADS):
            group = head * GROUPS // HEADS
            own, read = (slice(number * HEAD, (number + 1) * HEAD) for number in (head, group))
            pairs = [(part[:, :half] + 1j * part[:, half:]) * turn for part in (q[:, own], k[:, read])]
            queries, keys = (np.concatenate((part.real, part.imag), 1) for part in pairs)
            for token, query in enumerate(queries):
                # What is learnt stands at no position: its keys are not rotated.
                seen = np.concatenate((learnt_keys[group], keys[: token + 1]))
                values = np.concatenate((learnt_values[group], v[: token + 1, read]))
                shares = np.exp(seen @ query / np.sqrt(HEAD))
                mixed[token, own] = shares / shares.sum() @ values
        x = x + mixed @ w[f"{name}.attention.wo.weight"].T
        h = norm(x, f"{name}.ffn_norm.weight")
        gate, up = (h @ w[f"{name}.feed_forward.{part}.weight"].T for part in ("w1", "w3"))
        x = x + gate / (1 + np.exp(-gate)) * up @ w[f"{name}.feed_forward.w2.weight"].T
    return norm(x, "model.norm_out.weight") @ w["lm_head.weight"].T


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if "projected" in name else ()) for name in SECTIONS]
)
def test_logits_with_a_prefix(name: str) -> None:
    model, _ = adapted(SECTIONS[name])
    w = {parameter.name: parameter.asnumpy().astype(np.float64) for parameter in model.get_parameters()}
    found = model(Tensor(IDS)).asnumpy()
    for row, ids in zip(found, IDS, strict=True):
        np.testing.assert_allclose(row, expected_logits(w, ids), 0, 2e-5)
    if name != "ptuning2":
        return
    # Through a cache, whose steps know nothing of the prefix.
    assert not covers(model)
    step, tables = CachedStep(model, model.new_cache(5, 4)), Tensor(np.array([[1, 2], [4, 3]], np.int32))
    for place in range(3):
        tokens, start = Tensor(IDS[:, place : place + 1]), Tensor(np.full(2, place, np.int32))
        logits = step(tokens, start, Tensor(np.zeros(2, np.int32)), tables).asnumpy()
        np.testing.assert_allclose(logits, found[:, place], 0, 2e-5)


def test_only_the_prefix_is_trained_and_no_weight_is_added() -> None:
    model, adaptation = adapted(SECTIONS["ptuning2, projected"])
    trained = {parameter.name for parameter in model.get_parameters() if parameter.requires_grad}
    blocks = {f"model.layers.{block}.attention.adapter.second" for block in range(LAYERS)}
    assert trained == {"model.adapter.table", "model.adapter.first", *blocks} == set(adaptation.parameters)
    plain = mf_models.build(CONFIG)
    assert parameters(model).keys() == parameters(plain).keys()
    assert dict(to_checkpoint_names(CONFIG, model)).keys() == dict(to_checkpoint_names(CONFIG, plain)).keys()
    table = trained_share(list(model.get_parameters()))
    assert "model.layers.*.attention.adapter.second  2 x [16, 5]" in table


def test_a_prefix_depends_on_the_seed_alone() -> None:
    first, again, other = (adapted(SECTIONS["ptuning2"], seed)[1].parameters for seed in (0, 0, 1))
    for name, parameter in first.items():
        assert np.array_equal(parameter.asnumpy(), again[name].asnumpy())
        assert not np.array_equal(parameter.asnumpy(), other[name].asnumpy())


def write(folder: Path, model: Any, files: dict[str, bytes]) -> Path:
    with mf_ckpt.Writer(folder) as writer:
        for name, array in to_checkpoint_names(CONFIG, model):
            writer.add(name, array)
        writer.add_json("config.json", CONFIG.to_hf())
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", SECTIONS)
def test_a_prefix_is_stored_and_opened_beside_its_base(name: str, tmp_path: Path) -> None:
    model, adaptation = adapted(SECTIONS[name], seed=5)
    folder = write(tmp_path / "model", model, dict(adaptation.files("somewhere")))
    assert has_prefix(folder)
    with pytest.raises(UserError, match=r"peft_type is 'MF_PREFIX'\. Allowed: LORA"):
        lora.open_adapter(folder)
    _, opened = mf_models.load(folder)
    held = {parameter.name: parameter.asnumpy() for parameter in opened.get_parameters()}
    for parameter in model.get_parameters():
        np.testing.assert_array_equal(held[parameter.name], parameter.asnumpy(), parameter.name)


def test_a_prefix_of_another_form_is_refused(tmp_path: Path) -> None:
    model, adaptation = adapted(SECTIONS["ptuning2"])
    folder = write(tmp_path / "model", model, dict(adaptation.files("somewhere")))
    other = Ptuning2Config(pre_seq_len=4)
    with pytest.raises(UserError, match="doesn't fit pet_config: rows is 3 there, 4 here"):
        adapted(other)[1].load(folder)
    settings = json.loads((folder / "adapter_config.json").read_text())
    for change, message in (({"rows": "3"}, "rows is '3'. Allowed: of type int"), ({"peft_type": "LORA"}, "'LORA'")):
        (folder / "adapter_config.json").write_text(json.dumps(settings | change))
        with pytest.raises(UserError, match=message):
            adaptation.load(folder)


def test_a_head_of_classes_would_stay_untrained() -> None:
    config = replace(CONFIG, num_labels=3)
    with pytest.raises(UserError, match=r"a prefix leaves a head of classes untrained\. Allowed: lora"):
        SECTIONS["ptuning2"].adapt(mf_models.build(config), config, 0)


def test_latent_attention_has_no_place_for_a_prefix(data: Path) -> None:
    config, model = mf_models.load(data / "deepseek_v3")
    assert isinstance(config, DeepseekV3Config)
    with pytest.raises(UserError, match=r"latent attention has no keys .* Allowed: lora"):
        SECTIONS["ptuning2"].adapt(model, config, 0)

"""DeepSeek V2 and V3 against a float64 numpy model written from the papers.

The reference is independent of the cells: it rotates complex numbers, expands every key and value, and goes through
heads, tokens and experts one by one. For V3 it agrees with the golden numbers itself.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import ParameterTuple, Tensor, nn
from safetensors.numpy import load_file, save_file

import mf_ckpt
import mf_models
from mf_config.layout import Mesh
from mf_config.problems import UserError
from mf_models.cache import CachedStep
from mf_models.checkpoint_family import checkpoint_family
from mf_models.config_keys.rotary import RotaryScaling
from mf_models.kernels import select_kernels
from mf_models.layers.balance import balance_loss
from mf_models.layers.config import DecoderConfig
from mf_models.layers.decoder import causal_mask
from mf_models.layers.frequencies import Rotary
from mf_models.layers.latent_attention import LatentAttention
from mf_models.layers.latent_config import LatentConfig
from mf_models.layers.rope import rotary_angles
from mf_models.registry import config_from_hf
from mf_models.weights import to_checkpoint_names, to_stored_form

Arrays = dict[str, np.ndarray]


def rms(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * weight


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def swiglu(x: np.ndarray, weights: Arrays, prefix: str) -> np.ndarray:
    gate, up = (x @ weights[f"{prefix}.{name}_proj.weight"].T for name in ("gate", "up"))
    return (gate / (1 + np.exp(-gate)) * up) @ weights[f"{prefix}.down_proj.weight"].T


class Reference:
    """A whole model in float64; `hf` is the content of its config.json, `weights` have Hugging Face names."""

    def __init__(self, hf: dict[str, Any], weights: Arrays):
        self.hf = hf
        self.weights = {name: array.astype(np.float64) for name, array in weights.items()}
        self.rope, self.nope, self.value = hf["qk_rope_head_dim"], hf["qk_nope_head_dim"], hf["v_head_dim"]
        self.frequencies = hf["rope_theta"] ** (-np.arange(0, self.rope, 2) / self.rope)
        self.amplitude, self.score_scale = 1.0, 1 / math.sqrt(self.nope + self.rope)
        if hf.get("rope_scaling"):
            self._scale_positions(hf["rope_scaling"])

    def _scale_positions(self, yarn: dict[str, float]) -> None:
        def pair_of(turns: float) -> float:
            wavelength = yarn["original_max_position_embeddings"] / turns
            return self.rope * math.log(wavelength / (2 * math.pi)) / (2 * math.log(self.hf["rope_theta"]))

        low, high = math.floor(pair_of(yarn["beta_fast"])), math.ceil(pair_of(yarn["beta_slow"]))
        slow = np.clip((np.arange(self.rope // 2) - max(low, 0)) / (min(high, self.rope - 1) - max(low, 0)), 0, 1)
        self.frequencies = self.frequencies * ((1 - slow) + slow / yarn["factor"])

        def growth(weight: float) -> float:
            return 0.1 * weight * math.log(yarn["factor"]) + 1

        self.amplitude = growth(yarn["mscale"]) / growth(yarn["mscale_all_dim"])
        self.score_scale *= growth(yarn["mscale_all_dim"]) ** 2

    def turned(self, x_TR: np.ndarray) -> np.ndarray:
        """Neighbouring elements as complex numbers, each turned by its angle."""
        pairs_TC = x_TR[:, 0::2] + 1j * x_TR[:, 1::2]
        return pairs_TC * self.amplitude * np.exp(1j * np.arange(len(x_TR))[:, None] * self.frequencies)

    def attention(self, x_TD: np.ndarray, prefix: str) -> np.ndarray:
        w = {name.removeprefix(f"{prefix}."): array for name, array in self.weights.items() if name.startswith(prefix)}
        epsilon, rank = self.hf["rms_norm_eps"], self.hf["kv_lora_rank"]
        if self.hf["q_lora_rank"]:
            latent_q = rms(x_TD @ w["q_a_proj.weight"].T, w["q_a_layernorm.weight"], epsilon)
            q_TF = latent_q @ w["q_b_proj.weight"].T
        else:
            q_TF = x_TD @ w["q_proj.weight"].T
        compressed = x_TD @ w["kv_a_proj_with_mqa.weight"].T
        kv_TF = rms(compressed[:, :rank], w["kv_a_layernorm.weight"], epsilon) @ w["kv_b_proj.weight"].T
        k_turned = self.turned(compressed[:, rank:])
        out = []
        for head in range(self.hf["num_attention_heads"]):
            q = q_TF[:, head * (self.nope + self.rope) :][:, : self.nope + self.rope]
            k, v = np.split(kv_TF[:, head * (self.nope + self.value) :][:, : self.nope + self.value], [self.nope], 1)
            scores = q[:, : self.nope] @ k.T + (self.turned(q[:, self.nope :]) @ k_turned.conj().T).real
            visible = np.tri(len(x_TD), dtype=bool)
            out.append(softmax(np.where(visible, scores * self.score_scale, -np.inf)) @ v)
        return np.concatenate(out, 1) @ w["o_proj.weight"].T

    def experts(self, x_TD: np.ndarray, prefix: str) -> np.ndarray:
        hf, count = self.hf, self.hf["n_routed_experts"]
        logits = x_TD @ self.weights[f"{prefix}.gate.weight"].T
        is_v3 = hf["model_type"] == "deepseek_v3"
        scores = 1 / (1 + np.exp(-logits)) if is_v3 else softmax(logits)
        bias = self.weights[f"{prefix}.gate.e_score_correction_bias"] if is_v3 else np.zeros(count)
        result = swiglu(x_TD, self.weights, f"{prefix}.shared_experts")
        for token, x_D in enumerate(x_TD):
            allowed = range(count)
            if hf["topk_method"] != "greedy":
                groups = np.split(scores[token] + bias, hf["n_group"])
                worth = [np.sort(group)[-2:].sum() if is_v3 else group.max() for group in groups]
                best = set(np.argsort(worth)[-hf["topk_group"] :])
                allowed = [expert for expert in allowed if expert // (count // hf["n_group"]) in best]
            chosen = sorted(allowed, key=lambda expert: -(scores[token] + bias)[expert])[: hf["num_experts_per_tok"]]
            total = sum(scores[token, expert] for expert in chosen) if hf["norm_topk_prob"] else 1.0
            # The published code of V2 scales only what it does not normalise.
            scale = 1.0 if hf["norm_topk_prob"] and not is_v3 else hf["routed_scaling_factor"]
            for expert in chosen:
                y_D = swiglu(x_D, self.weights, f"{prefix}.experts.{expert}")
                result[token] += scores[token, expert] / total * scale * y_D
        return result

    def block(self, x_TD: np.ndarray, layer: int) -> np.ndarray:
        prefix, epsilon = f"model.layers.{layer}", self.hf["rms_norm_eps"]
        normed = rms(x_TD, self.weights[f"{prefix}.input_layernorm.weight"], epsilon)
        x_TD = x_TD + self.attention(normed, f"{prefix}.self_attn")
        normed = rms(x_TD, self.weights[f"{prefix}.post_attention_layernorm.weight"], epsilon)
        dense = layer < self.hf["first_k_dense_replace"]
        return x_TD + (
            swiglu(normed, self.weights, f"{prefix}.mlp") if dense else self.experts(normed, f"{prefix}.mlp")
        )

    def hidden(self, ids_T: np.ndarray) -> np.ndarray:
        x_TD = self.weights["model.embed_tokens.weight"][ids_T]
        for layer in range(self.hf["num_hidden_layers"]):
            x_TD = self.block(x_TD, layer)
        return rms(x_TD, self.weights["model.norm.weight"], self.hf["rms_norm_eps"])

    def logits(self, ids_BT: np.ndarray) -> np.ndarray:
        return np.stack([self.hidden(ids_T) @ self.weights["lm_head.weight"].T for ids_T in ids_BT])

    def losses(self, hidden_TD: np.ndarray, labels_T: np.ndarray) -> np.ndarray:
        logits = hidden_TD @ self.weights["lm_head.weight"].T
        return np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(labels_T)), labels_T]

    def further_losses(self, ids_T: np.ndarray, labels_T: np.ndarray) -> list[np.ndarray]:
        """Of each module for further tokens, the losses of labels k to T - 1."""
        h_TD, epsilon, found = self.hidden(ids_T), self.hf["rms_norm_eps"], []
        for k in range(1, self.hf["num_nextn_predict_layers"] + 1):
            layer = self.hf["num_hidden_layers"] + k - 1
            w = {name: self.weights[f"model.layers.{layer}.{name}.weight"] for name in ("enorm", "hnorm", "eh_proj")}
            ahead = rms(self.weights["model.embed_tokens.weight"][ids_T[k:]], w["enorm"], epsilon)
            joined = np.concatenate((ahead, rms(h_TD[:-1], w["hnorm"], epsilon)), -1)
            h_TD = self.block(joined @ w["eh_proj"].T, layer)
            normed = rms(h_TD, self.weights[f"model.layers.{layer}.shared_head.norm.weight"], epsilon)
            found.append(self.losses(normed, labels_T[k:]))
        return found


@pytest.fixture(scope="module")
def v3(data: Path) -> tuple[dict[str, Any], Arrays]:
    folder = data / "deepseek_v3"
    return json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")


def test_the_reference_agrees_with_the_golden_numbers(v3: tuple[dict[str, Any], Arrays], data: Path) -> None:
    golden = np.load(data / "deepseek_v3" / "golden.npz")
    np.testing.assert_allclose(Reference(*v3).logits(golden["input_ids"]), golden["logits"], 0, 5e-5)


YARN = {"factor": 4.0, "beta_fast": 4.0, "beta_slow": 1.0, "mscale": 0.707, "mscale_all_dim": 0.5}
YARN["original_max_position_embeddings"] = 16
TINY = {
    "hidden_size": 6,
    "num_attention_heads": 2,
    "q_lora_rank": 3,
    "kv_lora_rank": 4,
    "qk_nope_head_dim": 2,
    "qk_rope_head_dim": 6,
    "v_head_dim": 3,
    "rms_norm_eps": 1e-6,
    "rope_theta": 50.0,
    "rope_scaling": YARN,
}
STORED = {
    "q2l_proj": "q_a_proj",
    "lq_norm": "q_a_layernorm",
    "l2q_proj": "q_b_proj",
    "kv2l": "kv_a_proj_with_mqa",
    "lkv_norm": "kv_a_layernorm",
    "lkv2kv": "kv_b_proj",
    "wo": "o_proj",
}


class WeighedAttention(nn.Cell):
    """sum(attention(x) * weights), every element with another weight, and its gradients of x and of all parameters."""

    def __init__(self, attention: LatentAttention, rotary: Rotary):
        super().__init__()
        self.attention = attention
        self.angles = rotary_angles(rotary)
        self.gradients = ms.grad(self.total, 0, ParameterTuple(attention.trainable_params()))

    def total(self, x_BTD: Tensor, weights_BTD: Tensor) -> Tensor:
        positions_BT = ms.ops.arange(x_BTD.shape[1]).astype(ms.int32).reshape((1, -1))
        mask_BTS = causal_mask(positions_BT, x_BTD.shape[1])
        return (self.attention(x_BTD, *self.angles(positions_BT), (mask_BTS, None)) * weights_BTD).sum()

    def construct(self, x_BTD: Tensor, weights_BTD: Tensor) -> Any:
        return self.total(x_BTD, weights_BTD), self.gradients(x_BTD, weights_BTD)


def test_gradients_of_latent_attention() -> None:
    rotary = Rotary(dim=6, theta=50.0, method="YARN", scaling=RotaryScaling(**YARN))
    config = DecoderConfig(
        vocab_size=1,
        hidden_size=6,
        num_layers=1,
        num_heads=2,
        num_kv_heads=2,
        head_dim=8,
        intermediate_size=1,
        norm_epsilon=1e-6,
        rotary=rotary,
        tie_word_embeddings=False,
        initializer_range=1.0,
        attention_scale=8**-0.5 * (0.05 * math.log(4) + 1) ** 2,
        latent=LatentConfig(query_rank=3, rank=4, plain_dim=2, rotary_dim=6, value_dim=3),
    )
    attention = LatentAttention(config, 0)
    random = np.random.default_rng(3)
    arrays = {"x": random.standard_normal((4, 6))}
    for parameter in attention.trainable_params():
        values = random.standard_normal(parameter.shape)
        parameter.set_data(Tensor(values.astype(np.float32)))
        cell, _ = parameter.name.split(".")
        arrays[f"a.{STORED[cell]}.weight"] = values
    weights = random.standard_normal((4, 6))

    def total(moved: Arrays) -> float:
        return float((Reference(TINY, moved).attention(moved["x"], "a") * weights).sum())

    single = (Tensor(array[None].astype(np.float32)) for array in (arrays["x"], weights))
    found, (of_x, of_weights) = WeighedAttention(attention, rotary)(*single)
    assert float(found.asnumpy()) == pytest.approx(total(arrays), rel=1e-5)
    for name, gradient in zip(arrays, (of_x[0], *of_weights), strict=True):
        wanted = np.zeros(arrays[name].shape)
        for index in np.ndindex(wanted.shape):
            for step in (1e-5, -1e-5):
                moved = arrays | {name: arrays[name].copy()}
                moved[name][index] += step
                wanted[index] += total(moved) / (2 * step)
        np.testing.assert_allclose(gradient.asnumpy(), wanted, 1e-3, 1e-3, err_msg=name)


SMALL = TINY | {
    "hidden_size": 8,
    "intermediate_size": 10,
    "num_hidden_layers": 2,
    "first_k_dense_replace": 1,
    "n_routed_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 5,
    "n_shared_experts": 2,
    "n_group": 3,
    "topk_group": 2,
    "norm_topk_prob": False,
    "routed_scaling_factor": 3.0,
    "max_position_embeddings": 64,
    "vocab_size": 20,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
}
FACTOR = 0.4
V2 = SMALL | {
    "model_type": "deepseek_v2",
    "topk_method": "group_limited_greedy",
    "scoring_func": "softmax",
    "num_hidden_layers": 1,
    "first_k_dense_replace": 0,
    "q_lora_rank": None,
    "kv_lora_rank": 8,
    "rope_scaling": YARN | {"type": "yarn"},
}
V3 = SMALL | {
    "model_type": "deepseek_v3",
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    "num_hidden_layers": 1,
    "first_k_dense_replace": 0,
    "num_nextn_predict_layers": 2,
    "mtp_loss_factor": FACTOR,
    "aux_loss_alpha": 0.001,
    "seq_aux": True,
    "norm_topk_prob": True,
    "rope_scaling": None,
}


def block_shapes(hf: dict[str, Any], layer: int) -> dict[str, tuple[int, ...]]:
    width, rank, rope = hf["hidden_size"], hf["kv_lora_rank"], hf["qk_rope_head_dim"]
    heads, plain, value = hf["num_attention_heads"], hf["qk_nope_head_dim"], hf["v_head_dim"]
    shapes = {
        "input_layernorm": (width,),
        "post_attention_layernorm": (width,),
        "self_attn.kv_a_proj_with_mqa": (rank + rope, width),
        "self_attn.kv_a_layernorm": (rank,),
        "self_attn.kv_b_proj": (heads * (plain + value), rank),
        "self_attn.o_proj": (width, heads * value),
    }
    if hf["q_lora_rank"]:
        shapes["self_attn.q_a_proj"] = (hf["q_lora_rank"], width)
        shapes["self_attn.q_a_layernorm"] = (hf["q_lora_rank"],)
        shapes["self_attn.q_b_proj"] = (heads * (plain + rope), hf["q_lora_rank"])
    else:
        shapes["self_attn.q_proj"] = (heads * (plain + rope), width)
    inner = {"mlp": hf["intermediate_size"]}
    if layer >= hf["first_k_dense_replace"]:
        size = hf["moe_intermediate_size"]
        inner = {f"mlp.experts.{expert}": size for expert in range(hf["n_routed_experts"])}
        inner["mlp.shared_experts"] = size * hf["n_shared_experts"]
        shapes["mlp.gate"] = (hf["n_routed_experts"], width)
    for prefix, size in inner.items():
        shapes |= {f"{prefix}.gate_proj": (size, width), f"{prefix}.up_proj": (size, width)}
        shapes[f"{prefix}.down_proj"] = (width, size)
    return shapes


def new_weights(hf: dict[str, Any]) -> Arrays:
    """Random weights under the names of published files, with the copies that these hold."""
    width, decoder = hf["hidden_size"], hf["num_hidden_layers"]
    layers = range(decoder + hf.get("num_nextn_predict_layers", 0))
    shapes = {"model.embed_tokens": (hf["vocab_size"], width), "model.norm": (width,)}
    shapes["lm_head"] = shapes["model.embed_tokens"]
    for layer in layers:
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in block_shapes(hf, layer).items()}
    for layer in layers[decoder:]:
        more = {"enorm": (width,), "hnorm": (width,), "shared_head.norm": (width,), "eh_proj": (width, 2 * width)}
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in more.items()}
    random = np.random.default_rng(5)
    weights = {f"{name}.weight": random.standard_normal(shape) * 0.6 for name, shape in shapes.items()}
    if hf["model_type"] == "deepseek_v3":
        for layer in layers[hf["first_k_dense_replace"] :]:
            name = f"model.layers.{layer}.mlp.gate.e_score_correction_bias"
            weights[name] = random.standard_normal(hf["n_routed_experts"])
    for layer in layers[decoder:]:
        weights[f"model.layers.{layer}.embed_tokens.weight"] = weights["model.embed_tokens.weight"]
        weights[f"model.layers.{layer}.shared_head.head.weight"] = weights["lm_head.weight"]
    return {name: array.astype(np.float32) for name, array in weights.items()}


def write(folder: Path, hf: dict[str, Any], weights: Arrays) -> Path:
    folder.mkdir(exist_ok=True)
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(hf))
    return folder


def int32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.int32))


IDS = np.random.default_rng(6).integers(0, 20, (2, 8))


def test_v2_against_the_reference(tmp_path: Path) -> None:
    weights = new_weights(V2)
    config, model = mf_models.load(write(tmp_path, V2, weights))
    expected = Reference(V2, weights).logits(IDS)
    np.testing.assert_allclose(model(int32(IDS)).asnumpy(), expected, 0, 1e-4)
    # Several tokens at once expand the cached latents, a single one doesn't.
    assert not model.model.layers[0].attention.is_absorbed(5) and model.model.layers[0].attention.is_absorbed(1)
    step, tables = CachedStep(model, model.new_cache(7, 4)), int32([[5, 2], [1, 6]])
    logits = step(int32(IDS[:, :5]), int32([0, 0]), int32([4, 4]), tables).asnumpy()
    np.testing.assert_allclose(logits, expected[:, 4], 0, 1e-4)
    for place in range(5, 8):
        logits = step(int32(IDS[:, place : place + 1]), int32([place] * 2), int32([0, 0]), tables).asnumpy()
        np.testing.assert_allclose(logits, expected[:, place], 0, 1e-4)
    assert type(config).from_hf(config.to_hf()) == config
    written = dict(to_checkpoint_names(config, model))
    assert written.keys() == weights.keys()
    assert all(np.array_equal(written[name], weights[name]) for name in weights)


LABELS = np.random.default_rng(7).integers(0, 20, (2, 8))
ENDS = (0, 5, 8)
"""Where the documents of the second row begin and end; the first row is one document."""


class TrainingLosses(nn.Cell):
    """Losses of next and of further tokens, and the gradients of their weighed sum."""

    def __init__(self, model: Any):
        super().__init__(auto_prefix=False)
        self.model = model
        self.cross_entropy = select_kernels().cross_entropy
        self.parameters = ParameterTuple(model.trainable_params())
        self.differentiate = ms.value_and_grad(self.total, None, self.parameters, has_aux=True)

    def of_tokens(self, logits_BTV: Tensor, labels_BT: Tensor) -> Tensor:
        losses_N = self.cross_entropy(logits_BTV.reshape((-1, logits_BTV.shape[-1])), labels_BT.reshape((-1,)))
        return losses_N.reshape(labels_BT.shape)

    def total(self, ids_BT: Tensor, labels_BT: Tensor, starts_BT: Tensor, weights_BT: Tensor) -> tuple[Tensor, ...]:
        hidden_BTD, _ = self.model.hidden_and_losses(ids_BT, starts_BT)
        further_BT, _ = self.model.further_losses(hidden_BTD, ids_BT, labels_BT, starts_BT, self.of_tokens)
        losses_BT = self.of_tokens(self.model.head(hidden_BTD), labels_BT)
        return ((losses_BT + further_BT) * weights_BT).sum(), losses_BT, further_BT

    def construct(self, *inputs: Tensor) -> Any:
        (_, losses_BT, further_BT), gradients = self.differentiate(*inputs)
        return losses_BT, further_BT, gradients


def expected_losses(weights: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Those of the next token, and what two further ones add to them, [2, 8] each."""
    reference, found, added = Reference(V3, weights), np.zeros((2, 8)), np.zeros((2, 8))
    for row, first, last in ((0, 0, 8), (1, ENDS[0], ENDS[1]), (1, ENDS[1], ENDS[2])):
        ids, labels = IDS[row, first:last], LABELS[row, first:last]
        found[row, first:last] = reference.losses(reference.hidden(ids), labels)
        for k, losses in enumerate(reference.further_losses(ids, labels), 1):
            added[row, first + k : last] += FACTOR / 2 * losses
    return found, added


def test_further_tokens_are_learnt_and_kept(tmp_path: Path) -> None:
    weights = new_weights(V3)
    config, model = mf_models.load(write(tmp_path, V3, weights))
    starts, counted = np.array([[0] * 8, [0] * 5 + [5] * 3]), np.random.default_rng(8).uniform(0, 1, (2, 8))
    cell = TrainingLosses(model)
    losses, further, gradients = cell(int32(IDS), int32(LABELS), int32(starts), Tensor(counted.astype(np.float32)))
    for found, wanted in zip((losses, further), expected_losses(weights), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted, 0, 1e-4)

    def total(moved: Arrays) -> float:
        found, added = expected_losses(moved)
        return float(((found + added) * counted).sum())

    names = [parameter.name for parameter in cell.parameters]
    stored = dict(to_stored_form(config, dict(zip(names, gradients, strict=True))))
    random = np.random.default_rng(9)
    for kind in {re.sub("[0-9]+", "#", name) for name in stored}:
        alike = [name for name in stored if re.sub("[0-9]+", "#", name) == kind]
        if kind in ("model.layers.#.embed_tokens.weight", "model.layers.#.shared_head.head.weight"):
            continue
        move = {name: random.standard_normal(stored[name].shape) for name in alike}
        ends = [total(weights | {name: weights[name] + step * move[name] for name in alike}) for step in (1e-5, -1e-5)]
        slope = sum(float((stored[name] * move[name]).sum()) for name in alike)
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=2e-3, abs=2e-3), kind

    written = dict(to_checkpoint_names(config, model))
    assert written.keys() == weights.keys()
    assert all(np.array_equal(written[name], weights[name]) for name in weights)
    assert type(config).from_hf(config.to_hf()) == config
    assert [keys.shape for keys in model.new_cache(2, 1).keys] == [(2, 1, 4)]


def test_copies_of_the_embedding_that_differ_are_refused(tmp_path: Path) -> None:
    weights = new_weights(V3)
    weights["model.layers.2.embed_tokens.weight"] = weights["model.layers.2.embed_tokens.weight"] + 1
    with pytest.raises(UserError, match=r"model\.layers\.2\.embed_tokens\.weight' differs from 'model\.embed_tokens"):
        mf_models.load(write(tmp_path, V3, weights))


def test_every_parameter_of_a_prediction_block_has_one_rule_and_can_be_cut(tmp_path: Path) -> None:
    weights = new_weights(V3)
    stored = mf_ckpt.open(write(tmp_path, V3, weights))
    family = checkpoint_family(V3)
    assert family is not None
    layout = mf_ckpt.place(stored.weights, stored.optimizer, Mesh.of(tp=2), family.rules, ties=family.ties)
    divided = {name for name, placed in layout.tensors.items() if placed.divisions}
    prefix = "model.layers.1"
    assert {f"{prefix}.{name}.weight" for name in ("embed_tokens", "shared_head.head", "self_attn.q_b_proj")} <= divided
    whole = (f"{prefix}.{name}.weight" for name in ("eh_proj", "enorm", "self_attn.kv_a_proj_with_mqa", "mlp.gate"))
    assert not divided.intersection(whole)


def test_the_balance_of_each_sequence() -> None:
    """Source: DeepSeek-AI 2024, DeepSeek-V3, equations 17 to 20."""
    random, sequences, experts = np.random.default_rng(4), 3, 5
    scores = random.uniform(0.1, 1, (sequences * 6, experts))
    choice = np.argsort(-scores, 1)[:, :2]
    losses = []
    for own in np.split(np.arange(sequences * 6), sequences):
        frequency = [experts / (2 * 6) * (choice[own] == expert).sum() for expert in range(experts)]
        losses.append((frequency * (scores[own] / scores[own].sum(1, keepdims=True)).mean(0)).sum())
    found = balance_loss(int32(choice), Tensor(scores.astype(np.float32)), None, sequences)
    assert float(found.asnumpy()) == pytest.approx(np.mean(losses), rel=1e-5)


def test_v2_scales_only_what_it_does_not_normalise() -> None:
    """Source: modeling_deepseek.py, published with DeepSeek-V2."""
    scales = [mf_models.build(config_from_hf(V2 | {"norm_topk_prob": flag}, "")).model for flag in (False, True)]
    assert [model.layers[0].feed_forward.routed_experts.moe.scale for model in scales] == [3.0, 1.0]


@pytest.mark.parametrize(
    ("hf", "change", "mistake"),
    [
        (V2, {"scoring_func": "sigmoid"}, "scoring_func: 'sigmoid' is not supported. Allowed: softmax."),
        (V2, {"topk_method": "noaux_tc"}, "topk_method: 'noaux_tc' is not supported."),
        (V2, {"n_group": 4}, "moe_config.n_group: 4 groups can't divide 6 experts"),
        (V2, {"topk_group": 4}, "moe_config.topk_group: 4 of 3 groups can't be chosen"),
        (V2, {"num_experts_per_tok": 5}, "moe_config.topk_group: 2 groups of 2 experts have no 5 to choose"),
        (V2, {"qk_rope_head_dim": 5}, "qk_rope_head_dim: 5 is odd"),
        (V3, {"topk_method": "greedy"}, "topk_method: 'greedy' is not supported. Allowed: noaux_tc."),
        (V3, {"quantization_config": {"quant_method": "fp8"}}, "quantization_config: {'quant_method': 'fp8'} is not"),
        (V3, {"num_nextn_predict_layers": -1}, "num_nextn_predict_layers: -1 is out of range. Allowed: from 0."),
        (V3, {"moe_layer_freq": 2}, "moe_layer_freq: 2 is not supported. Allowed: 1."),
    ],
)
def test_what_these_families_do_not_do_is_refused(hf: dict[str, Any], change: dict[str, Any], mistake: str) -> None:
    with pytest.raises(UserError, match=re.escape(mistake)):
        config_from_hf(hf | change, "config.json")

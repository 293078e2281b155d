"""Llama against Hugging Face transformers (stored numbers) and against a float64 numpy model (gradients)."""

from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import ParameterTuple, Tensor, nn

import mf_models
from mf_models.cache import CachedStep
from mf_models.families.llama import LlamaConfig
from mf_models.kernels import select_kernels
from mf_models.networks import parameters

LOGITS_ATOL = 2e-4
"""Tolerance that comes with the golden numbers."""

PREFILL = 16


def int32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.int32))


BLOCKS = 11
TABLES = int32([[3, 1, 10, 2, 7], [4, 9, 8, 5, 6]])
"""Blocks of 8 tokens for two sequences, in no order."""


@pytest.fixture(scope="module")
def gqa(data: Path) -> tuple[LlamaConfig, nn.Cell, Any]:
    return *mf_models.load(data / "llama_gqa"), np.load(data / "llama_gqa" / "golden.npz")


@pytest.fixture(scope="module")
def step(gqa: tuple[LlamaConfig, nn.Cell, Any]) -> CachedStep:
    """A cache of two sequences that has been used already, so that leftovers would show."""
    _, model, golden = gqa
    step = CachedStep(model, model.new_cache(BLOCKS, 8))
    generate(step, [golden["prompt1"], golden["prompt0"]], 2)
    return step


def generate(step: CachedStep, prompts: list[np.ndarray], count: int) -> np.ndarray:
    # Padding with a token that has an embedding of its own: it must not be seen.
    ids = np.stack([np.pad(prompt, (0, PREFILL - len(prompt)), constant_values=7) for prompt in prompts])
    lengths = np.array([len(prompt) for prompt in prompts])
    tokens = [step(int32(ids), int32([0, 0]), int32(lengths - 1), TABLES).asnumpy().argmax(-1)]
    for offset in range(count - 1):
        logits = step(int32(tokens[-1][:, None]), int32(lengths + offset), int32([0, 0]), TABLES)
        tokens.append(logits.asnumpy().argmax(-1))
    return np.stack(tokens, 1)


def test_logits_and_loss(gqa: tuple[LlamaConfig, nn.Cell, Any]) -> None:
    _, model, golden = gqa
    logits = model(int32(golden["input_ids"])).asnumpy()
    np.testing.assert_allclose(logits, golden["logits"], 0, LOGITS_ATOL)
    shifted = logits[:, :-1].astype(np.float64)
    labels = golden["input_ids"][:, 1:, None]
    losses = np.log(np.exp(shifted).sum(-1, keepdims=True)) - np.take_along_axis(shifted, labels, -1)
    assert losses.mean() == pytest.approx(float(golden["loss"]), abs=1e-5)


def test_logits_of_a_tied_model(data: Path) -> None:
    config, model = mf_models.load(data / "llama_tied")
    golden = np.load(data / "llama_tied" / "golden.npz")
    assert config.tie_word_embeddings and "lm_head.weight" not in parameters(model)
    np.testing.assert_allclose(model(int32(golden["input_ids"])).asnumpy(), golden["logits"], 0, LOGITS_ATOL)


def test_greedy_tokens_of_two_prompts_of_different_lengths(
    gqa: tuple[LlamaConfig, nn.Cell, Any], step: CachedStep
) -> None:
    golden = gqa[2]
    prompts = [golden["prompt0"], golden["prompt1"]]
    assert len(prompts[0]) != len(prompts[1])
    np.testing.assert_array_equal(generate(step, prompts, 24), [golden["greedy0"], golden["greedy1"]])


def test_a_prompt_may_come_in_pieces(gqa: tuple[LlamaConfig, nn.Cell, Any], step: CachedStep) -> None:
    golden = gqa[2]
    ids, cut = golden["input_ids"], np.array([13, 6])
    first = np.stack([np.pad(row[:end], (0, PREFILL - end)) for row, end in zip(ids, cut, strict=True)])
    rest = np.stack([np.pad(row[end:], (0, PREFILL))[:PREFILL] for row, end in zip(ids, cut, strict=True)])
    step(int32(first), int32([0, 0]), int32(cut - 1), TABLES)
    logits = step(int32(rest), int32(cut), int32(19 - cut), TABLES).asnumpy()
    np.testing.assert_allclose(logits, golden["logits"][:, -1], 0, LOGITS_ATOL)


class MeanLoss(nn.Cell):
    """Mean next-token loss and its gradients."""

    def __init__(self, model: nn.Cell):
        super().__init__(auto_prefix=False)
        self.model = model
        self.cross_entropy = select_kernels().cross_entropy
        self.with_gradients = ms.value_and_grad(self.loss, None, ParameterTuple(model.trainable_params()))

    def loss(self, input_ids_BT: Tensor, labels_BT: Tensor) -> Tensor:
        logits_BTV = self.model(input_ids_BT)
        return self.cross_entropy(logits_BTV.reshape((-1, logits_BTV.shape[-1])), labels_BT.reshape((-1,))).mean()

    def construct(self, input_ids_BT: Tensor, labels_BT: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self.with_gradients(input_ids_BT, labels_BT)


def numpy_loss(weights: dict[str, np.ndarray], config: LlamaConfig, ids: np.ndarray, labels: np.ndarray) -> float:
    """The whole network in float64, one sequence and one head at a time."""
    total = 0.0
    for row, row_labels in zip(ids, labels, strict=True):
        logits = numpy_logits(weights, config, row)
        shifted = logits - logits.max(-1, keepdims=True)
        total += (np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(len(row)), row_labels]).sum()
    return total / ids.size


def numpy_logits(weights: dict[str, np.ndarray], config: LlamaConfig, row: np.ndarray) -> np.ndarray:
    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + config.rms_norm_eps) * weights[name]

    half, tokens = config.head_dim // 2, len(row)
    turn = np.exp(1j * np.arange(tokens)[:, None] * config.theta ** (-np.arange(half) / half))
    x = weights["model.tok_embeddings.embedding_weight"][row]
    for layer in range(config.num_layers):
        name = f"model.layers.{layer}"
        h = norm(x, f"{name}.attention_norm.weight")
        q, k, v = (h @ weights[f"{name}.attention.{part}.weight"].T for part in ("wq", "wk", "wv"))
        heads = []
        for head in range(config.num_heads):
            group = slice(*(np.array([0, 1]) + head * config.num_kv_heads // config.num_heads) * config.head_dim)
            own = slice(head * config.head_dim, (head + 1) * config.head_dim)
            turned = [(part[:, :half] + 1j * part[:, half:]) * turn for part in (q[:, own], k[:, group])]
            scores = (turned[0] @ turned[1].conj().T).real / np.sqrt(config.head_dim)
            e = np.exp(scores - scores.max()) * np.tri(tokens)
            heads.append(e / e.sum(-1, keepdims=True) @ v[:, group])
        x = x + np.concatenate(heads, -1) @ weights[f"{name}.attention.wo.weight"].T
        h = norm(x, f"{name}.ffn_norm.weight")
        gate, up = (h @ weights[f"{name}.feed_forward.{part}.weight"].T for part in ("w1", "w3"))
        x = x + gate / (1 + np.exp(-gate)) * up @ weights[f"{name}.feed_forward.w2.weight"].T
    return norm(x, "model.norm_out.weight") @ weights["lm_head.weight"].T


def test_gradients_of_every_weight(gqa: tuple[LlamaConfig, nn.Cell, Any]) -> None:
    config, model, golden = gqa
    ids, labels = golden["input_ids"][:, :-1], golden["input_ids"][:, 1:]
    weights = {name: parameter.asnumpy().astype(np.float64) for name, parameter in parameters(model).items()}
    loss, gradients = MeanLoss(model)(int32(ids), int32(labels))
    assert float(loss.asnumpy()) == pytest.approx(numpy_loss(weights, config, ids, labels), abs=1e-5)
    random = np.random.default_rng(3)
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        direction = random.standard_normal(weight.shape)
        moved = [
            numpy_loss({**weights, name: weight + step * direction}, config, ids, labels) for step in (1e-5, -1e-5)
        ]
        expected = (moved[0] - moved[1]) / 2e-5
        assert float((gradient.asnumpy() * direction).sum()) == pytest.approx(expected, rel=2e-3, abs=2e-5), name

"""Parts that single families need: attention of one mask a head, prefixes, scaled queries, and the normalised head."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mindspore import Parameter, ParameterTuple, Tensor, ops

import mf_models
from mf_models.families.gpt2 import GPT2Config
from mf_models.families.llama import LlamaConfig
from mf_models.initializers import initialize
from mf_models.kernels.select import select_kernels
from mf_models.layers.alibi import alibi_slopes
from mf_models.layers.log_scale import LogScale
from mf_models.layers.norm_head import NormHead
from mf_models.layers.prefix import KeyValuePrefix, LearntRows, PromptEmbedding

GENERATOR = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return GENERATOR.normal(size=shape).astype(np.float32)


def slopes_by_differences(function: Callable[..., float], inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Gradients of a function of float64 arrays by central differences."""
    inputs, step = [array.astype(np.float64) for array in inputs], 1e-6
    gradients = []
    for array in inputs:
        gradient = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            kept, ends = array[place], []
            for sign in (1, -1):
                array[place] = kept + sign * step
                ends.append(function(*inputs))
            array[place], gradient[place] = kept, (ends[0] - ends[1]) / (2 * step)
        gradients.append(gradient)
    return gradients


def test_general_attention_and_its_gradients() -> None:
    q, k, v = normal(2, 4, 3, 2), normal(2, 2, 3, 2), normal(2, 2, 3, 2)
    mask = np.where(np.tril(np.ones((3, 3))) > 0, 0, -1e9) + normal(1, 4, 3, 3)
    factors = (GENERATOR.random((2, 4, 3, 3)) > 0.3).astype(np.float32) / 0.7
    weights = normal(2, 4, 3, 2)

    def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> float:
        keys, values = np.repeat(k, 2, 1), np.repeat(v, 2, 1)
        scores = 0.5 * q @ keys.swapaxes(2, 3) + mask
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares = shares / shares.sum(-1, keepdims=True) * factors
        return float((shares @ values * weights).sum())

    kernel, fixed_mask, fixed_factors = (
        select_kernels().general_attention,
        Tensor(mask.astype(np.float32)),
        Tensor(factors.astype(np.float32)),
    )

    def attended(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (kernel(q, k, v, fixed_mask, 0.5, fixed_factors) * Tensor(weights)).sum()

    total, gradients = ops.value_and_grad(attended, (0, 1, 2))(Tensor(q), Tensor(k), Tensor(v))
    assert float(total.asnumpy()) == pytest.approx(reference(q, k, v), rel=1e-5)
    for found, expected in zip(gradients, slopes_by_differences(reference, [q, k, v]), strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, 1e-4, 1e-5)


def test_the_normalised_head_and_its_gradients() -> None:
    x, weight, weights = normal(2, 3), normal(4, 3), normal(2, 4)
    head = NormHead(3, 4)
    head.weight.set_data(Tensor(weight))

    def reference(x: np.ndarray, weight: np.ndarray) -> float:
        return float((x @ (weight / np.linalg.norm(weight, axis=1, keepdims=True)).T * weights).sum())

    def scored(x: Tensor) -> Tensor:
        return (head(x) * Tensor(weights)).sum()

    differentiate = ops.value_and_grad(scored, 0, ParameterTuple([head.weight]))
    total, (by_x, (by_weight,)) = differentiate(Tensor(x))
    assert float(total.asnumpy()) == pytest.approx(reference(x, weight), rel=1e-5)
    for found, expected in zip((by_x, by_weight), slopes_by_differences(reference, [x, weight]), strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, 1e-4, 1e-5)


def test_a_row_of_zeros_of_the_normalised_head_stays_zero() -> None:
    head = NormHead(3, 2)
    assert not head(Tensor(normal(1, 3))).asnumpy().any()


@pytest.mark.parametrize(
    ("heads", "exponents"),
    [(4, [2, 4, 6, 8]), (8, [1, 2, 3, 4, 5, 6, 7, 8]), (6, [2, 4, 6, 8, 1, 3]), (1, [8]), (3, [4, 8, 2])],
)
def test_slopes_of_distance(heads: int, exponents: list[int]) -> None:
    np.testing.assert_allclose(alibi_slopes(heads), 2.0 ** -np.array(exponents), 1e-15)


def test_forty_heads_have_the_slopes_of_the_largest_baichuan() -> None:
    slopes = alibi_slopes(40)
    np.testing.assert_allclose(slopes[:32], 2.0 ** (-0.25 * np.arange(1, 33)), 1e-12)
    np.testing.assert_allclose(slopes[32:], 2.0 ** (-0.125 * np.arange(1, 17, 2)), 1e-12)


def test_queries_grow_with_the_number_of_keys_that_they_see() -> None:
    mask = np.where(np.tril(np.ones((6, 6))) > 0, 0.0, -1e9).astype(np.float32)
    # A document of its own begins at the fifth token: it sees one key again.
    mask[4:, :4] = -1e9
    scaled = LogScale(2)(Tensor(np.ones((1, 1, 6, 2), np.float32)), Tensor(mask[None])).asnumpy()
    expected = [1, 1, np.log(3) / np.log(2), 2, 1, 1]
    np.testing.assert_allclose(scaled[0, 0, :, 0], expected, 1e-6)


def test_a_prefix_is_keys_and_values_that_all_see() -> None:
    config = LlamaConfig(
        hidden_size=8, num_layers=1, num_heads=2, n_kv_heads=1, vocab_size=16, seq_length=8, intermediate_size=8
    )
    model = mf_models.build(config)
    initialize(model, seed=0)
    before = set(model.parameters_dict())
    attention = model.model.layers[0].attention
    rows = {name: Parameter(Tensor(normal(1, 3, 4)), name=name) for name in ("keys", "values")}
    attention.prefix = KeyValuePrefix(LearntRows(*rows.values()))
    added = set(model.parameters_dict()) - before
    assert len(added) == 2 and all("prefix" in name for name in added)
    # All scores are 0, so a query weighs all that it sees alike.
    attention.wq.weight.set_data(Tensor(np.zeros((8, 8), np.float32)))
    x = normal(1, 2, 8)
    mask = Tensor(np.array([[[0, -1e9], [0, 0]]], np.float32))
    found = attention(Tensor(x), None, None, (mask, None)).asnumpy()[0]
    values = x[0] @ attention.wv.weight.asnumpy().T
    learnt = rows["values"].asnumpy()[0]
    seen = [np.concatenate((learnt, values[: place + 1])).mean(0) for place in range(2)]
    expected = np.tile(seen, 2) @ attention.wo.weight.asnumpy().T
    np.testing.assert_allclose(found, expected, 1e-4, 1e-6)


def test_a_prompt_stands_before_the_text() -> None:
    prompt = PromptEmbedding(2, 3)
    prompt.embedding_weight.set_data(Tensor(normal(2, 3)))
    x = normal(2, 4, 3)
    found = prompt(Tensor(x)).asnumpy()
    np.testing.assert_array_equal(found[:, 2:], x)
    np.testing.assert_array_equal(found[:, :2], [prompt.embedding_weight.asnumpy()] * 2)


ACTIVATIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "gelu": ("gelu_new", lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    "fast_gelu": ("quick_gelu", lambda x: x / (1 + np.exp(-1.702 * x))),
    "relu": ("relu", lambda x: np.maximum(x, 0)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gpt2_takes_its_activation_from_the_configuration(name: str) -> None:
    hf_name, formula = ACTIVATIONS[name]
    tokens: dict[str, Any] = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": None}
    config = GPT2Config(hidden_size=4, num_layers=1, num_heads=2, vocab_size=8, hidden_act=name, **tokens)
    assert config.to_hf()["activation_function"] == hf_name
    assert GPT2Config.from_hf(config.to_hf()).hidden_act == name
    feed_forward = mf_models.build(config).model.layers[0].feed_forward
    for parameter in feed_forward.get_parameters():
        parameter.set_data(Tensor(normal(*parameter.shape)))
    w1, w2 = feed_forward.w1, feed_forward.w2
    x = normal(1, 3, 4)
    inner = formula(x @ w1.weight.asnumpy().T + w1.bias.asnumpy())
    expected = inner @ w2.weight.asnumpy().T + w2.bias.asnumpy()
    np.testing.assert_allclose(feed_forward(Tensor(x)).asnumpy(), expected, 1e-5, 1e-5)

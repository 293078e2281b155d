"""The kernels for Ascend: compiled by MindSpore's Ascend compiler without a device, and compared with those for CPU.

No device computes here. What a fused operator is asked for is compared instead: its documented formula in float64
takes its place, so that masks, scales, layouts and groups count.
"""

import shutil
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from mf_models.kernels.ascend import attention as ascend_attention
from mf_models.kernels.ascend import expert_linear as ascend_experts
from mf_models.kernels.ascend import paged as ascend_paged
from mf_models.kernels.ascend import rotary as ascend_rotary
from mf_models.kernels.ascend import swiglu as ascend_swiglu
from mf_models.kernels.attention import attention
from mf_models.kernels.expert_linear import expert_linear
from mf_models.kernels.general_attention import general_attention
from mf_models.kernels.paged import paged_attention, reshape_and_cache
from mf_models.kernels.rotary import rotate
from mf_models.kernels.swiglu import swiglu
from mf_models.layers.decoder import causal_mask
from mf_models.report.ascend import COMPILE
from mf_parallel.simulation import simulate

PROGRAMS = Path(__file__).parent / "programs"

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in for CANN needs a C compiler")

FLASH = {"FlashAttentionScore", "FlashAttentionScoreGrad"}
ROTARY = {*FLASH, "RotaryPositionEmbedding", "RotaryPositionEmbeddingGrad"}
COMPOSED = {"BatchMatMul", "Softmax"}

EXPECTED = {
    "attention, mask of the batch": FLASH,
    "attention, one mask": FLASH,
    "attention, causal": FLASH,
    "attention, window": FLASH,
    "attention, float16": FLASH,
    "attention, narrow values": FLASH,
    "attention, mask of each head": FLASH,
    "rotary_attention": ROTARY,
    "rotary_attention, window": ROTARY,
    "capped_attention": COMPOSED,
    "rms_norm": {"RmsNorm", "RmsNormGrad"},
    "layer_norm": {"LayerNormExt", "LayerNormGradExt"},
    "rotate": {"RotaryPositionEmbeddingGrad"},
    "rotate, a part": {"RotaryPositionEmbeddingGrad"},
    "swiglu": {"SwigluGrad"},
    "geglu": {"GeLU", "GeLUGrad"},
    "linear": {"MatMul"},
    "cross_entropy": {"LogSoftmax", "LogSoftmaxGrad"},
    "expert_linear": {"GroupedMatmul"},
    "expert_linear, a block each": {"GroupedMatmul"},
    "paged_attention": {"ReshapeAndCache", "PagedAttention"},
    "generation, a prompt": {"ReshapeAndCache", "FlashAttentionScore"},
    "generation, one token": {"ReshapeAndCache", "PagedAttention"},
    "adamw_update": {"AdamWeightDecay"},
}
"""What the graph of each case must call; forward operators whose results no gradient needs are not in it."""


@needs_compiler
def test_every_kernel_compiles_forward_and_backward() -> None:
    graphs = simulate("compile_kernels:compile_all", {}, search_path=[PROGRAMS])
    assert graphs.keys() == EXPECTED.keys()
    for name, operators in graphs.items():
        assert operators.keys() >= EXPECTED[name], f"{name}: {operators}"
        unwanted = {"Transpose", *COMPOSED} if EXPECTED[name] is ROTARY else COMPOSED
        assert EXPECTED[name] not in (FLASH, ROTARY) or not operators.keys() & unwanted, f"{name}: {operators}"
    # One token attends to the blocks where they lie.
    assert not {*COMPOSED, "FlashAttentionScore"} & graphs["generation, one token"].keys()
    # The compressed mask: nothing of the size of the scores is made.
    assert "LessScalar" in graphs["attention, one mask"]
    assert "LessScalar" not in graphs["attention, causal"]
    assert "LessScalar" not in graphs["attention, window"]


@needs_compiler
@pytest.mark.slow
def test_a_whole_llama_compiles_forward_and_backward(data: Path) -> None:
    graphs = simulate(COMPILE, {"path": str(data / "llama_gqa"), "stages": ["forward", "backward"]})
    layers, norms = 2, 5
    forward, backward = graphs["forward"], graphs["backward"]
    assert forward["FlashAttentionScore"] == layers
    assert forward["RmsNorm"] == norms
    assert forward["RotaryPositionEmbedding"] == 2 * layers
    assert forward["Swiglu"] == layers
    for operator in ("FlashAttentionScore", "RmsNorm", "RotaryPositionEmbedding", "Swiglu"):
        assert backward[f"{operator}Grad"] == forward[operator]
    # No scores of all keys, no mask of their size, and nothing in another order than the projections have it in.
    assert not {*COMPOSED, "LessScalar", "Transpose"} & backward.keys()


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Tensor:
    return Tensor(np.random.default_rng((seed, *shape)).standard_normal(shape).astype(dtype))


def int32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.int32))


def float64(tensor: Tensor) -> np.ndarray:
    return tensor.astype(ms.float32).asnumpy().astype(np.float64)


class FlashAttention:
    """FlashAttentionScore by its documentation: softmax(mask(scale * (q k^T + shift))) v, in layouts BNSD and BSND."""

    def __init__(self, heads: int, keep: float, scale: float, before: int, after: int, *form: Any):
        precision, layout, mode = form
        assert (keep, precision) == (1.0, 0)
        self.axes = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3)}[layout]
        self.heads, self.scale, self.before, self.after, self.mode = heads, scale, before, after, mode

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, shift: Any, drop: None, padding: None, mask: Tensor) -> Any:
        queries, keys, values = (float64(x).transpose(self.axes) for x in (q, k, v))
        assert queries.shape[1] == self.heads and q.shape[3] % 16 == 0 and q.shape[3] == k.shape[3] == v.shape[3]
        assert q.dtype in (ms.float16, ms.bfloat16) and mask.dtype == ms.bool_
        group = self.heads // keys.shape[1]
        keys, values = keys.repeat(group, 1), values.repeat(group, 1)
        scores = queries @ keys.swapaxes(2, 3)
        scores = self.scale * (scores if shift is None else scores + float64(shift))
        scores = np.where(self.hidden(mask.asnumpy(), *scores.shape[2:]), -np.inf, scores)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out = (weights / weights.sum(-1, keepdims=True) @ values).transpose(self.axes)
        return None, None, None, Tensor(out.astype(np.float32)).astype(q.dtype)

    def hidden(self, mask: np.ndarray, tokens: int, keys: int) -> np.ndarray:
        if self.mode == 1:
            assert mask.shape[1:] == (1, tokens, keys)
            return mask
        # The compressed forms: an upper triangle of fixed size, from which the operator derives its own.
        np.testing.assert_array_equal(mask, np.triu(np.ones((2048, 2048), bool), 1))
        distance = np.arange(tokens)[:, None] - np.arange(keys)
        if self.mode == 2:
            return distance < 0
        assert self.mode == 4
        return (distance > self.before) | (distance < -self.after)


@pytest.fixture
def documented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascend_attention, "FlashAttentionScore", FlashAttention)


@pytest.mark.usefixtures("documented")
@pytest.mark.parametrize("window", [None, 1, 3, 8])
@pytest.mark.parametrize("value_dim", [12, 5])
def test_causal_attention_asks_for_the_same(window: int | None, value_dim: int) -> None:
    q, k, v = numbers(2, 4, 6, 12), numbers(2, 2, 6, 12), numbers(2, 2, 6, value_dim)
    mask = causal_mask(int32([range(6)]), 6, window)
    expected = attention(q, k, v, mask, 0.3).asnumpy()
    halves = [x.astype(ms.float16) for x in (q, k, v)]
    for span in (None, window or 6):
        out = ascend_attention.attention(*halves, mask, 0.3, span)
        assert out.dtype == ms.float16
        np.testing.assert_allclose(float64(out), expected, 0, 3e-3)
    # float32 is computed as bfloat16.
    np.testing.assert_allclose(ascend_attention.attention(q, k, v, mask, 0.3).asnumpy(), expected, 0, 3e-2)


@pytest.mark.usefixtures("documented")
def test_attention_of_a_batch_with_its_own_masks_asks_for_the_same() -> None:
    q, k, v = (numbers(2, heads, 3, 16) for heads in (4, 2, 2))
    mask = causal_mask(int32([[4, 5, 6], [0, 1, 2]]), 3)
    out = ascend_attention.attention(*(x.astype(ms.float16) for x in (q, k, v)), mask, 0.3)
    np.testing.assert_allclose(float64(out), attention(q, k, v, mask, 0.3).asnumpy(), 0, 3e-3)


@pytest.mark.usefixtures("documented")
def test_attention_with_a_mask_of_each_head_asks_for_the_same() -> None:
    q, k, v = (numbers(2, heads, 6, 16) for heads in (4, 2, 2))
    distance = np.arange(6) - np.arange(6)[:, None]
    slopes = 2.0 ** -np.arange(1, 5).reshape((1, 4, 1, 1))
    mask = Tensor(np.where(distance > 0, -1e9, slopes * distance).astype(np.float32))
    expected = general_attention(q, k, v, mask, 0.3).asnumpy()
    out = ascend_attention.general_attention(*(x.astype(ms.float16) for x in (q, k, v)), mask, 0.3)
    np.testing.assert_allclose(float64(out), expected, 0, 2e-2)


def turned(x: Tensor, cos: Tensor, sin: Tensor, mode: int) -> Tensor:
    """RotaryPositionEmbedding by its documentation, of pairs half a head apart."""
    assert mode == 0 and cos.shape[-1] == x.shape[-1]
    # With heads before tokens it refuses many heads and few tokens.
    assert cos.shape[2] == 1 or x.shape[0] * x.shape[1] <= 8 * x.shape[2]
    first, second = np.split(x.asnumpy(), 2, -1)
    return Tensor(x.asnumpy() * cos.asnumpy() + np.concatenate((-second, first), -1) * sin.asnumpy())


def turns(*shape: int) -> tuple[Tensor, Tensor]:
    angles = np.random.default_rng(0).uniform(0, 6, shape).astype(np.float32)
    return Tensor(np.cos(angles)), Tensor(np.sin(angles))


@pytest.mark.parametrize(("part", "heads"), [(6, 3), (2, 3), (6, 21)])
def test_rotation_asks_for_the_same(part: int, heads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascend_rotary, "rotary_position_embedding", turned)
    inputs = numbers(2, heads, 5, 12), *turns(2, 1, 5, part)
    np.testing.assert_allclose(ascend_rotary.rotate(*inputs).asnumpy(), rotate(*inputs).asnumpy(), 0, 1e-6)


@pytest.mark.usefixtures("documented")
@pytest.mark.parametrize(("window", "part", "rows"), [(None, 6, 1), (3, 6, 2), (None, 2, 2)])
def test_attention_in_the_layout_of_the_projections_asks_for_the_same(
    window: int | None, part: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ascend_rotary, "rotary_position_embedding", turned)
    q, k, v = (numbers(2, 7, heads, 12) for heads in (4, 2, 2))
    angles = turns(rows, 1, 7, part)
    heads_first = [x.transpose((0, 2, 1, 3)) for x in (q, k, v)]
    rotated = [rotate(x, *angles) for x in heads_first[:2]]
    expected = attention(*rotated, heads_first[2], causal_mask(int32([range(7)]), 7, window), 0.3).asnumpy()
    halves = [x.astype(ms.float16) for x in (q, k, v)]
    found = ascend_attention.rotary_attention(*halves, *angles, 0.3, window or 7)
    assert found.dtype == ms.float16
    np.testing.assert_allclose(float64(found), expected.transpose((0, 2, 1, 3)), 0, 5e-3)


def test_gated_activation_asks_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def documented_swiglu(x: Tensor, dim: int) -> Tensor:
        first, second = np.split(float64(x), 2, dim)
        return Tensor((first / (1 + np.exp(-first)) * second).astype(np.float32))

    monkeypatch.setattr(ascend_swiglu.ops, "swiglu", documented_swiglu)
    gate, up = numbers(2, 3, 8), numbers(2, 3, 8, seed=1)
    np.testing.assert_allclose(ascend_swiglu.swiglu(gate, up).asnumpy(), swiglu(gate, up).asnumpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("expert_of_block", [None, [0, 0, 2, 3], [1, 1, 1, 1], [3, 3, 3, 3]])
def test_experts_ask_for_the_same(expert_of_block: list[int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def grouped(x: list[Tensor], weight: list[Tensor], *others: Any) -> tuple[Tensor]:
        """GroupedMatmul by its documentation: rows below each end belong to a weight of their own."""
        *unused, ends = others
        assert not any(unused) and ends.dtype == ms.int64 and ends.asnumpy()[-1] == x[0].shape[0]
        starts = [0, *ends.asnumpy()[:-1]]
        parts = zip(starts, ends.asnumpy(), weight[0].asnumpy(), strict=True)
        return (Tensor(np.concatenate([x[0].asnumpy()[start:end] @ matrix for start, end, matrix in parts])),)

    monkeypatch.setattr(ascend_experts, "_matmul", grouped)
    x, weight = numbers(4, 2, 8), numbers(4, 6, 8)
    expert = None if expert_of_block is None else int32(expert_of_block)
    expected = expert_linear(x, weight, expert).asnumpy()
    np.testing.assert_allclose(ascend_experts.expert_linear(x, weight, expert).asnumpy(), expected, 1e-5, 1e-5)


def test_paged_attention_asks_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    class Paged:
        """PagedAttention by its documentation, on queries [batch, 1, heads * head dim]."""

        def __init__(self, heads: int, scale: float, kv_heads: int):
            self.heads, self.scale, self.kv_heads = heads, scale, kv_heads

        def __call__(self, query: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lens: Tensor) -> Tensor:
            rows = []
            for row, table, length in zip(float64(query), tables.asnumpy(), lens.asnumpy(), strict=True):
                shape, group = (-1, self.kv_heads, keys.shape[3]), self.heads // self.kv_heads
                pools = (float64(pool)[table].reshape(shape)[:length] for pool in (keys, values))
                k, v = (pool.repeat(group, 1) for pool in pools)
                scores = np.einsum("nh,snh->ns", row.reshape((self.heads, -1)), k) * self.scale
                weights = np.exp(scores - scores.max(-1, keepdims=True))
                rows.append(np.einsum("ns,snh->nh", weights / weights.sum(-1, keepdims=True), v).reshape((1, -1)))
            return Tensor(np.stack(rows).astype(np.float32)).astype(query.dtype)

    monkeypatch.setattr(ascend_paged, "PagedAttention", Paged)
    pools = numbers(6, 4, 2, 8), numbers(6, 4, 2, 8, seed=1)
    tables, lens = int32([[5, 1, 0], [3, 4, 2]]), int32([7, 9])
    query = numbers(2, 4, 8)
    expected = paged_attention(query, *pools, tables, lens, 0.3).asnumpy()
    found = ascend_paged.paged_attention(query, *pools, tables, lens, 0.3).asnumpy()
    np.testing.assert_allclose(found, expected, 0, 1e-5)


def test_tokens_are_written_into_their_slots() -> None:
    pools = [ms.Parameter(Tensor(np.zeros((3, 4, 2, 8), np.float32)), name=name) for name in ("keys", "values")]
    key, value = numbers(3, 2, 8), numbers(3, 2, 8, seed=1)
    written = reshape_and_cache(key, value, *pools, int32([11, 0, 5]))
    for pool, rows in zip(written, (key, value), strict=True):
        expected = np.zeros((12, 2, 8), np.float32)
        expected[[11, 0, 5]] = rows.asnumpy()
        np.testing.assert_array_equal(pool.asnumpy().reshape((12, 2, 8)), expected)

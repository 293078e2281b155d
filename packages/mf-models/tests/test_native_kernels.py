"""Operators in C++ against formulas in float64, at sizes that fill no vector and no block.

Tolerances: float32 has 24 bits, and a sum over n products of numbers about 1 is off by about sqrt(n) * 6e-8 of its
size; 1e-5 of the largest value leaves a factor of ten at the largest sums here.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from mf_models.kernels.native import library
from mf_models.kernels.native.operators import (
    NativeAttention,
    NativeCrossEntropy,
    NativeGlobalNorm,
    NativeRmsNorm,
    NativeSwiglu,
)

Array = NDArray[Any]

RELATIVE = 1e-5


@pytest.fixture(scope="module")
def compiled() -> Path:
    found = library.native_library()
    assert found is not None, "these tests need a C++ compiler"
    return found


class Weighed(nn.Cell):
    """The sum of an operator's results, each times a number."""

    def __init__(self, operator: nn.Cell, fixed: Sequence[Any] = ()):
        super().__init__()
        self.operator = operator
        self.fixed = tuple(fixed)

    def construct(self, weights: Tensor, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        out = self.operator(*inputs, *self.fixed)
        return (out * weights).sum(), out


def run(operator: nn.Cell, weights: Array, inputs: Sequence[Array], fixed: Sequence[Any] = (), diff: int = 0):
    """Result of the operator and the gradients of the weighed sum by the first `diff` inputs."""
    grad = ms.value_and_grad(Weighed(operator, fixed), tuple(range(1, diff + 1)), None, has_aux=True)
    (_, out), gradients = grad(Tensor(weights), *map(Tensor, inputs))
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    return out.asnumpy(), [gradient.asnumpy() for gradient in gradients]


def assert_close(found: Array, expected: Array) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=RELATIVE * max(1.0, np.abs(expected).max()))


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rotated(x_BTNH: Array, cos_BTC: Array, sin_BTC: Array, direction: int = 1) -> Array:
    half = cos_BTC.shape[-1]
    cos, sin = cos_BTC[:, :, None], direction * sin_BTC[:, :, None]
    first, second, rest = x_BTNH[..., :half], x_BTNH[..., half : 2 * half], x_BTNH[..., 2 * half :]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin, rest], -1)


def attention(q: Array, k: Array, v: Array, cos: Array, sin: Array, scale: float, span: int, dout: Array):
    """Result and gradients of q, k and v, all in float64."""
    q, k, v, cos, sin, dout = (np.asarray(x, np.float64) for x in (q, k, v, cos, sin, dout))
    group, tokens = q.shape[2] // k.shape[2], q.shape[1]
    q, keys, values = rotated(q, cos, sin), np.repeat(rotated(k, cos, sin), group, 2), np.repeat(v, group, 2)
    distance = np.arange(tokens)[:, None] - np.arange(tokens)
    scores = np.einsum("btnh,bsnh->bnts", q, keys) * scale
    scores = np.where((distance >= 0) & (distance < span), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    out = np.einsum("bnts,bsnh->btnh", p, values)
    dp = np.einsum("btnh,bsnh->bnts", dout, values)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    dq = rotated(np.einsum("bnts,bsnh->btnh", ds, keys), cos, sin, -1)
    by_group = (*k.shape[:3], group, k.shape[3])
    dk = rotated(np.einsum("bnts,btnh->bsnh", ds, q).reshape(by_group).sum(3), cos, sin, -1)
    dv = np.einsum("bnts,btnh->bsnh", p, dout).reshape(by_group).sum(3)
    return out, (dq, dk, dv)


@pytest.mark.parametrize(
    ("rows", "tokens", "heads", "kv_heads", "width", "rotated_width", "span", "own_angles"),
    [
        (2, 65, 4, 2, 16, 8, 65, False),
        (2, 65, 4, 2, 16, 8, 65, True),
        (1, 130, 3, 1, 20, 4, 130, False),
        (2, 64, 2, 2, 33, 16, 64, False),
        (1, 150, 2, 1, 16, 8, 40, False),
        (1, 7, 2, 1, 8, 4, 1, False),
    ],
)
def test_attention(compiled, rows, tokens, heads, kv_heads, width, rotated_width, span, own_angles):
    q, k, v = (normal(seed, rows, tokens, count, width) for seed, count in ((1, heads), (2, kv_heads), (3, kv_heads)))
    angles = np.random.default_rng(4).uniform(-3, 3, (rows if own_angles else 1, tokens, rotated_width))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    weights = normal(5, rows, tokens, heads, width)
    scale = width**-0.5
    out, gradients = run(NativeAttention(compiled), weights, (q, k, v, cos[:, None], sin[:, None]), (scale, span), 3)
    expected, expected_gradients = attention(q, k, v, cos, sin, scale, span, weights)
    assert_close(out, expected)
    for found, one in zip(gradients, expected_gradients, strict=True):
        assert_close(found, one)


def test_a_number_that_is_none_is_not_hidden(compiled):
    """An overflow is told from the gradients, so no operator may turn NaN into a number."""
    nan = np.float32("nan")
    x = normal(1, 2, 20)
    x[1, 3] = nan
    for operator, inputs, fixed in (
        (NativeSwiglu(compiled), (x, x), ()),
        (NativeRmsNorm(compiled), (x, x[0]), (1e-5,)),
        (NativeCrossEntropy(compiled), (x, np.int32([0, 1])), ()),
    ):
        out = operator(*map(Tensor, inputs), *fixed).asnumpy()
        assert np.isfinite(out[0]).all()
        assert np.isnan(out[1]).any()
    q = normal(2, 1, 5, 1, 8)
    q[0, 2, 0, 1] = nan
    one = Tensor(np.ones((1, 1, 5, 4), np.float32))
    out = NativeAttention(compiled)(
        Tensor(q), Tensor(normal(3, 1, 5, 1, 8)), Tensor(normal(4, 1, 5, 1, 8)), one, one, 1.0, 5
    )
    assert np.isnan(out.asnumpy()[0, 2]).all()
    assert np.isfinite(out.asnumpy()[0, [0, 1, 3, 4]]).all()


SUMMED = """
import sys
from pathlib import Path
import mindspore as ms
import numpy as np
from mindspore import Tensor
from mf_models.kernels.native.operators import NativeGlobalNorm, NativeRmsNorm
library, x = Path(sys.argv[1]), np.random.default_rng(1).standard_normal((2000, 40)).astype(np.float32)
norm = NativeRmsNorm(library)
gradient = ms.grad(lambda x, weight: norm(x, weight, 1e-5), 1)(Tensor(x), Tensor(x[0]))
ms.set_context(mode=ms.GRAPH_MODE)
length = NativeGlobalNorm(library)((Tensor(x), Tensor(x[3])))
sys.stdout.write((gradient.asnumpy().tobytes() + length.asnumpy().tobytes()).hex())
"""


def test_sums_over_rows_have_the_same_bits_with_any_number_of_threads(compiled, tmp_path):
    found = set()
    for threads in ("1", "2", "3"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-c", SUMMED, str(compiled)]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop()) == (40 + 1) * 4 * 2


@pytest.mark.parametrize("shape", [(3, 5, 16), (130, 48), (7, 35), (1, 3)])
def test_rms_norm(compiled, shape):
    x, weight, weights = normal(1, *shape), normal(2, shape[-1]), normal(3, *shape)
    out, (dx, dw) = run(NativeRmsNorm(compiled), weights, (x, weight), (1e-5,), 2)
    x8, w8, g8 = x.astype(np.float64), weight.astype(np.float64), weights.astype(np.float64)
    inverse = 1 / np.sqrt((x8**2).mean(-1, keepdims=True) + 1e-5)
    assert_close(out, x8 * inverse * w8)
    assert_close(dx, inverse * (g8 * w8 - x8 * inverse**2 * (g8 * w8 * x8).mean(-1, keepdims=True)))
    assert_close(dw, (g8 * x8 * inverse).reshape(-1, shape[-1]).sum(0))


@pytest.mark.parametrize("shape", [(3, 5, 16), (2, 20_001), (7,)])
def test_swiglu(compiled, shape):
    gate, up, weights = 4 * normal(1, *shape), normal(2, *shape), normal(3, *shape)
    out, (dgate, dup) = run(NativeSwiglu(compiled), weights, (gate, up), (), 2)
    a, b, g = (x.astype(np.float64) for x in (gate, up, weights))
    sigmoid = 1 / (1 + np.exp(-a))
    assert_close(out, a * sigmoid * b)
    assert_close(dgate, g * b * sigmoid * (1 + a * (1 - sigmoid)))
    assert_close(dup, g * a * sigmoid)


@pytest.mark.parametrize("shapes", [[(3, 5), (7,), ()], [(1,)], [(130, 129), (2, 16_384), (16_385,)]])
def test_global_norm(compiled, shapes):
    tensors = [normal(seed, *shape) * np.float32(10**seed) for seed, shape in enumerate(shapes)]
    found = NativeGlobalNorm(compiled)(tuple(Tensor(tensor) for tensor in tensors)).asnumpy()
    assert found.shape == ()
    expected = np.sqrt(sum((tensor.astype(np.float64) ** 2).sum() for tensor in tensors))
    np.testing.assert_allclose(found, expected, rtol=5e-7)


@pytest.mark.parametrize("value", ["nan", "inf", "3e19"])
def test_a_norm_beyond_the_range_of_floats_is_not_finite(compiled, value):
    """An overflow is told from the norm."""
    tensors = (Tensor(normal(1, 40)), Tensor(np.full((3, 5), value, np.float32)))
    assert not np.isfinite(NativeGlobalNorm(compiled)(tensors).asnumpy())


@pytest.mark.parametrize(("count", "vocabulary"), [(5, 48), (37, 1000), (3, 7)])
def test_cross_entropy(compiled, count, vocabulary):
    logits, weights = 6 * normal(1, count, vocabulary), normal(2, count)
    labels = np.random.default_rng(3).integers(0, vocabulary, count).astype(np.int32)
    losses, (dlogits,) = run(NativeCrossEntropy(compiled), weights, (logits, labels), (), 1)
    x8 = logits.astype(np.float64)
    log_sums = np.log(np.exp(x8).sum(-1))
    assert_close(losses, log_sums - x8[np.arange(count), labels])
    expected = np.exp(x8 - log_sums[:, None])
    expected[np.arange(count), labels] -= 1
    assert_close(dlogits, expected * weights[:, None])

"""Every kernel against a float64 formula, and its gradients against finite differences of that formula."""

from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor, nn, ops
from mindspore import ParameterTuple as Parameters

from mf_models.kernels import select_kernels

RTOL, ATOL = 2e-5, 2e-5
Arrays = list[np.ndarray]


class WeightedSum(nn.Cell):
    """sum(kernel(inputs) * weights) with its gradients: every output element counts differently."""

    def __init__(self, kernel: Callable[..., Any], differentiated: tuple[int, ...], constants: tuple[Any, ...]):
        super().__init__()
        self.kernel = kernel
        self.constants = constants
        self.gradients = ms.grad(self.total, tuple(position + 1 for position in differentiated or (0,)))

    def total(self, weights: Tensor, *inputs: Tensor) -> Tensor:
        return (self.kernel(*inputs, *self.constants) * weights).sum()

    def construct(self, weights: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        return self.kernel(*inputs, *self.constants), self.gradients(weights, *inputs)


def finite_differences(total: Callable[[Arrays], float], inputs: Arrays, position: int) -> np.ndarray:
    gradient = np.zeros_like(inputs[position])
    for index in np.ndindex(gradient.shape):
        values = []
        for step in (1e-5, -1e-5):
            moved = [array.copy() for array in inputs]
            moved[position][index] += step
            values.append(total(moved))
        gradient[index] = (values[0] - values[1]) / 2e-5
    return gradient


def check(
    kernel: Any, formula: Callable[..., np.ndarray], inputs: Arrays, differentiated: int, *constants: Any
) -> None:
    """Compare outputs, and the gradients of the first `differentiated` inputs."""
    expected = formula(*inputs, *constants)
    weights = np.random.default_rng(9).standard_normal(expected.shape)
    positions = tuple(range(differentiated))
    single = [Tensor(array.astype(np.float32 if array.dtype == np.float64 else array.dtype)) for array in inputs]
    out, gradients = WeightedSum(kernel, positions, constants)(Tensor(weights.astype(np.float32)), *single)
    np.testing.assert_allclose(out.asnumpy(), expected, RTOL, ATOL)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for position, gradient in zip(positions, gradients, strict=bool(positions)):
        wanted = finite_differences(
            lambda moved: float((formula(*moved, *constants) * weights).sum()), inputs, position
        )
        np.testing.assert_allclose(gradient.asnumpy(), wanted, 20 * RTOL, 20 * ATOL)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normals(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def attention_formula(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, scale: float, cap: float | None = None
) -> np.ndarray:
    out = np.zeros(q.shape)
    group = q.shape[1] // k.shape[1]
    for b in range(q.shape[0]):
        for n in range(q.shape[1]):
            scores = q[b, n] @ k[b, n // group].T * scale
            scores = scores if cap is None else cap * np.tanh(scores / cap)
            out[b, n] = softmax(scores + mask[b % mask.shape[0]]) @ v[b, n // group]
    return out


@pytest.mark.parametrize(("heads", "kv_heads", "tokens", "keys", "batch_mask"), [(6, 2, 5, 5, 1), (3, 3, 3, 7, 2)])
def test_attention(heads: int, kv_heads: int, tokens: int, keys: int, batch_mask: int) -> None:
    last_key = keys - tokens + np.arange(tokens)[:, None] - np.arange(batch_mask)[:, None, None]
    mask = np.where(np.arange(keys) <= last_key, 0.0, -1e9)
    assert (mask < 0).any()
    inputs = [normals(2, heads, tokens, 6), normals(2, kv_heads, keys, 6), 1 + normals(2, kv_heads, keys, 6), mask]
    check(select_kernels().attention, attention_formula, inputs, 3, 6**-0.5)


def test_capped_attention() -> None:
    mask = np.where(np.tri(5, 7, 2) > 0, 0.0, -1e9)[None]
    inputs = [3 * normals(2, 6, 5, 6), normals(2, 2, 7, 6), 1 + normals(2, 2, 7, 6), mask]
    # A cap that most scores come near to, so that a lost derivative of the cap would show.
    check(select_kernels().capped_attention, attention_formula, inputs, 3, 0.3, 1.5)


def test_rotate() -> None:
    def formula(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        pairs = x[..., :3] + 1j * x[..., 3:]
        turned = pairs * (cos + 1j * sin)
        return np.concatenate((turned.real, turned.imag), -1)

    angles = normals(2, 1, 5, 3)
    check(select_kernels().rotate, formula, [normals(2, 3, 5, 6), np.cos(angles), np.sin(angles)], 1)


def test_rotate_leaves_the_rest_of_a_head() -> None:
    def formula(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        turned = (x[..., :2] + 1j * x[..., 2:4]) * (cos + 1j * sin)
        return np.concatenate((turned.real, turned.imag, x[..., 4:]), -1)

    angles = normals(2, 1, 5, 2)
    check(select_kernels().rotate, formula, [normals(2, 3, 5, 7), np.cos(angles), np.sin(angles)], 1)


def test_layer_norm() -> None:
    def formula(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * weight + bias

    check(select_kernels().layer_norm, formula, [1 + normals(3, 2, 7) * 0.1, normals(7), normals(7) * 2], 3, 1e-2)


def gelu_formula(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def test_gelu() -> None:
    check(select_kernels().gelu, gelu_formula, [2 * normals(3, 5)], 1)


def test_fast_gelu() -> None:
    check(select_kernels().fast_gelu, lambda x: x / (1 + np.exp(-1.702 * x)), [2 * normals(3, 5)], 1)


def test_relu() -> None:
    check(select_kernels().relu, lambda x: np.maximum(x, 0), [2 * normals(3, 5)], 1)


def test_geglu() -> None:
    check(select_kernels().geglu, lambda gate, up: gelu_formula(gate) * up, [normals(3, 5), normals(5, 3).T], 2)


def test_rms_norm() -> None:
    def formula(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight

    check(select_kernels().rms_norm, formula, [normals(3, 2, 7) * 0.1, normals(7)], 2, 1e-2)


def test_swiglu() -> None:
    check(
        select_kernels().swiglu, lambda gate, up: gate / (1 + np.exp(-gate)) * up, [normals(3, 5), normals(5, 3).T], 2
    )


def test_linear_keeps_the_leading_dims() -> None:
    check(select_kernels().linear, lambda x, weight: x @ weight.T, [normals(2, 3, 5), normals(7, 5)], 2)


def test_cross_entropy() -> None:
    def formula(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return -np.log(softmax(logits)[np.arange(len(labels)), labels])

    check(select_kernels().cross_entropy, formula, [3 * normals(5, 11), np.array([0, 10, 3, 3, 7], np.int32)], 1)


def test_cross_entropy_of_huge_logits_is_finite() -> None:
    def formula(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return logits.max(-1) - logits[np.arange(len(labels)), labels]

    logits = np.array([[1e4, -1e4, 0.0], [1e4, -1e4, 0.0]])
    check(select_kernels().cross_entropy, formula, [logits, np.array([0, 1], np.int32)], 0)


class Norm(nn.Cell):
    """The norm of three tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.global_norm = select_kernels().global_norm

    def construct(self, first: Tensor, second: Tensor, third: Tensor) -> Tensor:
        return self.global_norm((first, second, third))


def test_global_norm() -> None:
    arrays = [normals(3, 5), normals(7), np.array(2.0)]
    found = Norm()(*[Tensor(array.astype(np.float32)) for array in arrays])
    assert float(found.asnumpy()) == pytest.approx(np.sqrt(sum((array**2).sum() for array in arrays)), rel=1e-6)


class Updates(nn.Cell):
    """One AdamW update of one parameter."""

    def __init__(self, start: np.ndarray, betas: tuple[float, float], weight_decay: float):
        super().__init__()
        self.parameter = Parameter(Tensor(start.astype(np.float32)), name="p")
        zeros = [Parameter(Tensor(np.zeros(start.shape, np.float32)), name=name) for name in ("m", "v")]
        self.moments = Parameters(zeros)
        self.betas, self.weight_decay = betas, weight_decay
        self.kernels_rates, self.kernels_update = select_kernels().adamw_rates, select_kernels().adamw_update

    def construct(self, step: Tensor, learning_rate: Tensor, gradient: Tensor) -> Tensor:
        rates = self.kernels_rates(step, learning_rate, self.betas, 1e-3)
        done = self.kernels_update(self.parameter, self.moments, gradient, rates, self.betas, self.weight_decay)
        return ops.depend(step, done)


@pytest.mark.parametrize(("betas", "decay"), [((0.9, 0.999), 0.1), ((0.0, 0.5), 0.0)])
def test_adamw_is_bias_corrected_with_decoupled_decay(betas: tuple[float, float], decay: float) -> None:
    expected, m, v = normals(3, 5), np.zeros((3, 5)), np.zeros((3, 5))
    cell = Updates(expected, betas, decay)
    for step in range(1, 6):
        gradient, rate = normals(3, 5) * step, 0.1 / step
        cell(Tensor(float(step), ms.float32), Tensor(rate, ms.float32), Tensor(gradient.astype(np.float32)))
        m = betas[0] * m + (1 - betas[0]) * gradient
        v = betas[1] * v + (1 - betas[1]) * gradient**2
        corrected = m / (1 - betas[0] ** step) / (np.sqrt(v / (1 - betas[1] ** step)) + 1e-3)
        expected = expected - rate * (corrected + decay * expected)
        np.testing.assert_allclose(cell.parameter.asnumpy(), expected, 1e-5, 1e-6)


class Write(nn.Cell):
    """Writes rows, and reads the cache right after."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Parameter(Tensor(np.zeros((2, 3, 2), np.float32)), name="cache")
        self.write_rows = select_kernels().write_rows

    def construct(self, index: Tensor, rows: Tensor) -> Tensor:
        return self.write_rows(self.cache, index, rows) * 1.0


def test_rows_are_written_in_place_and_the_others_stay() -> None:
    cell = Write()
    first = np.array([[0, 2], [1, 0]], np.int32)
    cell(Tensor(first), Tensor(np.array([[1, 2], [3, 4]], np.float32)))
    out = cell(Tensor(first[:1]), Tensor(np.array([[5, 6]], np.float32))).asnumpy()
    expected = np.zeros((2, 3, 2))
    expected[0, 2], expected[1, 0] = (5, 6), (3, 4)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(cell.cache.asnumpy(), expected)


def test_an_unknown_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ms, "get_context", lambda name: "GPU")
    with pytest.raises(ValueError, match=r"device_target GPU: mf has no kernels for it. Allowed: CPU, Ascend."):
        select_kernels()

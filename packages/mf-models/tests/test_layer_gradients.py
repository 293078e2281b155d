"""Every kind of dense layer against its formula in float64: results, and gradients by finite differences.

Experts have a file of their own (`test_moe.py`), and so has latent attention (`test_deepseek.py`). All layers are
compiled as one graph. Legend: B rows, T tokens, D width, N query heads, K key/value heads, H head width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mf_models.layers.alibi import AlibiMask
from mf_models.layers.attention import SelfAttention
from mf_models.layers.config import DecoderConfig
from mf_models.layers.decoder import causal_mask
from mf_models.layers.embedding import Embedding
from mf_models.layers.frequencies import Rotary
from mf_models.layers.linear import Linear
from mf_models.layers.mlp import FEED_FORWARDS
from mf_models.layers.norm import NORMS
from mf_models.layers.prefix import KeyValuePrefix, LearntRows
from mf_models.layers.rope import rotary_angles

ROWS, TOKENS, WIDTH, INNER, HEAD = 2, 6, 5, 7, 4
EPSILON, THETA, SCALE = 1e-2, 20.0, 0.7
CLOSE = 5e-5
"""Of the largest result: MindSpore's hyperbolic tangent, by which scores are capped, is off by 1.5e-5 on CPU."""

SLOPES_CLOSE = 5e-4
"""Of the length of the gradient."""

IDS = np.array([[3, 0, 3, 8, 1, 1], [2, 7, 0, 3, 4, 2]])
STARTS = np.array([[0, 0, 0, 3, 3, 3], [0, 1, 1, 1, 1, 5]])

Weights = dict[str, np.ndarray]
Formula = Callable[[Weights, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Heads:
    """An attention: its heads, and what it has besides."""

    queries: int = 4
    keys: int = 2
    turned: int = HEAD
    window: int | None = None
    documents: bool = False
    cap: float | None = None
    alibi: bool = False
    grows_from: int = 0
    prefix: int = 0
    bias: bool = False
    normed: bool = False


class Attending(nn.Cell):
    """An attention with the positions and the mask that a decoder gives it."""

    def __init__(self, heads: Heads):
        super().__init__()
        rotary = None if heads.alibi else Rotary(dim=heads.turned, theta=THETA)
        config = DecoderConfig(
            vocab_size=1,
            hidden_size=WIDTH,
            num_layers=1,
            num_heads=heads.queries,
            num_kv_heads=heads.keys,
            head_dim=HEAD,
            intermediate_size=1,
            norm_epsilon=EPSILON,
            rotary=rotary,
            tie_word_embeddings=False,
            initializer_range=1.0,
            qkv_bias=heads.bias,
            output_bias=heads.bias,
            query_key_norm=heads.normed,
            attention_scale=SCALE,
            attention_cap=heads.cap,
            alibi=heads.alibi,
            log_scaled_from=heads.grows_from,
        )
        self.attention = SelfAttention(config, 0)
        if heads.prefix:
            zeros = np.zeros((heads.keys, heads.prefix, HEAD), np.float32)
            rows = (Parameter(Tensor(zeros), name=name) for name in ("keys", "values"))
            self.attention.prefix = KeyValuePrefix(LearntRows(*rows))
        self.angles = None if rotary is None else rotary_angles(rotary)
        self.alibi = AlibiMask(heads.queries) if heads.alibi else None
        self.window = heads.window
        self.starts_BT = Tensor(STARTS.astype(np.int32)) if heads.documents else None

    def construct(self, x_BTD: Tensor) -> Tensor:
        places_BT = ops.arange(TOKENS).astype(ms.int32).reshape((1, -1))
        positions_BT = places_BT if self.starts_BT is None else places_BT - self.starts_BT
        mask = causal_mask(places_BT, TOKENS, self.window, self.starts_BT)
        span = (self.window or TOKENS) if self.starts_BT is None and self.alibi is None else None
        mask = mask if self.alibi is None else self.alibi(mask, places_BT)
        cos_B1TC, sin_B1TC = (None, None) if self.angles is None else self.angles(positions_BT)
        return self.attention(x_BTD, cos_B1TC, sin_B1TC, (mask, span))


def attended(heads: Heads, w: Weights, x: np.ndarray) -> np.ndarray:
    """One row, one query and one head after another."""
    w = {name.removeprefix("attention."): weight for name, weight in w.items()}
    return np.stack([row_attended(heads, w, row, starts) for row, starts in zip(x, STARTS, strict=True)])


def row_attended(heads: Heads, w: Weights, x: np.ndarray, starts: np.ndarray) -> np.ndarray:
    starts = starts if heads.documents else np.zeros(TOKENS, int)
    q, k, v = (
        (x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0.0)).reshape(TOKENS, -1, HEAD)
        for name in ("wq", "wk", "wv")
    )
    if heads.normed:
        q, k = rms_norm(q, w["q_norm.weight"]), rms_norm(k, w["k_norm.weight"])
    if not heads.alibi:
        q, k = (turned(part, np.arange(TOKENS) - starts, heads.turned) for part in (q, k))
    mixed = np.zeros_like(q)
    for token in range(TOKENS):
        first = max(starts[token], 0 if heads.window is None else token - heads.window + 1)
        seen = np.arange(first, token + 1)
        for head in range(heads.queries):
            group = head * heads.keys // heads.queries
            keys, values = k[seen, group], v[seen, group]
            if heads.prefix:
                keys = np.concatenate((w["prefix.rows.keys"][group], keys))
                values = np.concatenate((w["prefix.rows.values"][group], values))
            scores = SCALE * keys @ q[token, head]
            if heads.grows_from:
                scores = scores * max(1.0, np.log(len(seen)) / np.log(heads.grows_from))
            if heads.cap is not None:
                scores = heads.cap * np.tanh(scores / heads.cap)
            if heads.alibi:
                scores = scores - (token - seen) * 2.0 ** (-8.0 * (head + 1) / heads.queries)
            shares = np.exp(scores)
            mixed[token, head] = shares / shares.sum() @ values
    return mixed.reshape(TOKENS, -1) @ w["wo.weight"].T + w.get("wo.bias", 0.0)


def turned(x: np.ndarray, positions: np.ndarray, dim: int) -> np.ndarray:
    half = dim // 2
    by = np.exp(1j * positions[:, None, None] * THETA ** (-np.arange(half) / half))
    pairs = (x[..., :half] + 1j * x[..., half:dim]) * by
    return np.concatenate((pairs.real, pairs.imag, x[..., dim:]), -1)


def rms_norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight)


def layer_norm(w: Weights, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * w["weight"] + w["bias"])


def gelu(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "swiglu": lambda x: x / (1 + np.exp(-x)),
    "geglu": gelu,
    "gelu": gelu,
    "fast_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "relu": lambda x: np.maximum(x, 0),
}


def fed(kind: str, w: Weights, x: np.ndarray) -> np.ndarray:
    inner = ACTIVATIONS[kind](x @ w["w1.weight"].T + w.get("w1.bias", 0.0))
    if "w3.weight" in w:
        inner = inner * (x @ w["w3.weight"].T)
    return np.asarray(inner @ w["w2.weight"].T + w.get("w2.bias", 0.0))


class Embedded(nn.Cell):
    """The rows of some ids, beside what a layer takes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = Embedding(9, WIDTH)
        self.ids_BT = Tensor(IDS.astype(np.int32))

    def construct(self, x_BTD: Tensor) -> Tensor:
        return self.embedding(self.ids_BT) * x_BTD


ATTENTIONS = {
    "grouped heads with biases, turned in part": Heads(turned=2, bias=True),
    "one key head": Heads(keys=1),
    "a window": Heads(keys=4, window=3),
    "documents": Heads(documents=True),
    "documents and a window": Heads(documents=True, window=2),
    "normed heads": Heads(normed=True),
    "capped scores": Heads(cap=1.5, window=4),
    "a penalty of distance": Heads(alibi=True),
    "growing queries": Heads(grows_from=2),
    "a learnt prefix": Heads(prefix=3),
}

LAYERS: dict[str, tuple[Callable[[], nn.Cell], Formula]] = {
    "embedding": (Embedded, lambda w, x: w["embedding.embedding_weight"][IDS] * x),
    "linear": (partial(Linear, WIDTH, 3, bias=True), lambda w, x: x @ w["weight"].T + w["bias"]),
    "rms norm": (partial(NORMS["rms"], WIDTH, EPSILON), lambda w, x: rms_norm(x, w["weight"])),
    "shifted rms norm": (partial(NORMS["shifted_rms"], WIDTH, EPSILON), lambda w, x: rms_norm(x, 1 + w["shift"])),
    "layer norm": (partial(NORMS["layer"], WIDTH, EPSILON), layer_norm),
    **{kind: (partial(make, WIDTH, INNER), partial(fed, kind)) for kind, make in FEED_FORWARDS.items()},
    **{name: (partial(Attending, heads), partial(attended, heads)) for name, heads in ATTENTIONS.items()},
}


class Weighed(nn.Cell):
    """Results of all layers, each with rows of its own, and gradients of their weighed sum."""

    def __init__(self, layers: list[nn.Cell], directions: list[np.ndarray]):
        super().__init__(auto_prefix=False)
        self.layers = nn.CellList(layers)
        self.directions = [Tensor(direction.astype(np.float32)) for direction in directions]
        held = [parameter for layer in layers for parameter in layer.get_parameters()]
        self.differentiate = ms.value_and_grad(self.total, 0, ParameterTuple(held), has_aux=True)

    def total(self, x_LBTD: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        total = 0.0
        results: tuple[Tensor, ...] = ()
        for number, layer in enumerate(self.layers):
            y = layer(x_LBTD[number])
            total = total + (y * self.directions[number]).sum()
            results = (*results, y)
        return total, results

    def construct(self, x_LBTD: Tensor) -> Any:
        return self.differentiate(x_LBTD)


@dataclass(frozen=True)
class Computed:
    """What one layer gave, and from what."""

    weights: Weights
    x: np.ndarray
    direction: np.ndarray
    result: np.ndarray
    of_x: np.ndarray
    of_weights: Weights


@pytest.fixture(scope="module")
def computed() -> dict[str, Computed]:
    random = np.random.default_rng(3)
    x = random.standard_normal((len(LAYERS), ROWS, TOKENS, WIDTH))
    layers, weights, directions = [], [], []
    for number, (make, formula) in enumerate(LAYERS.values()):
        layer = make()
        held = {name: 0.7 * random.standard_normal(own.shape) for name, own in layer.parameters_and_names()}
        directions.append(random.standard_normal(formula(held, x[number]).shape))
        for name, parameter in layer.parameters_and_names():
            parameter.set_data(Tensor(held[name].astype(np.float32)))
        layers.append(layer)
        weights.append(held)
    (_, results), (of_x, of_weights) = Weighed(layers, directions)(Tensor(x.astype(np.float32)))
    gradients = iter(of_weights)
    return {
        name: Computed(
            weights[number],
            x[number],
            directions[number],
            results[number].asnumpy(),
            of_x[number].asnumpy(),
            {own: next(gradients).asnumpy() for own in weights[number]},
        )
        for number, name in enumerate(LAYERS)
    }


@pytest.mark.parametrize("name", LAYERS)
def test_results_and_gradients(name: str, computed: dict[str, Computed]) -> None:
    formula, found = LAYERS[name][1], computed[name]
    expected = formula(found.weights, found.x)
    np.testing.assert_allclose(found.result, expected, 0, CLOSE * np.abs(expected).max())
    random = np.random.default_rng(4)
    for own, gradient in {**found.of_weights, "x": found.of_x}.items():
        step = random.standard_normal(gradient.shape)

        def along(size: float, own: str = own, step: np.ndarray = step) -> float:
            moved = {**found.weights, "x": found.x}
            moved[own] = moved[own] + size * step
            return float((formula(moved, moved["x"]) * found.direction).sum())

        slope = (along(1e-5) - along(-1e-5)) / 2e-5
        size = float(np.linalg.norm(gradient))
        assert (gradient * step).sum() == pytest.approx(slope, rel=0, abs=SLOPES_CLOSE * size), own

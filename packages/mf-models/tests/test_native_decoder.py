"""The fused decoder in C++ against a few lines of NumPy in float64, at odd sizes.

Legend: B sequences, T tokens, D model dim, F inner dim, N query heads, K key/value heads, H head dim, V vocabulary.
"""

import numpy as np
import pytest
from mindspore import Tensor

from mf_models.kernels.decoder_weights import BlockWeights, CacheSteps, DecoderWeights, Matrix
from mf_models.kernels.native.decoder import NativeDecoder
from mf_models.kernels.native.library import native_library
from mf_models.layers.int8_linear import round_to_nearest

V, LAYERS, BLOCKS, BLOCK_TOKENS = 19, 2, 12, 4
TABLES = np.array([[3, 1, 5, 8], [2, 4, 6, 7], [9, 10, 11, 0]], np.int32)
LENGTHS = (15, 9, 12)
PLAIN = {"width": 21, "inner": 37, "heads": 3, "kv_heads": 1, "head_dim": 6, "rotated": 3}
KINDS = {
    "plain": {**PLAIN},
    "wide heads, a part of them turned": {**PLAIN, "head_dim": 70, "rotated": 9, "heads": 2},
    "integers": {**PLAIN, "width": 45, "inner": 70, "has_integers": True},
    "biases and norms of heads": {**PLAIN, "heads": 4, "kv_heads": 2, "has_bias": True, "has_head_norms": True},
    "caps and norms behind": {**PLAIN, "has_post_norms": True, "caps": (3.0, 5.0)},
    "a window and another gate": {**PLAIN, "window": 5, "gate": "geglu"},
    "one block of integers to a row": {**PLAIN, "width": 32, "inner": 32, "head_dim": 16, "has_integers": True},
    "integers with offsets": {**PLAIN, "width": 45, "inner": 70, "has_integers": True, "has_offsets": True},
}


class Network:
    """Random weights, as tensors for the decoder and in float64 for the reference."""

    def __init__(self, kind, seed):
        absent = ("has_integers", "has_offsets", "has_bias", "has_head_norms", "has_post_norms")
        self.kind = dict.fromkeys(absent, False) | {"caps": (None, None), "window": None, "gate": "swiglu", **kind}
        self._chance = np.random.default_rng(seed)
        width, self.head_dim = kind["width"], kind["head_dim"]
        cache = (BLOCKS * kind["kv_heads"], BLOCK_TOKENS, self.head_dim)
        self.weights = DecoderWeights(
            embedding_VD=self.tensor(V, width),
            embedding_scale=1.5,
            blocks=tuple(self.block(cache) for _ in range(LAYERS)),
            last_norm=self.tensor(width),
            head=self.matrix(V, width, False),
            frequencies_C=Tensor(np.float32(10.0) ** -np.arange(kind["rotated"], dtype=np.float32)),
            amplitude=1.25,
            head_dim=self.head_dim,
            gated_by=self.kind["gate"],
            epsilon=1e-5,
            score_scale=0.3,
            score_cap=self.kind["caps"][0],
            logit_cap=self.kind["caps"][1],
            cache=CacheSteps(
                block_tokens=BLOCK_TOKENS,
                block=kind["kv_heads"] * BLOCK_TOKENS * self.head_dim,
                head=BLOCK_TOKENS * self.head_dim,
                token=self.head_dim,
            ),
        )

    def tensor(self, *shape):
        return Tensor(self._chance.standard_normal(shape).astype(np.float32) * np.float32(0.4))

    def matrix(self, rows, columns, has_bias):
        bias = self.tensor(rows) if has_bias else None
        if not self.kind["has_integers"]:
            return Matrix(weight_FD=self.tensor(rows, columns), columns=columns, bias_F=bias)
        blocks = round_to_nearest(self.tensor(rows, columns).asnumpy())
        integers, scale = Tensor(blocks.integers_FGI), Tensor(blocks.scale_FG)
        offset = None
        if self.kind["has_offsets"]:
            offset = Tensor((self._chance.standard_normal(blocks.scale_FG.shape) * 0.2).astype(np.float16))
        return Matrix(weight_FD=integers, columns=columns, scale=scale, offset=offset, bias_F=bias)

    def block(self, cache):
        kind, width, bias = self.kind, self.kind["width"], self.kind["has_bias"]
        queries, keys = kind["heads"] * self.head_dim, kind["kv_heads"] * self.head_dim
        return BlockWeights(
            query=self.matrix(queries, width, bias),
            key=self.matrix(keys, width, bias),
            value=self.matrix(keys, width, bias),
            output=self.matrix(width, queries, bias),
            gate=self.matrix(kind["inner"], width, False),
            up=self.matrix(kind["inner"], width, False),
            down=self.matrix(width, kind["inner"], bias),
            attention_norm=self.tensor(width),
            ffn_norm=self.tensor(width),
            query_norm=self.tensor(self.head_dim) if kind["has_head_norms"] else None,
            key_norm=self.tensor(self.head_dim) if kind["has_head_norms"] else None,
            attention_post_norm=self.tensor(width) if kind["has_post_norms"] else None,
            ffn_post_norm=self.tensor(width) if kind["has_post_norms"] else None,
            keys=Tensor(np.zeros(cache, np.float32)),
            values=Tensor(np.zeros(cache, np.float32)),
            window=kind["window"],
        )


def wide(tensor):
    return tensor.asnumpy().astype(np.float64)


def product(x, matrix):
    weight = wide(matrix.weight_FD)
    if matrix.scale is not None:
        offset = 0 if matrix.offset is None else wide(matrix.offset)[..., None]
        weight = (weight * wide(matrix.scale)[..., None] + offset).reshape(len(weight), -1)[:, : matrix.columns]
    return x @ weight.T + (0 if matrix.bias_F is None else wide(matrix.bias_F))


def normed(x, weight, epsilon):
    return x if weight is None else x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * wide(weight)


def capped(x, cap):
    return x if cap is None else cap * np.tanh(x / cap)


def turned(x_TNH, weights):
    """Pairs (i, i + C) of each head by their angles. Source: Su et al. 2021, RoFormer, equation 34."""
    angles_TC = np.arange(len(x_TNH))[:, None] * wide(weights.frequencies_C)
    cos, sin = (weights.amplitude * f(angles_TC)[:, None] for f in (np.cos, np.sin))
    count = angles_TC.shape[1]
    first, second = x_TNH[..., :count], x_TNH[..., count : 2 * count]
    return np.concatenate((first * cos - second * sin, second * cos + first * sin, x_TNH[..., 2 * count :]), -1)


def attended(x_TD, block, weights):
    shape = (len(x_TD), -1, weights.head_dim)
    q_TNH, k_TKH, v_TKH = (product(x_TD, matrix).reshape(shape) for matrix in (block.query, block.key, block.value))
    q_TNH = turned(normed(q_TNH, block.query_norm, weights.epsilon), weights)
    k_TKH = turned(normed(k_TKH, block.key_norm, weights.epsilon), weights)
    group = q_TNH.shape[1] // k_TKH.shape[1]
    scores_NTS = np.einsum("tnh,snh->nts", q_TNH, k_TKH.repeat(group, 1)) * weights.score_scale
    scores_NTS = capped(scores_NTS, weights.score_cap)
    distance_TS = np.arange(len(x_TD))[:, None] - np.arange(len(x_TD))
    scores_NTS[:, (distance_TS < 0) | (distance_TS >= (block.window or len(x_TD)))] = -np.inf
    shares_NTS = np.exp(scores_NTS - scores_NTS.max(-1, keepdims=True))
    shares_NTS /= shares_NTS.sum(-1, keepdims=True)
    return product(np.einsum("nts,snh->tnh", shares_NTS, v_TKH.repeat(group, 1)).reshape(len(x_TD), -1), block.output)


def fed(x_TD, block, gated_by):
    gate = product(x_TD, block.gate)
    cubic = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)
    gated = gate / (1 + np.exp(-gate)) if gated_by == "swiglu" else gate * (1 + np.tanh(cubic)) / 2
    return product(gated * product(x_TD, block.up), block.down)


def reference(ids_T, weights):
    """Logits [T, V]."""
    x_TD = wide(weights.embedding_VD)[ids_T] * weights.embedding_scale
    epsilon = weights.epsilon
    for block in weights.blocks:
        mixed = attended(normed(x_TD, block.attention_norm, epsilon), block, weights)
        x_TD = x_TD + normed(mixed, block.attention_post_norm, epsilon)
        gated = fed(normed(x_TD, block.ffn_norm, epsilon), block, weights.gated_by)
        x_TD = x_TD + normed(gated, block.ffn_post_norm, epsilon)
    return capped(product(normed(x_TD, weights.last_norm, epsilon), weights.head), weights.logit_cap)


def decoded(decoder, ids, steps):
    """Logits [T, V] of each sequence; a step is how many tokens of each sequence are computed in it together."""
    found = [[] for _ in ids]
    done = [0] * len(ids)
    for counts in steps:
        parts = [np.arange(first, first + count) for first, count in zip(done, counts, strict=True)]
        step_ids = np.concatenate([row[part] for row, part in zip(ids, parts, strict=True)])
        rows = np.repeat(np.arange(len(ids)), counts)
        logits = decoder(step_ids, np.concatenate(parts), rows, TABLES, np.arange(len(step_ids)))
        for row in range(len(ids)):
            found[row] += list(logits[rows == row])
        done = [first + count for first, count in zip(done, counts, strict=True)]
    assert tuple(done) == LENGTHS
    return [np.stack(rows) for rows in found]


TOGETHER = [(7, 3, 0), (1, 1, 11), (6, 4, 0), (1, 1, 1)]
"""Pieces of prompts beside single tokens, 10, 13, 10 and 3 tokens in all: tiles of a product of every size."""

ONE_BY_ONE = [tuple(int(row == other) for other in range(3)) for row in range(3) for _ in range(LENGTHS[row])]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_step_gives_the_logits_of_the_formulas(kind):
    library = native_library()
    assert library is not None, "this test needs a C++ compiler"
    network = Network(kind, seed=7)
    ids = [np.random.default_rng(row).integers(0, V, length) for row, length in enumerate(LENGTHS)]
    found = decoded(NativeDecoder(library, network.weights), ids, TOGETHER)
    for row, logits_TV in zip(ids, found, strict=True):
        expected = reference(row, network.weights)
        np.testing.assert_allclose(logits_TV, expected, atol=1e-5 * np.abs(expected).max())
    alone = decoded(NativeDecoder(library, network.weights), ids, ONE_BY_ONE)
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one, other)

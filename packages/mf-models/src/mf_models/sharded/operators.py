"""Cells that do what a layer's operation does, by operators whose strategies are given.

A strategy says for each dimension of each input how many ranks share it. All cells see whole tensors: what is divided,
and what is sent, is the compiler's work. Tensors are flattened to [rows, features], so that reshapes between two
operations cancel out.

Legend: B batch, T tokens, N query heads, K key/value heads, H head dim, C = H / 2, D input dim, F output dim, V
vocabulary, M = B * T, ... any leading dims.
"""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.ops.auto_generate import FlashAttentionScore, RotaryPositionEmbedding, SiLU

_ALL_TOKENS = 2**31 - 1
"""The attention operator's word for no limit."""

_TRIANGLE = 2048
"""Side of the mask from which that operator reads every causal mask."""

_CAUSAL, _BAND = 2, 4
"""Its modes."""

_PAIRS_APART = 0
"""The rotation operator's mode for pairs (x[i], x[i + C])."""


def _flat(x: Tensor) -> Tensor:
    """[..., F] to [rows, F]."""
    return x.reshape((-1, x.shape[-1]))


class ShardedLinear(nn.Cell):
    """As `mf_models.kernels.linear.linear`."""

    def __init__(self, rows: int, outputs: int, inputs: int, rows_after: int):
        """Takes how many ranks share each dimension.

        Args:
            rows: the rows of `x`.
            outputs: the output features.
            inputs: the input features; the partial sums of these ranks are added up.
            rows_after: the rows of the result.
        """
        super().__init__(auto_prefix=False)
        self.matmul = ops.MatMul(transpose_b=True)
        strategy = ((rows, inputs), (outputs, inputs))
        if rows_after == rows:
            self.matmul.shard(strategy)
        else:
            self.matmul.shard(strategy, out_strategy=((rows_after, outputs),))

    def construct(self, x: Tensor, weight_FD: Tensor) -> Tensor:
        """[..., D] to [..., F]."""
        return self.matmul(_flat(x), weight_FD).reshape((*x.shape[:-1], weight_FD.shape[0]))


class ShardedSum(nn.Cell):
    """The sum of two activations."""

    def __init__(self, rows: int, features: int):
        """Takes how many ranks share rows and features."""
        super().__init__(auto_prefix=False)
        self.add = ops.Add().shard(((rows, features), (rows, features)))

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        """Two tensors [..., F] to [..., F]."""
        return self.add(_flat(x), _flat(y)).reshape(x.shape)


class ShardedBias(nn.Cell):
    """The sum of activations and a bias."""

    def __init__(self, rows: int, features: int):
        """Takes how many ranks share rows and features."""
        super().__init__(auto_prefix=False)
        self.add = ops.Add().shard(((rows, features), (features,)))

    def construct(self, x: Tensor, bias_F: Tensor) -> Tensor:
        """[..., F] to [..., F]."""
        return self.add(_flat(x), bias_F).reshape(x.shape)


class ShardedRmsNorm(nn.Cell):
    """As `mf_models.kernels.rms_norm.rms_norm` with the epsilon of the layer."""

    def __init__(self, rows: int, epsilon: float):
        """Takes how many ranks share the rows, and the epsilon."""
        super().__init__(auto_prefix=False)
        self.norm = ops.RmsNorm(epsilon).shard(((rows, 1), (1,)))

    def construct(self, x: Tensor, weight_D: Tensor, _epsilon: float) -> Tensor:
        """[..., D] to [..., D]."""
        return self.norm(_flat(x), weight_D)[0].reshape(x.shape)


class ShardedHeadNorm(nn.Cell):
    """As `ShardedRmsNorm`, of each head."""

    def __init__(self, rows: int, heads: int, epsilon: float):
        """Takes how many ranks share rows and heads, and the epsilon."""
        super().__init__(auto_prefix=False)
        self.norm = ops.RmsNorm(epsilon).shard(((rows, 1, heads, 1), (1,)))

    def construct(self, x_BTNH: Tensor, weight_H: Tensor, _epsilon: float) -> Tensor:
        """[B, T, N, H] to [B, T, N, H]."""
        return self.norm(x_BTNH, weight_H)[0]


class ShardedLayerNorm(nn.Cell):
    """As `mf_models.kernels.layer_norm.layer_norm` with the epsilon of the layer."""

    def __init__(self, rows: int, epsilon: float):
        """Takes how many ranks share the rows, and the epsilon."""
        super().__init__(auto_prefix=False)
        self.norm = ops.LayerNorm(-1, -1, epsilon).shard(((rows, 1), (1,), (1,)))

    def construct(self, x: Tensor, weight_D: Tensor, bias_D: Tensor, _epsilon: float) -> Tensor:
        """[..., D] to [..., D]."""
        return self.norm(_flat(x), weight_D, bias_D)[0].reshape(x.shape)


class ShardedSwiglu(nn.Cell):
    """As `mf_models.kernels.swiglu.swiglu`; the fused operator wants both halves joined, which ranks don't share."""

    def __init__(self, rows: int, features: int):
        """Takes how many ranks share rows and features."""
        super().__init__(auto_prefix=False)
        self.silu = SiLU().shard(((rows, features),))
        self.mul = ops.Mul().shard(((rows, features), (rows, features)))

    def construct(self, gate: Tensor, up: Tensor) -> Tensor:
        """Two tensors [..., F] to [..., F]."""
        return self.mul(self.silu(_flat(gate)), _flat(up)).reshape(gate.shape)


class ShardedRotaryAttention(nn.Cell):
    """As `rotary_attention` in `mf_models.kernels.native.operators`, by the fused operators of Ascend."""

    def __init__(self, rows: int, heads: int, query_heads: int, scale: float):
        """Takes how many ranks share rows and heads, and the heads and the scale of the layer."""
        super().__init__(auto_prefix=False)
        divided, whole = (rows, 1, heads, 1), (1, 1, 1, 1)
        self.rotate = RotaryPositionEmbedding().shard((divided, whole, whole))
        self.concat = ops.Concat(-1).shard((whole, whole))
        self.strategy = (divided, divided, divided, (1, 1))
        self.query_heads = query_heads
        self.scale = scale
        self.causal = self.operator(_ALL_TOKENS, _CAUSAL)
        self.cast = ops.Cast()
        self.hidden = Tensor(np.triu(np.ones((_TRIANGLE, _TRIANGLE), np.uint8), 1))

    def operator(self, before: int, mode: int) -> FlashAttentionScore:
        """The operator for queries that see some tokens before them."""
        attend = FlashAttentionScore(self.query_heads, 1.0, self.scale, before, 0, 0, "BSND", mode)
        return attend.shard(self.strategy)

    def construct(
        self,
        q_BTNH: Tensor,
        k_BTKH: Tensor,
        v_BTKH: Tensor,
        cos_B1TC: Tensor,
        sin_B1TC: Tensor,
        _scale: float,
        span: int,
    ) -> Tensor:
        """[B, T, N, H]; float32 is computed as bfloat16, see `mf_models.kernels.ascend.attention`."""
        tokens = q_BTNH.shape[1]
        cos_1T1H = self.angles(cos_B1TC)
        sin_1T1H = self.angles(sin_B1TC)
        narrow = ms.bfloat16 if q_BTNH.dtype == ms.float32 else q_BTNH.dtype
        q = self.cast(self.rotate(q_BTNH.astype(cos_1T1H.dtype), cos_1T1H, sin_1T1H, _PAIRS_APART), narrow)
        k = self.cast(self.rotate(k_BTKH.astype(cos_1T1H.dtype), cos_1T1H, sin_1T1H, _PAIRS_APART), narrow)
        attend = self.causal if span >= tokens else self.operator(span - 1, _BAND)
        out_BTNH = attend(q, k, self.cast(v_BTKH, narrow), None, None, None, self.hidden, None)[3]
        return self.cast(out_BTNH, q_BTNH.dtype)

    def angles(self, x_B1TC: Tensor) -> Tensor:
        """An angle for each element of a head, [1, T, 1, H]; the compiler makes these once for all layers."""
        x_1T1C = x_B1TC.reshape((1, x_B1TC.shape[2], 1, x_B1TC.shape[3]))
        return self.concat((x_1T1C, x_1T1C))


class ShardedCrossEntropy(nn.Cell):
    """As `mf_models.kernels.cross_entropy.cross_entropy`; the ranks may share the vocabulary.

    Source: Shoeybi et al. 2019, Megatron-LM, section 3 (cross entropy of divided logits).
    """

    def __init__(self, rows: int, vocabulary: int):
        """Takes how many ranks share rows and vocabulary."""
        super().__init__(auto_prefix=False)
        divided, summed = (rows, vocabulary), (rows, 1)
        self.max = ops.ReduceMax(keep_dims=True).shard((divided,))
        self.sub = ops.Sub().shard((divided, summed))
        self.exp = ops.Exp().shard((divided,))
        self.sum = ops.ReduceSum(keep_dims=True).shard((divided,))
        self.log = ops.Log().shard((summed,))
        self.onehot = ops.OneHot().shard((divided, (), ()))
        self.mul = ops.Mul().shard((divided, divided))
        self.pick = ops.ReduceSum(keep_dims=True).shard((divided,))
        self.difference = ops.Sub().shard((summed, summed))
        self.one, self.zero = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)

    def construct(self, logits_MV: Tensor, labels_M: Tensor) -> Tensor:
        """[M], in nats."""
        shifted_MV = self.sub(logits_MV, ops.stop_gradient(self.max(logits_MV, 1)))
        log_sum_M1 = self.log(self.sum(self.exp(shifted_MV), 1))
        is_label_MV = self.onehot(labels_M, logits_MV.shape[-1], self.one, self.zero)
        picked_M1 = self.pick(self.mul(shifted_MV, is_label_MV), 1)
        return self.difference(log_sum_M1, picked_M1).reshape((-1,))

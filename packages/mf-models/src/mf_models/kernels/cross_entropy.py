"""Cross entropy of a token's logits. Legend: N tokens, V vocabulary."""

from mindspore import Tensor, nn, ops

_log_softmax = ops.LogSoftmax(-1)
_pick = ops.GatherD()
_zeros_like = ops.ZerosLike()
# In this mode the operator returns (softmax - one-hot) / N at once.
_mean_gradient = ops.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)


class _CrossEntropy(nn.Cell):
    """-log softmax at the label, with its own backward: one fused operator and a row scaling."""

    def construct(self, logits_NV: Tensor, labels_N: Tensor) -> Tensor:
        """Shapes as in `cross_entropy`."""
        return -_pick(_log_softmax(logits_NV), 1, labels_N.reshape((-1, 1))).reshape((-1,))

    def bprop(self, logits_NV: Tensor, labels_N: Tensor, out_N: Tensor, dout_N: Tensor) -> tuple:
        """Gradient of the logits, [N, V]; the labels take none."""
        scale_N1 = (dout_N * logits_NV.shape[0]).reshape((-1, 1))
        return _mean_gradient(logits_NV, labels_N) * scale_N1, _zeros_like(labels_N)


_cross_entropy = _CrossEntropy()


def cross_entropy(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    """Negative log-likelihood of each label, not averaged.

    Args:
        logits_NV: [N, V], float32.
        labels_N: [N], int32, each from 0 to V - 1: replace masked labels before, and weigh their losses with 0 after.
    Returns:
        [N], float32, in nats.
    """
    return _cross_entropy(logits_NV, labels_N)

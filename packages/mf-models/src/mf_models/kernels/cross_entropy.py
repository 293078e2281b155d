"""Cross entropy of a token's logits. Legend: N tokens, V vocabulary."""

from mindspore import Tensor, ops

_log_softmax = ops.LogSoftmax(-1)
_pick = ops.GatherD()


def cross_entropy(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    """Negative log-likelihood of each label, not averaged.

    Four hand-written backwards were slower on CPU than the automatic one of these two operators.

    Args:
        logits_NV: [N, V], float32.
        labels_N: [N], int32, each from 0 to V - 1: replace masked labels before, and weigh their losses with 0 after.

    Returns:
        [N], float32, in nats.
    """
    return -_pick(_log_softmax(logits_NV), 1, labels_N.reshape((-1, 1))).reshape((-1,))


def label_logits(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    """The logit of each label; with the cross entropy it adds up to the logarithm of the sum of all exponentials.

    Args:
        logits_NV: [N, V], float32.
        labels_N: [N], int32, each from 0 to V - 1.

    Returns:
        [N], float32.
    """
    return _pick(logits_NV, 1, labels_N.reshape((-1, 1))).reshape((-1,))

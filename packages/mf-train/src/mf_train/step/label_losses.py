"""The loss of each label, which the tasks share. Legend: B rows, T tokens, V scores, N = B T."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


def label_losses(kernels: "Kernels") -> Callable[..., Any]:
    """Cross-entropy as a function that graph code may call.

    Returns:
        `losses(logits_BTV, labels_BT) -> losses_BT`, float32, in nats.
    """
    cross_entropy = kernels.cross_entropy

    def losses(logits_BTV: Any, labels_BT: Any) -> Any:
        logits_NV = logits_BTV.reshape((-1, logits_BTV.shape[-1]))
        return cross_entropy(logits_NV, labels_BT.reshape((-1,))).reshape(labels_BT.shape)

    return losses


def log_normalizers(kernels: "Kernels") -> Callable[..., Any]:
    """The logarithm of the sum of the exponentials of a position's logits, as a function that graph code may call.

    Returns:
        `normalizers(logits_BTV, labels_BT, losses_BT) -> normalizers_BT`, float32; the losses are the cross entropies,
        by which the sum over the vocabulary is not made a second time.
    """
    label_logits = kernels.label_logits

    def normalizers(logits_BTV: Any, labels_BT: Any, losses_BT: Any) -> Any:
        logits_NV = logits_BTV.reshape((-1, logits_BTV.shape[-1]))
        return losses_BT + label_logits(logits_NV, labels_BT.reshape((-1,))).reshape(labels_BT.shape)

    return normalizers

"""A batch as the compiled graphs of training and evaluation take it. Legend: B rows, T tokens."""

from mindspore import Tensor

from mf_train.task import Examples


def tensors_of(examples: Examples) -> tuple[Tensor | None, ...]:
    """The arrays of a batch as tensors.

    Args:
        examples: the rows, perhaps on the device already.
    Returns:
        Inputs, labels, weights and the starts of documents, [B, T] each; None where every row is one document.
    """
    arrays = (examples.input_ids_BT, examples.labels_BT, examples.weights_BT, examples.document_starts_BT)
    return tuple(array if array is None or isinstance(array, Tensor) else Tensor(array) for array in arrays)

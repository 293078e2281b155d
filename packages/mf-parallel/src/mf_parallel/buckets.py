"""Which tensors travel together: small ones share one message, since each message costs the same however short."""

from collections.abc import Sequence


def plan_buckets(sizes: Sequence[int], limit: int) -> list[list[int]]:
    """Put neighbouring tensors into buckets.

    Args:
        sizes: elements of each tensor.
        limit: most elements in a bucket; a tensor that alone exceeds it gets a bucket of its own.

    Returns:
        Positions of the tensors in each bucket; every position once, in order.
    """
    buckets: list[list[int]] = []
    filled = 0
    for position, size in enumerate(sizes):
        if not buckets or filled + size > limit:
            buckets.append([])
            filled = 0
        buckets[-1].append(position)
        filled += size
    return buckets

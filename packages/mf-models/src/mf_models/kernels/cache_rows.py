"""Rows of a key or value cache, written in place. Legend: R = batch * kv heads, M cached tokens, W rows, H head dim."""

from mindspore import Parameter, Tensor, ops

# The only native way that leaves the other rows where they are: the others copy the whole cache.
_scatter = ops.ScatterNdUpdate()


def write_rows(cache_RMH: Parameter, index_W2: Tensor, rows_WH: Tensor) -> Tensor:
    """Write rows into a cache.

    Args:
        cache_RMH: [R, M, H] parameter, changed in place.
        index_W2: [W, 2] int32, (r, m) of each row; r below R, m below M. No pair occurs twice.
        rows_WH: [W, H], dtype of the cache.

    Returns:
        The cache after the write, [R, M, H]: read this and not the parameter, so that reading comes after writing.
    """
    return _scatter(cache_RMH, index_W2, rows_WH)

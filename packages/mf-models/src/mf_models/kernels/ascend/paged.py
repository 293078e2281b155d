"""Paged keys and values by ReshapeAndCache and PagedAttention.

Legend as in `mf_models.kernels.paged`; F = heads * H.
"""

from mindspore import Parameter, Tensor, ops
from mindspore.ops.auto_generate import PagedAttention, ReshapeAndCache

_write = ReshapeAndCache()


def reshape_and_cache(
    key_WKH: Tensor, value_WKH: Tensor, key_blocks_LPKH: Parameter, value_blocks_LPKH: Parameter, slots_W: Tensor
) -> tuple[Tensor, Tensor]:
    """As `mf_models.kernels.paged.reshape_and_cache`; two tensors [L, P, K, H]."""
    tokens = key_WKH.shape[0]
    rows = key_WKH.reshape((tokens, -1)), value_WKH.reshape((tokens, -1))
    done = _write(*rows, key_blocks_LPKH, value_blocks_LPKH, slots_W)
    return ops.depend(key_blocks_LPKH, done), ops.depend(value_blocks_LPKH, done)


def paged_attention(
    query_BNH: Tensor,
    key_blocks_LPKH: Tensor,
    value_blocks_LPKH: Tensor,
    block_tables_BM: Tensor,
    context_lens_B: Tensor,
    scale: float,
) -> Tensor:
    """As `mf_models.kernels.paged.paged_attention`; [B, N, H]. The operator has blocks of float16 and bfloat16."""
    batch, heads, _ = query_BNH.shape
    attend = PagedAttention(heads, scale, key_blocks_LPKH.shape[2])
    query_B1F = query_BNH.reshape((batch, 1, -1)).astype(key_blocks_LPKH.dtype)
    out_B1F = attend(query_B1F, key_blocks_LPKH, value_blocks_LPKH, block_tables_BM, context_lens_B)
    return out_B1F.reshape(query_BNH.shape).astype(query_BNH.dtype)

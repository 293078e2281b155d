"""Keys and values in blocks that sequences share, and attention of one query a sequence over them.

Legend: B batch, W tokens that are written, N query heads, K key/value heads, H head dim, P tokens of a block, L blocks
of the pool, M blocks of a sequence at most, S = M * P.
"""

import mindspore as ms
from mindspore import Parameter, Tensor, ops

from mf_models.kernels.attention import attention

_HIDDEN_SCORE = -1e9

_scatter = ops.ScatterNdUpdate()
_gather = ops.Gather()


def reshape_and_cache(
    key_WKH: Tensor, value_WKH: Tensor, key_blocks_LPKH: Parameter, value_blocks_LPKH: Parameter, slots_W: Tensor
) -> tuple[Tensor, Tensor]:
    """Write the keys and values of some tokens into their places.

    Args:
        key_WKH: [W, K, H], dtype of the blocks.
        value_WKH: likewise.
        key_blocks_LPKH: [L, P, K, H] parameter, changed in place.
        value_blocks_LPKH: likewise.
        slots_W: [W] int32, place of each token: number of the block * P + place in the block. None occurs twice.

    Returns:
        Both pools after the write: read these and not the parameters, so that reading comes after writing.
    """
    block_size = key_blocks_LPKH.shape[1]
    index_W2 = ops.stack((slots_W // block_size, slots_W % block_size), 1)
    return _scatter(key_blocks_LPKH, index_W2, key_WKH), _scatter(value_blocks_LPKH, index_W2, value_WKH)


def paged_attention(
    query_BNH: Tensor,
    key_blocks_LPKH: Tensor,
    value_blocks_LPKH: Tensor,
    block_tables_BM: Tensor,
    context_lens_B: Tensor,
    scale: float,
) -> Tensor:
    """Attend from the last token of each sequence to all of the sequence.

    Args:
        query_BNH: [B, N, H]. Query head n reads key/value head n // (N / K).
        key_blocks_LPKH: [L, P, K, H].
        value_blocks_LPKH: [L, P, K, H].
        block_tables_BM: [B, M] int32, the blocks of each sequence in order; behind its last one any block.
        context_lens_B: [B] int32, tokens of each sequence, its last one among them; at least 1.
        scale: factor of the scores, usually 1 / sqrt(H).

    Returns:
        [B, N, H].
    Source: Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with PagedAttention, section
        4.1.
    """
    batch = query_BNH.shape[0]
    shape = (batch, -1, *key_blocks_LPKH.shape[2:])
    keys_BKSH = _gather(key_blocks_LPKH, block_tables_BM, 0).reshape(shape).transpose((0, 2, 1, 3))
    values_BKSH = _gather(value_blocks_LPKH, block_tables_BM, 0).reshape(shape).transpose((0, 2, 1, 3))
    places_S = ops.arange(keys_BKSH.shape[2]).astype(ms.int32)
    mask_BS = (places_S >= context_lens_B.reshape((-1, 1))).astype(ms.float32) * _HIDDEN_SCORE
    out_BN1H = attention(query_BNH.expand_dims(2), keys_BKSH, values_BKSH, mask_BS.expand_dims(1), scale)
    return out_BN1H.squeeze(2)

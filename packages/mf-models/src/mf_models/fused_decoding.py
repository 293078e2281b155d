"""Steps of a network by the device's fused decoder, made from the network's own layers.

Legend: M tokens of a step, R rows of the tables, N blocks of a row, W wanted tokens, V vocabulary, P tokens of a block,
H head dim.
"""

from collections.abc import Iterator

import numpy as np
from mindspore import Tensor, nn

from mf_models.cache import KvCache
from mf_models.kernels.decoder_weights import BlockWeights, CacheSteps, DecoderWeights, Matrix
from mf_models.kernels.select import FusedDecoder, select_kernels
from mf_models.layers.attention import SelfAttention
from mf_models.layers.block import DecoderBlock
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.decoder import Decoder
from mf_models.layers.embedding import Embedding
from mf_models.layers.int8_linear import Int8Linear
from mf_models.layers.linear import Linear
from mf_models.layers.mlp import GatedMlp
from mf_models.layers.norm import RmsNorm, ShiftedRmsNorm
from mf_models.layers.rope import RotaryAngles


def covers(model: CausalLanguageModel) -> bool:
    """Whether the device has a fused decoder, and it computes all of a network."""
    return select_kernels().fused_decoder is not None and not uncovered(model)


def fused_decoder(model: CausalLanguageModel, cache: KvCache) -> FusedDecoder:
    """The device's fused decoder on a model's weights and cache.

    Args:
        model: one that `covers` accepts, with all its weights; they may change afterwards, but not their places in
            memory.
        cache: of its sizes; steps of a graph may share it.

    Returns:
        A function `(ids_M, places_M, rows_M, tables_RN, wanted_W) -> logits_WV` over int32 arrays of NumPy, see
        `mf_models.kernels.native.decoder.NativeDecoder`.
    """
    make = select_kernels().fused_decoder
    assert make is not None and not uncovered(model)
    return make(_decoder(model, cache))


def uncovered(model: CausalLanguageModel) -> str:
    """What of a network no fused decoder computes; empty where it computes all."""
    return next((what for what, is_there in _kinds(model) if is_there), "")


def _kinds(model: CausalLanguageModel) -> Iterator[tuple[str, bool]]:
    """What is not covered, and whether the network has it. A later one may rely on the absence of those before it."""
    decoder = model.model
    yield "number types", model.compute_type is not None
    yield "classes", model.score is not None
    yield "a decoder of another kind", type(decoder) is not Decoder or type(decoder.tok_embeddings) is not Embedding
    yield "a normalized head", model.lm_head is not None and not _is_matrix(model.lm_head)
    yield "positions that are not rotary", decoder.position_embeddings is not None or decoder.alibi is not None
    yield "angles that depend on the length", type(decoder.angles) is not RotaryAngles
    yield "a part of its rows", decoder.row_part is not None
    yield "a norm of another kind", not _is_norm(decoder.norm_out)
    for block in _blocks(decoder):
        yield "a block of another kind", type(block) is not DecoderBlock
        yield "latent attention", type(block.attention) is not SelfAttention
        yield "a feed-forward of another kind", type(block.feed_forward) is not GatedMlp
        yield "a norm of another kind", not all(map(_is_norm, _norms(block)))
        yield "projections of another kind", not all(map(_is_matrix, _projections(block)))
        yield "queries that grow with the keys", block.attention.log_scale is not None
        yield "learnt keys", block.attention.prefix is not None


def _blocks(decoder: Decoder) -> list[DecoderBlock]:
    """Those that generation runs. A slice of a `CellList` would give the parameters other names."""
    return list(decoder.layers)[: decoder.depth]


def _norms(block: DecoderBlock) -> list[nn.Cell]:
    attention = block.attention
    norms = (block.attention_norm, block.attention_post_norm, block.ffn_norm, block.ffn_post_norm)
    return [norm for norm in (*norms, attention.q_norm, attention.k_norm) if norm is not None]


def _projections(block: DecoderBlock) -> tuple[nn.Cell, ...]:
    attention, feed = block.attention, block.feed_forward
    return attention.wq, attention.wk, attention.wv, attention.wo, feed.w1, feed.w3, feed.w2


def _is_norm(cell: nn.Cell) -> bool:
    return type(cell) in (RmsNorm, ShiftedRmsNorm)


def _is_matrix(cell: nn.Cell) -> bool:
    return type(cell) is Int8Linear or (type(cell) is Linear and cell.adapter is None)


def _decoder(model: CausalLanguageModel, cache: KvCache) -> DecoderWeights:
    decoder = model.model
    first, angles = decoder.layers[0], decoder.angles
    assert isinstance(angles, RotaryAngles)
    heads, (_, tokens, dim) = cache.kv_heads, cache.keys[0].shape
    table_VD = decoder.tok_embeddings.embedding_weight
    tied = Matrix(weight_FD=table_VD, columns=table_VD.shape[1])
    windows = [decoder.windows[number] for number in decoder.mask_of_layer]
    return DecoderWeights(
        embedding_VD=table_VD,
        embedding_scale=decoder.embedding_scale,
        blocks=tuple(_block(block, window, cache) for block, window in zip(_blocks(decoder), windows, strict=True)),
        last_norm=_norm(decoder.norm_out),
        head=tied if model.lm_head is None else _matrix(model.lm_head),
        frequencies_C=angles.inverse_frequencies_C,
        amplitude=angles.amplitude,
        head_dim=first.attention.head_dim,
        gated_by="swiglu" if first.feed_forward.gate is select_kernels().swiglu else "geglu",
        epsilon=first.attention_norm.epsilon,
        score_scale=first.attention.scale,
        score_cap=first.attention.cap,
        logit_cap=model.logit_cap,
        cache=CacheSteps(block_tokens=tokens, block=heads * tokens * dim, head=tokens * dim, token=dim),
    )


def _block(block: DecoderBlock, window: int | None, cache: KvCache) -> BlockWeights:
    attention, feed = block.attention, block.feed_forward
    return BlockWeights(
        query=_matrix(attention.wq),
        key=_matrix(attention.wk),
        value=_matrix(attention.wv),
        output=_matrix(attention.wo),
        gate=_matrix(feed.w1),
        up=_matrix(feed.w3),
        down=_matrix(feed.w2),
        attention_norm=_norm(block.attention_norm),
        ffn_norm=_norm(block.ffn_norm),
        query_norm=_norm(attention.q_norm),
        key_norm=_norm(attention.k_norm),
        attention_post_norm=_norm(block.attention_post_norm),
        ffn_post_norm=_norm(block.ffn_post_norm),
        keys=cache.keys[attention.layer],
        values=cache.values[attention.layer],
        window=window,
    )


def _norm(norm: nn.Cell | None) -> Tensor | None:
    """What a norm multiplies by, [D]."""
    if isinstance(norm, ShiftedRmsNorm):
        return Tensor(np.float32(1) + norm.shift.asnumpy())
    return None if norm is None else norm.weight


def _matrix(linear: nn.Cell) -> Matrix:
    if isinstance(linear, Int8Linear):
        parts = {"scale": linear.scale, "offset": linear.offset, "bias_F": linear.bias}
        return Matrix(weight_FD=linear.weight, columns=linear.in_features, **parts)
    return Matrix(weight_FD=linear.weight, bias_F=linear.bias, columns=linear.weight.shape[1])

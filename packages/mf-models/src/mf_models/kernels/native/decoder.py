"""The fused decoder of the compiled library, which is called without a graph.

Legend: M tokens of a step, R rows of the tables, N blocks of a row, W tokens whose logits are wanted, V vocabulary.
"""

import ctypes
from pathlib import Path
from typing import ClassVar

import numpy as np
from mindspore import Tensor
from numpy.typing import NDArray

from mf_models.kernels.decoder_weights import BlockWeights, DecoderWeights, Matrix

_NO_WINDOW = 2**62


class _Matrix(ctypes.Structure):
    """`Matrix` of source/products.h."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("floats", "integers", "scales", "offsets", "bias")),
        *((name, ctypes.c_int64) for name in ("rows", "columns")),
    ]


class _Block(ctypes.Structure):
    """`Block` of source/decode.cc."""

    _fields_: ClassVar = [
        *((name, _Matrix) for name in ("query", "key", "value", "output", "gate", "up", "down")),
        *((name, ctypes.c_void_p) for name in ("attention_norm", "query_norm", "key_norm", "attention_post_norm")),
        *((name, ctypes.c_void_p) for name in ("ffn_norm", "ffn_post_norm", "keys", "values")),
        ("window", ctypes.c_int64),
    ]


class _Decoder(ctypes.Structure):
    """`Decoder` of source/decode.cc."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("embedding", "blocks", "last_norm", "frequencies")),
        ("head", _Matrix),
        *((name, ctypes.c_int64) for name in ("layers", "width", "heads", "kv_heads", "head_width", "rotated")),
        *((name, ctypes.c_int64) for name in ("block_tokens", "block_step", "head_step", "token_step", "has_gelu")),
        *((name, ctypes.c_float) for name in ("epsilon", "score_scale", "score_cap", "logit_cap")),
        *((name, ctypes.c_float) for name in ("embedding_scale", "amplitude")),
    ]


class _Step(ctypes.Structure):
    """`Step` of source/decode.cc."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("ids", "places", "rows", "tables", "wanted", "logits")),
        *((name, ctypes.c_int64) for name in ("tokens", "columns", "wanted_tokens")),
    ]


class NativeDecoder:
    """Computes steps of a network where its weights and its cache lie, without a copy of them.

    It reads the memory that the tensors had when it was made, so their values may change, but not their places.
    """

    def __init__(self, library: Path, weights: DecoderWeights):
        """Takes the compiled library, and the network."""
        self._weights = weights  # What the structures point to must not go away.
        self._blocks = (_Block * len(weights.blocks))(*map(_block, weights.blocks))
        self._decoder = _decoder(weights, self._blocks)
        self._run = ctypes.CDLL(str(library)).mf_decode
        self._run.restype = None

    def __call__(
        self,
        ids_M: NDArray[np.int32],
        places_M: NDArray[np.int32],
        rows_M: NDArray[np.int32],
        tables_RN: NDArray[np.int32],
        wanted_W: NDArray[np.int32],
    ) -> NDArray[np.float32]:
        """Put tokens into the cache, and score what follows some of them.

        Args:
            ids_M: [M], each below V.
            places_M: [M], place of each token in its sequence. Tokens of one sequence stand in order.
            rows_M: [M], the row of the tables that has the token's blocks.
            tables_RN: [R, N], the blocks of each sequence in order; those up to a token's place are read.
            wanted_W: [W], which tokens, by their number in the step.

        Returns:
            Logits, [W, V].
        """
        logits_WV = np.empty((len(wanted_W), self._decoder.head.rows), np.float32)
        arrays = [np.ascontiguousarray(one, np.int32) for one in (ids_M, places_M, rows_M, tables_RN, wanted_W)]
        step = _Step(
            *(one.ctypes.data for one in arrays), logits_WV.ctypes.data, len(ids_M), tables_RN.shape[1], len(wanted_W)
        )
        self._run(ctypes.byref(self._decoder), ctypes.byref(step))
        return logits_WV


def _at(tensor: Tensor | None) -> int | None:
    """Where a tensor's elements lie."""
    address: int | None = None if tensor is None else tensor.data_ptr()
    return address


def _matrix(matrix: Matrix) -> _Matrix:
    weights = _at(matrix.weight_FD)
    floats, integers = (weights, None) if matrix.scale is None else (None, weights)
    further = map(_at, (matrix.scale, matrix.offset, matrix.bias_F))
    return _Matrix(floats, integers, *further, matrix.weight_FD.shape[0], matrix.columns)


def _block(block: BlockWeights) -> _Block:
    matrices = (block.query, block.key, block.value, block.output, block.gate, block.up, block.down)
    attention_tensors = (block.attention_norm, block.query_norm, block.key_norm, block.attention_post_norm)
    other_tensors = (block.ffn_norm, block.ffn_post_norm, block.keys, block.values)
    return _Block(
        *map(_matrix, matrices), *map(_at, attention_tensors), *map(_at, other_tensors), block.window or _NO_WINDOW
    )


def _decoder(weights: DecoderWeights, blocks: "ctypes.Array[_Block]") -> _Decoder:
    first, cache = weights.blocks[0], weights.cache
    return _Decoder(
        embedding=_at(weights.embedding_VD),
        blocks=ctypes.addressof(blocks),
        last_norm=_at(weights.last_norm),
        frequencies=_at(weights.frequencies_C),
        head=_matrix(weights.head),
        layers=len(blocks),
        width=first.query.columns,
        heads=first.query.weight_FD.shape[0] // weights.head_dim,
        kv_heads=first.key.weight_FD.shape[0] // weights.head_dim,
        head_width=weights.head_dim,
        rotated=weights.frequencies_C.shape[0],
        block_tokens=cache.block_tokens,
        block_step=cache.block,
        head_step=cache.head,
        token_step=cache.token,
        has_gelu=weights.gated_by == "geglu",
        epsilon=weights.epsilon,
        score_scale=weights.score_scale,
        score_cap=weights.score_cap or 0.0,
        logit_cap=weights.logit_cap or 0.0,
        embedding_scale=weights.embedding_scale,
        amplitude=weights.amplitude,
    )

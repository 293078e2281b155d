"""Cutting arrays into local pieces and joining them again, as a layout says."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mf_config.layout.mesh import Mesh
from mf_config.layout.tensor_layout import TensorLayout
from mf_config.problems import UserError

_Scalar = TypeVar("_Scalar", bound=np.generic)


def scatter(whole: NDArray[_Scalar], layout: TensorLayout, mesh: Mesh, rank: int) -> NDArray[_Scalar]:
    """The local piece of one rank.

    Args:
        whole: the whole tensor, of the layout's shape, any dtype.
        layout: how it is divided.
        mesh: the mesh of all ranks.
        rank: the rank.

    Returns:
        A new array of the rank's local shape and the same dtype, with zeros for padding.

    Raises:
        UserError: if the array does not have the layout's shape.
    """
    if whole.shape != layout.shape:
        raise UserError(f"scatter: an array of shape {list(whole.shape)}. Allowed: {list(layout.shape)}.")
    local = np.zeros(layout.local_shape(mesh, rank), whole.dtype)
    for box in layout.boxes(mesh, rank):
        local[box.local] = whole[box.whole]
    return local


def gather(pieces: Mapping[int, NDArray[_Scalar]], layout: TensorLayout, mesh: Mesh) -> NDArray[_Scalar]:
    """The whole tensor from local pieces; the inverse of `scatter`.

    Args:
        pieces: rank to its local piece, for at least the ranks of `layout.distinct_ranks(mesh)`; all of one dtype.
        layout: how the tensor is divided.
        mesh: the mesh of all ranks.

    Returns:
        A new array of the layout's shape, without padding.

    Raises:
        UserError: if a rank's piece is missing, or does not have its local shape.
    """
    needed = layout.distinct_ranks(mesh)
    missing = [rank for rank in needed if rank not in pieces]
    if missing:
        raise UserError(f"gather: no piece of ranks {missing}. Allowed: pieces of ranks {needed}.")
    whole = np.empty(layout.shape, pieces[needed[0]].dtype)
    for rank in needed:
        expected = layout.local_shape(mesh, rank)
        if pieces[rank].shape != expected:
            raise UserError(
                f"gather: rank {rank} has a piece of shape {list(pieces[rank].shape)}. Allowed: {list(expected)}."
            )
        for box in layout.boxes(mesh, rank):
            whole[box.whole] = pieces[rank][box.local]
    return whole

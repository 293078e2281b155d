"""LoRA weights as mf sees them, whatever file they come from: which base weight changes by which product."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.lora.config import LoraConfig
from mf_ckpt.sources.source import Slices, Source
from mf_config.problems import UserError

WEIGHT = ".weight"
"""A module's weight is named after it, with this at its end."""


@dataclass(frozen=True, slots=True)
class LoraPair:
    """The change of one base weight: `scale * B A`, or its transpose.

    Attributes:
        a: name of A, [rank, in].
        b: name of B, [out, rank].
        rank: the inner length.
        scale: what the product is multiplied by.
        shape: shape of the base weight: [out, in], or [in, out] where it is transposed.
        transposed: whether the base weight is stored as [in, out]: embeddings, and modules of `fan_in_fan_out`.
        is_embedding: whether the module is an embedding.
    """

    a: str
    b: str
    rank: int
    scale: float
    shape: tuple[int, int]
    transposed: bool = False
    is_embedding: bool = False


@dataclass(frozen=True, slots=True)
class Adapter:
    """LoRA weights.

    Attributes:
        tensors: where the matrices are read.
        config: rank and scale.
        pairs: name of a base weight to its change.
        replaced: name of a base tensor to the tensor in `tensors` that takes its place (biases, modules saved whole).
        origin: how messages call the adapter.
    """

    tensors: Source
    config: LoraConfig
    pairs: Mapping[str, LoraPair]
    replaced: Mapping[str, str]
    origin: str

    def change(self, name: str, slices: Slices, dtype: np.dtype[np.floating]) -> Array:
        """A part of the change of a base weight.

        Args:
            name: the base weight, one of `pairs`.
            slices: two slices with both numbers, in the base weight's dimensions.
            dtype: float32 or float64, in which it is computed.

        Returns:
            `scale * B A` of that part.
        """
        pair = self.pairs[name]
        rows, columns = reversed(slices) if pair.transposed else slices
        a = self.tensors.read(pair.a, (slice(None), columns)).astype(dtype)
        b = self.tensors.read(pair.b, (rows,)).astype(dtype)
        product: Array = (b @ a) * dtype.type(pair.scale)
        return product.T if pair.transposed else product

    def renamed(self, rename: Callable[[str], str]) -> "Adapter":
        """The same changes of weights that another program calls differently.

        Args:
            rename: from a name of this adapter's base to the other, such as `KeyMap.forward`; it must keep each
                weight's form.
        """
        pairs = {rename(name): pair for name, pair in self.pairs.items()}
        replaced = {rename(name): own for name, own in self.replaced.items()}
        return replace(self, pairs=pairs, replaced=replaced)

    def fingerprint(self) -> str:
        """A checksum of what the adapter does, the same whatever file it is read from; reads all of it."""
        digest = hashlib.sha256()
        for name, pair in sorted(self.pairs.items()):
            digest.update(f"{name} {pair.scale!r} {pair.transposed} {pair.shape}".encode())
            for own in (pair.a, pair.b):
                digest.update(np.ascontiguousarray(self.tensors.read(own), np.float64).tobytes())
        for name, own in sorted(self.replaced.items()):
            digest.update(name.encode() + np.ascontiguousarray(self.tensors.raw(own)).tobytes())
        return digest.hexdigest()


def pair_of(
    tensors: Source, config: LoraConfig, module: str, a: str, b: str, *, is_embedding: bool = False
) -> LoraPair:
    """The change that two matrices make, checked against each other and the settings.

    Args:
        tensors: where they are read.
        config: rank and scale.
        module: the module that they belong to.
        a: name of A.
        b: name of B.
        is_embedding: whether the module is an embedding.

    Raises:
        UserError: the shapes don't fit each other or the module's rank, or the matrices have no float type.
    """
    first, second = tensors.info(a), tensors.info(b)
    if len(first.shape) != 2 or len(second.shape) != 2 or first.shape[0] != second.shape[1] or 0 in first.shape:
        raise UserError(f"{module}: A {list(first.shape)} and B {list(second.shape)} are not [r, in] and [out, r]")
    for info in (first, second):
        if info.dtype not in ("F64", "F32", "F16", "BF16"):
            raise UserError(f"{module}: its matrices are {info.dtype}. Allowed: F64, F32, F16, BF16.")
    rank = first.shape[0]
    if config.rank_of(module) != rank:
        raise UserError(f"{module}: its matrices have rank {rank}, its settings say {config.rank_of(module)}")
    transposed = is_embedding or config.fan_in_fan_out
    shape = (first.shape[1], second.shape[0]) if transposed else (second.shape[0], first.shape[1])
    return LoraPair(a, b, rank, config.scale_of(module, rank), shape, transposed, is_embedding)


def problems_as_one(origin: str, problems: list[str]) -> None:
    """Raise all faults of an adapter as one message; nothing where there are none.

    Raises:
        UserError: there is at least one.
    """
    if problems:
        count = "" if len(problems) == 1 else f"{len(problems)} faults: "
        raise UserError(f"{origin}: {count}{'; '.join(problems)}")

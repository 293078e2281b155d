"""How a model is loaded."""

from dataclasses import dataclass
from pathlib import Path

from mf_infer.checks import check, is_integer

WEIGHT_TYPES = ("float32", "int8")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How a model is loaded.

    Attributes:
        adapter: a folder with a LoRA in Hugging Face PEFT's form, which is merged in, or a prefix that a run trained.
        weight_type: `float32`, or `int8`: the matrices of the blocks and the head are rounded to integers with a scale
            for 32 of them, which takes a quarter of their memory.
        max_batch_size: most answers computed together, at least 1.
        num_blocks: blocks of the cache, which all requests share, at least 1; the configuration's where None (512 where
            it has none, of 16 tokens each).
        tensor_parallel: processes of this machine that divide the model's matrices and cache by heads and inner
            features; with several, weights are float32.
    """

    adapter: str | Path | None = None
    weight_type: str = "float32"
    max_batch_size: int = 8
    num_blocks: int | None = None
    tensor_parallel: int = 1

    def __post_init__(self) -> None:
        """Raises: UserError: a value can't be used; it names the option."""
        check("weight_type", self.weight_type, self.weight_type in WEIGHT_TYPES, ", ".join(WEIGHT_TYPES))
        check("max_batch_size", self.max_batch_size, _is_count(self.max_batch_size), "from 1")
        check("num_blocks", self.num_blocks, self.num_blocks is None or _is_count(self.num_blocks), "from 1")
        check("tensor_parallel", self.tensor_parallel, _is_count(self.tensor_parallel), "from 1")
        is_one_or_float = self.tensor_parallel == 1 or self.weight_type == "float32"
        check("weight_type", self.weight_type, is_one_or_float, "float32 with tensor_parallel above 1")


def _is_count(value: object) -> bool:
    return is_integer(value) and isinstance(value, int) and value >= 1

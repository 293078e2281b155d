"""How MindSpore says that one parameter is divided over the devices of a pipeline stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from mf_config.problems import UserError

NOT_DIVIDED = -1
"""In a tensor map: no axis divides the dimension."""
ALL_COPIES = -1
"""As `opt_shard_size`: as many ranks as hold the same piece."""

_MOST_AXES = 64
_MOST_DEVICES = 2**31


@dataclass(frozen=True, slots=True)
class ParallelLayout:
    """The division of one parameter.

    Attributes:
        device_matrix: the arrangement of the stage's devices; ranks run along the last axis first.
        tensor_map: for each tensor dimension the axes that divide it, the outer cut first, each counted from the right
            end of the matrix; empty where nothing divides the dimension.
        opt_shard_step: distance between the ranks that share the rest of dimension 0 (parallel optimizer).
        opt_shard_size: number of these ranks; 0 where there are none, `ALL_COPIES` for all that hold the same piece.
    """

    device_matrix: tuple[int, ...]
    tensor_map: tuple[tuple[int, ...], ...]
    opt_shard_step: int = 0
    opt_shard_size: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UserError: the matrix is empty or absurd, the map names an axis that it doesn't have or one twice, or the
                optimizer's step and size are no step and size.
        """
        matrix, used = self.device_matrix, [axis for axes in self.tensor_map for axis in axes]
        if not 0 < len(matrix) <= _MOST_AXES or min(matrix) < 1 or prod(matrix) > _MOST_DEVICES:
            raise UserError(f"device matrix {list(matrix[:_MOST_AXES])}. Allowed: numbers from 1.")
        if len(set(used)) < len(used) or any(not 0 <= axis < len(matrix) for axis in used):
            raise UserError(f"tensor map {list(self.tensor_map)} doesn't fit device matrix {list(matrix)}")
        if self.opt_shard_size < ALL_COPIES or self.opt_shard_step < 0:
            raise UserError(
                f"opt_weight_shard_step {self.opt_shard_step}, opt_weight_shard_size {self.opt_shard_size}. "
                "Allowed: a step from 0, a size from -1."
            )
        if self.opt_shard_size not in (0, 1) and self.opt_shard_step and not self.tensor_map:
            raise UserError("the optimizer divides a parameter that has no dimensions")

    @classmethod
    def from_file(
        cls, matrix: Sequence[int], maps: Sequence[Sequence[int]], step: int, size: int, extra: Mapping[str, object]
    ) -> "ParallelLayout":
        """A layout from the values of a strategy file.

        Args:
            matrix: the device matrix.
            maps: for each tensor dimension its axes, or a single `NOT_DIVIDED`.
            step: `opt_weight_shard_step`.
            size: `opt_weight_shard_size`.
            extra: further values, which must be absent, 0 or empty: divisions that are uneven or by fields.

        Raises:
            UserError: values that don't fit each other, or aren't supported.
        """
        for name, value in extra.items():
            if value:
                raise UserError(f"{name} {value} is an uneven division, which is not supported")
        axes = tuple(tuple(axis for axis in dim if axis != NOT_DIVIDED) for dim in maps)
        return cls(tuple(matrix), axes, step, size)

    @property
    def cuts(self) -> tuple[int, ...]:
        """In how many pieces each dimension is cut, the parallel optimizer left out."""
        return tuple(prod(self.device_matrix[-1 - axis] for axis in axes) for axes in self.tensor_map)

    @property
    def is_nested(self) -> bool:
        """Whether several axes divide one dimension, which a file says in another form."""
        return any(len(axes) > 1 for axes in self.tensor_map)

    @property
    def file_map(self) -> list[list[int]]:
        """For each dimension its axes, or `NOT_DIVIDED`, as files have it."""
        return [list(axes) or [NOT_DIVIDED] for axes in self.tensor_map]

"""Rows for the tensors of many experts stacked into one on a new first dimension."""

from collections.abc import Sequence
from dataclasses import dataclass

from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.rows.row import Part, same_form
from mf_ckpt.sources.source import Slices
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Stack:
    """Equal tensors of all experts as one tensor [experts, …].

    Example:
        Stack("layers.{layer}.experts.{expert}.w1", "layers.{layer}.experts.w1", over="expert", count=8)

    Attributes:
        source: name pattern of one expert's tensor.
        target: name pattern of the stack, without the placeholder `over`.
        over: the placeholder that counts the experts.
        count: how many there are; they are numbered from 0.
    """

    source: str
    target: str
    over: str
    count: int

    def __post_init__(self) -> None:
        """Raises `ValueError` where the placeholder isn't in the source pattern, or there is no expert."""
        _check_over(self.source, self.over, self.count)

    @property
    def sources(self) -> tuple[str, ...]:
        """The patterns of all experts, in order."""
        return _numbered(self.source, self.over, self.count)

    @property
    def targets(self) -> tuple[str, ...]:
        """The one target pattern."""
        return (self.target,)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The experts' form with `count` before it; raises `UserError` where experts differ."""
        first = same_form(self.target, sources)
        return [TensorInfo(first.dtype, (self.count, *first.shape))]

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Copy the wanted experts; see `Row.fill`."""
        for place, expert in enumerate(range(slices[0].start, slices[0].stop)):
            sources[expert].read_into(slices[1:], out[place, ...])

    def inverse(self) -> "Unstack":
        """The row that takes the stack apart."""
        return Unstack(self.target, self.source, self.over, self.count)


@dataclass(frozen=True, slots=True)
class Unstack:
    """A stack [experts, …] as one tensor for each expert.

    Attributes:
        source: name pattern of the stack.
        target: name pattern of one expert's tensor, with the placeholder `over`.
        over: the placeholder that counts the experts.
        count: how many there are.
    """

    source: str
    target: str
    over: str
    count: int

    def __post_init__(self) -> None:
        """Raises `ValueError` where the placeholder isn't in the target pattern, or there is no expert."""
        _check_over(self.target, self.over, self.count)

    @property
    def sources(self) -> tuple[str, ...]:
        """The one source pattern."""
        return (self.source,)

    @property
    def targets(self) -> tuple[str, ...]:
        """The patterns of all experts, in order."""
        return _numbered(self.target, self.over, self.count)

    def infos(self, sources: Sequence[TensorInfo]) -> list[TensorInfo]:
        """The form of one expert, `count` times; raises `UserError` where the stack has another number."""
        (stack,) = sources
        if stack.shape[:1] != (self.count,):
            raise UserError(f"{self.source}: has shape {list(stack.shape)}. Allowed: {self.count} experts first.")
        return [TensorInfo(stack.dtype, stack.shape[1:])] * self.count

    def fill(self, target: int, slices: Slices, out: Array, sources: Sequence[Part]) -> None:
        """Copy one expert; see `Row.fill`."""
        sources[0].read_into((slice(target, target + 1), *slices), out[None, ...])

    def inverse(self) -> Stack:
        """The row that stacks the experts."""
        return Stack(self.target, self.source, self.over, self.count)


def _check_over(pattern: str, over: str, count: int) -> None:
    if f"{{{over}}}" not in pattern or count < 1:
        raise ValueError(f"{pattern!r} must have the placeholder {{{over}}}, and the count, {count}, be at least 1")


def _numbered(pattern: str, over: str, count: int) -> tuple[str, ...]:
    return tuple(pattern.replace(f"{{{over}}}", str(number)) for number in range(count))

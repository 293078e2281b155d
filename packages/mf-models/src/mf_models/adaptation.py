"""What a method of parameter-efficient training tells a training run: what it trains, and how that is kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol


class Adaptation(Protocol):
    """A network in which a few weights are trained, beside or among many that stay as they are.

    A section of `pet_config` makes it by `adapt`.
    """

    def files(self, base: str) -> Mapping[str, bytes]:
        """What a checkpoint holds in place of all weights: name to content.

        Args:
            base: where the weights are that stay as they are.
        """

    def load(self, path: Path) -> None:
        """Take the trained weights from a folder with such files.

        Raises:
            UserError: they are damaged, or don't fit the network or the section.
        """


def trained_share(parameters: Sequence[Any]) -> str:
    """Which parameters are trained, as a table with one line for those of all blocks, and their share of all.

    Args:
        parameters: all parameters of a network.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    lines: dict[tuple[str, tuple[int, ...]], int] = {}
    for parameter in trained:
        kind = ".".join("*" if part.isdigit() else part for part in parameter.name.split("."))
        lines[kind, tuple(parameter.shape)] = lines.get((kind, tuple(parameter.shape)), 0) + 1
    count, total = (sum(parameter.size for parameter in those) for those in (trained, parameters))
    width = max((len(kind) for kind, _ in lines), default=0)
    table = [f"  {kind:{width}}  {number} x {list(shape)}" for (kind, shape), number in lines.items()]
    return "\n".join([f"{count:,} of {total:,} parameters are trained ({count / total:.2%}):", *table])

"""Which learning rate each parameter follows."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mf_parallel.names import first_number


@dataclass(frozen=True, slots=True)
class RateKind:
    """The learning rate of some parameters.

    Attributes:
        schedule: number of the schedule; 0 for the one of all parameters that no group names.
        factor: what its rate is multiplied by.
    """

    schedule: int = 0
    factor: float = 1.0


Rates = float | Sequence[float]
"""A learning rate, or several."""

RateKinds = Callable[[str], RateKind]
"""Name of a parameter to its learning rate."""


def same_rate(name: str) -> RateKind:
    """All parameters follow one rate."""
    return RateKind()


def rate_kinds(names: Sequence[str], blocks: int, layer_decay: float, groups: Sequence[Sequence[str]]) -> RateKinds:
    """Rates that fall from block to block towards the input, and schedules of groups.

    Source: Clark et al. 2020, ELECTRA, appendix B; Bao et al. 2022, BEiT, section 3: what stands before the blocks is
    layer 0, what stands behind them layer `blocks + 1`, whose rate is whole.

    Args:
        names: the parameters of the whole network, in its order.
        blocks: number of blocks.
        layer_decay: the rate of a layer over that of the next; 1 for none.
        groups: regular expressions of the names of each group, whose schedules are 1, 2, …; the first that fits counts.
    """
    first_of_block = next((place for place, name in enumerate(names) if first_number(name) is not None), len(names))
    before = frozenset(names[:first_of_block])

    def kind(name: str) -> RateKind:
        block = first_number(name)
        layer = (0 if name in before else blocks + 1) if block is None else min(block, blocks) + 1
        fitting = (number for number, group in enumerate(groups, 1) if any(re.fullmatch(one, name) for one in group))
        return RateKind(next(fitting, 0), layer_decay ** (blocks + 1 - layer))

    return kind

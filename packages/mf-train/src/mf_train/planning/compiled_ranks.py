"""Has the steps of some ranks compiled by MindSpore's Ascend compiler, each in a process of its own; needs no NPU."""

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mf_config.problems import UserError
from mf_parallel.planner.layout import BackEnd, Layout
from mf_parallel.planner.memory import FLOAT32
from mf_parallel.simulation import SimulatedRank, SimulationError, simulate
from mf_train.layout.plans import AUTOMATIC_MODES

COMPILE = "mf_train.planning.simulated_step:compile_step"
"""For `mf_parallel.simulation.simulate`."""

_BY_MF = ("parallel.parallel_mode=HYBRID_PARALLEL",)
_BY_MINDSPORE = ("context.device_target=Ascend", "do_eval=False")
"""What of a run configuration says who divides the work; MindSpore divides the step alone."""

_AS_PLANNED = ("parallel.parallel_mode=SEMI_AUTO_PARALLEL",)
"""How MindSpore does, where the run configuration leaves it to mf."""

_GIB = 2**30

_RANK = re.compile(r"(\d+)|last")


@dataclass(frozen=True, slots=True)
class CompiledRank:
    """What became of a rank.

    Attributes:
        rank: the rank.
        seconds: how long its step took to compile.
        peak_bytes: most memory that the process which compiled it took on this machine.
        failure: why it can't be compiled; empty where it can.
    """

    rank: int
    seconds: float = 0.0
    peak_bytes: int = 0
    failure: str = ""

    def __str__(self) -> str:
        """A line for the terminal."""
        peak = f"{self.peak_bytes / _GIB:.1f} GiB of this machine's memory"
        outcome = self.failure or f"compiles for Ascend in {self.seconds:.1f} s with {peak}"
        return f"rank {self.rank}: {outcome}"


def ranks_of(text: str, devices: int) -> list[int]:
    """The ranks that a text names.

    Args:
        text: numbers and `last`, between commas.
        devices: ranks of the job.

    Raises:
        UserError: the text names something else.
    """
    found = []
    for word in text.split(","):
        rank = _RANK.fullmatch(word.strip())
        number = -1 if rank is None else int(rank[1]) if rank[1] else devices - 1
        if not 0 <= number < devices:
            raise UserError(f"--compile {word.strip()}: there is no such rank. Allowed: 0 to {devices - 1}, or last.")
        found.append(number)
    return sorted(set(found))


def compile_ranks(
    path: str, overrides: Sequence[str], layout: Layout, ranks: Iterable[int], mode: str
) -> Iterator[CompiledRank]:
    """Compile the steps of some ranks. Where MindSpore divides the work, weights take no memory for it.

    Args:
        path: the run configuration.
        overrides: what differs from it.
        layout: how it divides network and rows.
        ranks: the ranks.
        mode: the parallel mode of the run configuration.

    Raises:
        UserError: MindSpore can't be simulated on this machine.
    """
    is_explicit = layout.back_end is BackEnd.EXPLICIT
    needed = _host_bytes(layout) if is_explicit else 0
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        failure = f"not compiled: it takes {needed / _GIB:,.0f} GiB of the host's memory, which has {there / _GIB:,.0f}"
        yield from (CompiledRank(rank, failure=failure) for rank in ranks)
        return
    changes = _BY_MF if is_explicit else _BY_MINDSPORE if mode in AUTOMATIC_MODES else _BY_MINDSPORE + _AS_PLANNED
    rows = (layout.rows * layout.micro_batches, layout.network.row_length // layout.degree("cp"))
    # The process works in a folder of its own.
    arguments = {
        "path": str(Path(path).resolve()),
        "overrides": [*overrides, *changes],
        "devices": layout.devices,
        "rows": rows,
    }
    for rank in ranks:
        try:
            found = simulate(COMPILE, {**arguments, "rank": rank}, SimulatedRank(rank=rank, size=layout.devices))
        except SimulationError as error:
            yield CompiledRank(rank, failure=str(error))
        else:
            yield CompiledRank(rank, **found)


def _host_bytes(layout: Layout) -> int:
    """Bytes made to compile a rank that mf divides: the whole network first, then its weights, states and sums."""
    network, stages = layout.network, range(layout.stages)
    shapes = [*network.before.values(), *network.behind.values()]
    shapes += [shape for block in network.blocks for _, shape in block.shapes]
    totals = [layout.total(layout.held(stage)) for stage in stages]
    return FLOAT32 * (sum(map(math.prod, shapes)) + max(2 * size.whole + size.kept + size.copied for size in totals))

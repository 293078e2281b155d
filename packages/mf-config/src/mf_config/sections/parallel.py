"""`parallel` and `parallel_config`: how a job is spread over devices."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_BY_TOKENS = "gradients are averaged over the tokens of the global batch, whatever the layout"
_BY_ROW = "every rank reads only its own rows, whatever this says"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelSection:
    """MindSpore's parallel context."""

    parallel_mode: Literal[0, "DATA_PARALLEL", "STAND_ALONE"] = key(
        "0 or DATA_PARALLEL: each rank trains on its own rows.", "DATA_PARALLEL"
    )
    gradients_mean: bool = key("Average gradients over ranks instead of adding them.", True, inert=_BY_TOKENS)
    full_batch: bool = key("Every rank reads the whole global batch.", False, inert=_BY_ROW)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelDegrees:
    """Degrees of the mesh; their product is the number of devices."""

    data_parallel: int = key("Ranks that hold the same weights and different rows.", 1, minimum=1)

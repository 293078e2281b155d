"""`parallel_config`: how a job is spread over devices."""

from dataclasses import dataclass

from mf_config.schema import key


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelDegrees:
    """Degrees of the mesh; their product is the number of devices."""

    data_parallel: int = key(
        "Processes that hold the same weights and take different rows; 1 for as many as the launcher started.",
        1,
        minimum=1,
    )

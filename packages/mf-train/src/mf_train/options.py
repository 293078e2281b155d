"""What the command line says beside the run configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of `mf-train run`.

    Attributes:
        stop_after: stop, with a checkpoint, when this many steps are done in this start; None for no limit.
        json: print the result as one JSON object on standard output.
    """

    stop_after: int | None = None
    json: bool = False


NO_OPTIONS = RunOptions()
"""What a run gets that is not started from the command line."""

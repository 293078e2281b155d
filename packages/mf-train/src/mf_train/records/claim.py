"""One run at a time writes into an output folder."""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from mf_config.problems import UserError

_PATIENCE_S = 5.0
"""Where a run is killed, its worker processes end a moment later, and with them its claim."""

_PAUSE_S = 0.1


class Claim:
    """Keeps other runs out of an output folder, until it is given up or the process ends, however it ends.

    As a context manager it is given up at the end.
    """

    def __init__(self, folder: Path):
        """Claims the folder, which is made where it is missing.

        Raises:
            UserError: another run is writing there.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(folder, os.O_RDONLY)
        end = time.monotonic() + _PATIENCE_S
        while not self._is_taken():
            if time.monotonic() > end:
                os.close(self._descriptor)
                what = f"output_dir: another run is writing to {folder}"
                raise UserError(f"{what}. Allowed: another folder, or this one when that run has ended.")
            time.sleep(_PAUSE_S)

    def __enter__(self) -> "Claim":
        """The claim itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the folder up."""
        # Also for processes that were forked meanwhile, which share the descriptor.
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)

    def _is_taken(self) -> bool:
        """Take the folder, unless another run has it."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

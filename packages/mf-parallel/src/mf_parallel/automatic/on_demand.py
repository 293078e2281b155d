"""Pieces of parameters that take memory when MindSpore has divided them, which is when the step is compiled."""

from collections.abc import Mapping
from typing import Any

from mindspore import Parameter

from mf_parallel.pieces import Pieces, Reader


class PiecesOnDemand(Pieces):
    """As `Pieces`; what is filled before the step is compiled is read afterwards, and of it this rank's piece alone."""

    def __init__(self, *arguments: Any):
        """Takes what `Pieces` takes; the plan is that of what ranks hold between steps."""
        super().__init__(*arguments)
        self._waiting: dict[str, tuple[Parameter, Reader]] | None = {}

    def fill(self, parameters: Mapping[str, Parameter], read: Reader) -> None:
        """As `Pieces.fill`, at once or in `settle`; of several readers of a parameter the last one counts."""
        if self._waiting is None:
            super().fill(parameters, read)
        else:
            self._waiting |= {name: (parameter, read) for name, parameter in parameters.items()}

    def settle(self) -> None:
        """Fill what waits and is held; call it once the step is compiled."""
        waiting, self._waiting = self._waiting or {}, None
        for name in self.held:
            if name in waiting:
                parameter, read = waiting[name]
                super().fill({name: parameter}, read)

"""What the callbacks have in common whose job mf does elsewhere or not at all."""

from dataclasses import dataclass

from mf_train.callback import Callback, RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class NoEffect:
    """A section that is checked and then does nothing; its component says why."""

    def build(self, run: RunInfo) -> Callback:
        """A callback without hooks; see `mf_train.callback.CallbackSection.build`."""
        return Callback()

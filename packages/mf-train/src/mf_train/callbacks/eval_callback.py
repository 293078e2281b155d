"""Evaluations while training."""

from collections.abc import Callable
from dataclasses import dataclass

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo


@component("callback", "EvalCallBack")
@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCallBack:
    """Evaluate at intervals of its own, beside those of do_eval, which it needs."""

    step_interval: int = key("Steps from one evaluation to the next; 0 or less for none.", 100, unit="steps")
    epoch_interval: int = key("Epochs from one evaluation to the next; 0 or less for none.", -1, unit="epochs")

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`.

        Raises:
            UserError: the run does not evaluate.
        """
        if run.evaluate is None:
            what = "EvalCallBack evaluates while training, and the run has no do_eval"
            raise UserError(f"callbacks: {what}. Allowed: do_eval: True, or no EvalCallBack.")
        epoch = self.epoch_interval * run.total_steps // run.total_epochs
        return _Evaluate([interval for interval in (self.step_interval, epoch) if interval > 0], run.evaluate)


class _Evaluate(Callback):
    def __init__(self, intervals: list[int], evaluate: Callable[[], None]):
        self._intervals = intervals
        self._evaluate = evaluate

    def on_step_end(self, info: StepInfo) -> None:
        """Evaluate where the step has come."""
        if any(info.step % interval == 0 for interval in self._intervals):
            self._evaluate()

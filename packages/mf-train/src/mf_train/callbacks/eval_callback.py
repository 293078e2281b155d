"""Evaluations while training."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.callbacks.no_effect import NoEffect


@component("callback", "EvalCallBack", inert="do_eval adds the evaluations, and eval_step_interval says when")
@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCallBack(NoEffect):
    """Evaluate at intervals."""

    step_interval: int = key("Steps from one evaluation to the next.", 100, unit="steps")
    epoch_interval: int = key("Epochs from one evaluation to the next.", -1, unit="epochs")

"""The load of experts as a record and in the log."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo
from mf_train.expert_load import in_even_shares
from mf_train.records.json_lines import append_line, keep_lines_until

_NO_COPIES = "experts are not copied, which would change the speed of a step and not its result"
_RUN_SAYS = "the run itself says it"

_log = logging.getLogger(__name__)


# MindFormers 1.3 knows this callback by the misspelt name only.
@component("callback", "ColdHotExpertMonitor", "ColdHotExpertMointor")
@dataclass(frozen=True, slots=True, kw_only=True)
class ColdHotExpertMonitor:
    """Record which share of the choices of all tokens falls on each expert, in expert_load.jsonl of output_dir.

    MindFormers' callback also gives every device a copy of the experts that are chosen most. That is not done: it
    changes the speed of a step and not its result.
    """

    step_interval: int = key("Steps from one record to the next.", 1, minimum=1, unit="steps")
    save_checkpoint_steps: int | None = key(
        "Steps from one line in the log with the hottest and the coldest expert of each block to the next; none where "
        "absent.",
        None,
        minimum=1,
        unit="steps",
    )
    moe_config: dict[str, Any] | None = key("The experts' section.", None, inert=_NO_COPIES)
    hidden_size: int | None = key("Width of the model.", None, minimum=1, inert=_RUN_SAYS)
    ffn_hidden_size: int | None = key("Inner width of an expert.", None, minimum=1, inert=_RUN_SAYS)
    expert_parallel: int | None = key("Devices over which the experts are spread.", None, minimum=1, inert=_RUN_SAYS)
    model_parallel: int | None = key("Devices over which each expert is split.", None, minimum=1, inert=_RUN_SAYS)

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`."""
        return _LoadRecorder(self, run) if run.is_main else Callback()


class _LoadRecorder(Callback):
    """A resumed run first drops the lines of steps that it will do again, so each step stands there once."""

    def __init__(self, section: ColdHotExpertMonitor, run: RunInfo):
        self._section = section
        self._run = run

    def on_train_begin(self) -> None:
        """Keep only the lines up to the step from which this start goes on."""
        keep_lines_until(self._run.output.expert_load, self._run.first_step)

    def on_step_end(self, info: StepInfo) -> None:
        """Record and log, each where its turn has come."""
        if not info.expert_load:
            return
        if info.step % self._section.step_interval == 0:
            append_line(self._run.output.expert_load, {"step": info.step, "blocks": info.expert_load})
        steps = self._section.save_checkpoint_steps
        if steps is not None and info.step % steps == 0:
            found = ", ".join(f"{block}: {_extremes(shares)}" for block, shares in info.expert_load.items())
            _log.info("step %d: hottest and coldest experts, with their loads over an even one: %s", info.step, found)


def _extremes(shares: Sequence[float]) -> str:
    loads = in_even_shares(shares)
    hottest, coldest = loads.index(max(loads)), loads.index(min(loads))
    return f"{hottest} ({loads[hottest]:.2f}) and {coldest} ({loads[coldest]:.2f})"

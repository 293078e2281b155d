"""Both sides of the benchmark of the trainer: `trainer|step|prepare SIZE LAYERS FOLDER`."""

import json
import sys
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from train_model import run_configuration

from mf_config import RunConfig, decode, load
from mf_config.schema import component
from mf_models.threads import sleep_while_waiting
from mf_train.callback import Callback, RunInfo, StepInfo

STEPS = 16
"""Of a round."""

_EPOCHS = 1000
"""More than any number of rounds asks for."""


def main(what: str, size: str, layers: str, folder: Path) -> None:
    """Prepare, or answer rounds."""
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    from mf_train.assemble import Job
    from mf_train.start import start_process
    from mf_train.trainer import Trainer

    file = folder / "run.yaml"
    file.write_text(run_configuration(size, folder), encoding="utf-8")
    monitor = "callbacks=[{type: MFLossMonitor, per_print_times: 1}]"
    own = [f"output_dir={folder / what}", f"model.model_config.num_layers={layers}", f"runner_config.epochs={_EPOCHS}"]
    config: RunConfig = decode(load(str(file), [*own, monitor]))
    processes = start_process(config)
    if what == "prepare":
        # The tokenizer is made from the rows, and both sides then read it.
        _ = Job(config, processes).data.training
        return
    rounds = RoundsSection.rounds = Rounds()
    time_steps(rounds)
    if what == "trainer":
        Trainer(replace(config, callbacks=(*config.callbacks, RoundsSection()))).run()
        return
    job = Job(config, processes)
    job.step.compile(job.examples(0))
    update = 0
    rounds.begin()
    while rounds.goes_on:
        batches = [job.examples(step) for step in range(update, update + STEPS)]
        rounds.restart()
        for batch in batches:
            rate = job.learning_rate(update)
            update += 1
            outcome = job.step(batch, scale=1.0, number=update, learning_rate=rate)
        rounds.answer(outcome.loss)


def time_steps(rounds: "Rounds") -> None:
    """Let each call of a compiled step add its time to the round's."""
    from mf_train.step.training_step import TrainingStep

    compute = TrainingStep.__call__

    def timed(self: TrainingStep, *arguments: Any, **numbers: Any) -> Any:
        begin = time.perf_counter()
        outcome = compute(self, *arguments, **numbers)
        rounds.inside_s += time.perf_counter() - begin
        return outcome

    TrainingStep.__call__ = timed


class Rounds(Callback):
    """Answers a round after some steps, and waits for the next one."""

    run: RunInfo

    def __init__(self) -> None:
        """Measures nothing yet."""
        self._begin = self.inside_s = 0.0
        self.goes_on = True

    def begin(self) -> None:
        """Wait for the first round."""
        self.goes_on = bool(sys.stdin.readline())

    def restart(self) -> None:
        """Measure from here on."""
        self.inside_s = 0.0
        self._begin = time.perf_counter()

    def on_step_begin(self, step: int) -> None:
        """Wait before the first step."""
        if step == 1:
            self.begin()
            self.restart()

    def on_step_end(self, info: StepInfo) -> None:
        """Answer after the last step of a round."""
        if info.step % STEPS == 0:
            self.answer(info.loss)
            if not self.goes_on:
                self.run.stop("the end of the rounds")
            self.restart()

    def answer(self, loss: float) -> None:
        """Tell the measures of a round, and wait for the next one."""
        seconds = time.perf_counter() - self._begin
        answer = {
            "measures": {"step_s": seconds / STEPS, "around_s": (seconds - self.inside_s) / STEPS},
            "result": loss,
            "versions": {name: version(name) for name in ("mindspore", "mf-train")},
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        self.begin()


@component("callback", "Rounds")
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsSection:
    """Lets the trainer answer rounds."""

    rounds: ClassVar[Rounds]

    def build(self, run: RunInfo) -> Rounds:
        """The callback of a run."""
        self.rounds.run = run
        return self.rounds


main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))

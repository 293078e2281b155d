"""The progress bar of a training run."""

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from mf_train.callback import Callback, RunInfo, StepInfo
from mf_train.records.logs import CONSOLE


class ProgressBar(Callback):
    """Shows steps, loss, speed and time left where the terminal can redraw a line; says nothing elsewhere."""

    def __init__(self, run: RunInfo):
        """Takes the run whose steps are counted."""
        self._run = run
        self._progress = Progress(
            TextColumn("[bold]train"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=CONSOLE,
            disable=not (CONSOLE.is_terminal and run.is_main),
        )
        self._task: TaskID | None = None

    def on_train_begin(self) -> None:
        """Draw the bar."""
        self._progress.start()
        self._task = self._progress.add_task(
            "", total=self._run.total_steps, completed=self._run.first_step, state="getting ready"
        )

    def on_step_end(self, info: StepInfo) -> None:
        """Move it on."""
        assert self._task is not None
        state = f"loss {info.loss:.3f} {info.tokens_per_second:,.0f} tokens/s"
        self._progress.update(self._task, completed=info.step, state=state)

    def close(self) -> None:
        """Leave it as it is and give the terminal back."""
        self._progress.stop()

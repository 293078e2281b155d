"""The numbers of a run as event files for TensorBoard."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mf_config.problems import UserError
from mf_train.callback import Callback, Evaluation, RunInfo, StepInfo
from mf_train.expert_load import in_even_shares

_ALWAYS = ("loss", "lr", "grad_norm", "tokens_per_second")


class TensorboardWriter(Callback):
    """Writes scalars of steps under `train/` and those of evaluations under `eval/`.

    A resumed run tells TensorBoard to forget the steps that it will do again.
    """

    def __init__(
        self,
        run: RunInfo,
        folder: Path,
        *,
        every: int = 1,
        queue_size: int = 10,
        also: tuple[str, ...] = (),
        expert_load: bool = False,
    ):
        """Makes nothing yet.

        Args:
            run: the run.
            folder: where the event files go.
            every: steps from one record to the next.
            queue_size: values that wait before they are written.
            also: attributes of `StepInfo` to write beside the usual ones.
            expert_load: whether to write, for each block with experts, the largest and the least share of the choices
                that fell on one of them, over an even share; where the run counts them.

        Raises:
            UserError: the package that writes the files is not installed.
        """
        self._run = run
        self._every = every
        self._names = (*_ALWAYS, *also)
        self._expert_load = expert_load
        self._events = ScalarWriter(folder, queue_size=queue_size)

    def on_train_begin(self) -> None:
        """Open a new event file beside those of earlier starts."""
        self._events.forget_from(self._run.first_step + 1)

    def on_step_end(self, info: StepInfo) -> None:
        """Write the numbers of the step, where its turn has come."""
        if info.step % self._every == 0:
            values = {name: getattr(info, name) for name in self._names}
            if info.utilization is not None:
                values["utilization"] = info.utilization
            values |= {f"added_losses/{name}": value for name, value in info.added_losses.items()}
            for block, shares in info.expert_load.items() if self._expert_load else ():
                loads = in_even_shares(shares)
                values |= {f"expert_load/{block}/most": max(loads), f"expert_load/{block}/least": min(loads)}
            for name, value in values.items():
                self._events.add(f"train/{name}", value, info.step)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Write the results of the evaluation."""
        for name, value in evaluation.values.items():
            self._events.add(f"eval/{name}", value, evaluation.step)

    def close(self) -> None:
        """Write what still waits."""
        self._events.close()


class ScalarWriter:
    """Writes numbers into event files, beside those that lie in the folder; makes none before the first number."""

    def __init__(self, folder: Path, *, queue_size: int = 10, purge_step: int | None = None):
        """Takes the folder, how many values may wait, and the step from which on earlier numbers are forgotten, if any.

        Raises:
            UserError: the package that writes the files is not installed.
        """
        self._folder = folder
        self._queue_size = queue_size
        self._purge_step = purge_step
        self._new_writer = _writer_class()
        self._writer: Any = None

    def forget_from(self, step: int) -> None:
        """Open an event file that tells TensorBoard to forget what earlier ones have from a step on."""
        self._purge_step = step
        self._open()

    def add(self, tag: str, value: float, step: int) -> None:
        """Write a number of a step."""
        if self._writer is None:
            self._open()
        self._writer.add_scalar(tag, value, step)

    def close(self) -> None:
        """Write what still waits."""
        if self._writer is not None:
            self._writer.close()

    def _open(self) -> None:
        self._writer = self._new_writer(str(self._folder), purge_step=self._purge_step, max_queue=self._queue_size)


def _writer_class() -> Callable[..., Any]:
    # On demand: most runs write no event files, and the package is an extra.
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise UserError("event files for TensorBoard: need a package: pip install 'mf-train[tensorboard]'") from None
    found: Callable[..., Any] = SummaryWriter
    return found

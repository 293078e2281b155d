"""What a callback is, and all that it sees of a run. The callbacks themselves stand in `mf_train.callbacks`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mf_train.records.output import OutputFolder

if TYPE_CHECKING:
    # Callbacks are declared without MindSpore, which holds a process's part.
    from mf_train.own_part import OwnPart


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInfo:
    """One finished step.

    Attributes:
        step: steps done, from 1.
        total_steps: steps of the run.
        epoch: the pass over the data that the step belongs to, from 1.
        loss: mean loss of the step's tokens over all ranks, in nats.
        lr: learning rate of the update.
        grad_norm: global norm of the gradients before clipping.
        tokens: targets that counted in the loss since the run began.
        tokens_per_second: rate of this step.
        utilization: model FLOPs utilization at that rate, a share; None where it is not known.
        loss_scale: the factor on the loss.
        overflow: whether the gradients were not finite, so that the step changed nothing (as does one with no tokens).
        added_losses: what the network adds to the loss, such as `layers.3.balance`, of the main process's rows.
        expert_load: name of each block with experts, such as `layers.3`, to the share of the choices of all tokens that
            fell on each expert; empty where no callback asks for it, see `mf_train.observers.records_expert_load`.
        seconds: how long the step took.
        seconds_left: estimate for the steps that are left.
    """

    step: int
    total_steps: int
    epoch: int
    loss: float
    lr: float
    grad_norm: float
    tokens: int
    tokens_per_second: float
    utilization: float | None = None
    loss_scale: float
    overflow: bool
    added_losses: Mapping[str, float] = field(default_factory=dict)
    expert_load: Mapping[str, Sequence[float]] = field(default_factory=dict)
    seconds: float
    seconds_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One finished evaluation.

    Attributes:
        step: steps done when it was made.
        values: name of each result to its value, `loss`, `perplexity`, …
    """

    step: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What a callback may know and ask of its run.

    Attributes:
        output: where the run writes.
        first_step: steps done before this start; above 0 after a resume.
        total_steps: steps of the run.
        total_epochs: passes over the data.
        is_main: whether this process writes files and logs; one of the run's processes does.
        save: writes a checkpoint of the present step; every process must call it. Takes how many complete
            checkpoints to keep (0 keeps all), and whether the run goes on while it is written.
        stop: asks the run to end after the present step, with the reason; every process must call it.
        agree: whether any process raises a flag; every process must call it, and gets the same answer.
        can_save_alone: whether this process could save now by itself: the run has no other one, and no step is half
            done.
        evaluate: makes an evaluation of the present step and tells the callbacks, unless there has just been one;
            every process must call it. None where the run has no do_eval.
        own_part: gives what this process holds of weights, gradients and optimizer state.
        remote_save_url: the run's key of this name; None in an evaluation.
    """

    output: OutputFolder
    first_step: int
    total_steps: int
    total_epochs: int
    is_main: bool
    save: Callable[[int, bool], None]
    stop: Callable[[str], None]
    agree: Callable[[bool], bool]
    can_save_alone: Callable[[], bool]
    evaluate: Callable[[], None] | None
    own_part: Callable[[], "OwnPart"]
    remote_save_url: str | None = None


class Callback:
    """Does something beside the steps; override the hooks that are needed. A callback's state is its own."""

    def on_train_begin(self) -> None:
        """Before the first step of this start."""

    def on_step_begin(self, step: int) -> None:
        """Before each step, whose number counts from 1."""

    def on_step_end(self, info: StepInfo) -> None:
        """After each step."""

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """After each evaluation."""

    def on_train_end(self) -> None:
        """After the last step of this start, also where the run was asked to stop."""

    def close(self) -> None:
        """After all steps, also after a failure."""

    def on_files_complete(self) -> None:
        """Last of all, also after a failure: all callbacks are closed, and no checkpoint is under way any more."""


class CallbackSection(Protocol):
    """What every callback's section has."""

    def build(self, run: RunInfo) -> Callback:
        """The callback of one run."""


class Callbacks(Callback):
    """Several callbacks as one, told in order."""

    def __init__(self, callbacks: Iterable[Callback]):
        """Takes the callbacks."""
        self._callbacks = tuple(callbacks)

    def on_train_begin(self) -> None:
        """Tell each of them."""
        for callback in self._callbacks:
            callback.on_train_begin()

    def on_step_begin(self, step: int) -> None:
        """Tell each of them."""
        for callback in self._callbacks:
            callback.on_step_begin(step)

    def on_step_end(self, info: StepInfo) -> None:
        """Tell each of them."""
        for callback in self._callbacks:
            callback.on_step_end(info)

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Tell each of them."""
        for callback in self._callbacks:
            callback.on_evaluation(evaluation)

    def on_train_end(self) -> None:
        """Tell each of them."""
        for callback in self._callbacks:
            callback.on_train_end()

    def close(self) -> None:
        """Close each of them, also where one of them fails."""
        with ExitStack() as stack:
            for callback in self._callbacks:
                stack.callback(callback.close)

    def on_files_complete(self) -> None:
        """Tell each of them, also where one of them fails."""
        with ExitStack() as stack:
            for callback in self._callbacks:
                stack.callback(callback.on_files_complete)

    @contextmanager
    def told_when_files_are_complete(self) -> Iterator[None]:
        """At the end of the block, also after a failure, `on_files_complete`."""
        try:
            yield
        finally:
            self.on_files_complete()

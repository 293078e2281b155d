"""From a run configuration to everything that training and evaluation need: the one place that knows all the parts."""

import tempfile
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import mf_ckpt
from mf_config import RunConfig
from mf_config.dump import to_yaml
from mf_config.layout import Mesh
from mf_data.tokenizers.base import Tokenizer
from mf_models.initializers import initialize
from mf_models.kernels import select_kernels
from mf_models.networks import build, parameters
from mf_models.pretrained import open_weights
from mf_models.weights import assign, stored_layout
from mf_train.checkpoints import Companions, RunCheckpoints, strategy_for, upload_url
from mf_train.data import RunData, demanded
from mf_train.evaluation import EvaluationData, Evaluator
from mf_train.output import OutputFolder
from mf_train.processes import Processes
from mf_train.step import StepRules, TrainingStep
from mf_train.task import Examples
from mf_train.update import ParameterUpdate


class Job:
    """The parts of one run, each made when it is first asked for.

    Attributes:
        config: the run configuration.
        processes: this process among the run's processes.
        output: where the run writes.
        data: what the run reads.
    """

    def __init__(self, config: RunConfig, processes: Processes):
        """Makes nothing yet; the device must be prepared before the first cell is asked for."""
        self.config = config
        self.processes = processes
        self.output = OutputFolder(Path(config.output_dir))
        self.data = RunData(config, processes)
        self._kernels = select_kernels()

    @cached_property
    def model(self) -> Any:
        """The network with its first weights, the same whatever the number of processes."""
        cell = build(self.config.model.model_config)
        initialize(cell, self.config.seed)
        return cell

    @property
    def architecture(self) -> str:
        """Name of the network."""
        name: str = self.config.model.model_config.architectures[0]
        return name

    @property
    def size(self) -> int:
        """Elements of the model's weights."""
        return sum(parameter.size for parameter in parameters(self.model).values())

    @cached_property
    def total_steps(self) -> int:
        """Steps of the whole run."""
        return self.data.training.steps_per_epoch * self.config.runner_config.epochs

    def examples(self, step: int) -> Examples:
        """This process's rows of one training step, as the task's loss takes them."""
        return self.data.examples(self.data.training, step)

    @cached_property
    def update(self) -> ParameterUpdate:
        """The optimizer with the model's parameters."""
        section = demanded(self.config.optimizer)
        rule = section.rule(self._kernels)
        return ParameterUpdate(list(self.model.trainable_params()), rule, section.weight_decay)

    @cached_property
    def step(self) -> TrainingStep:
        """The training step."""
        wrapper = self.config.runner_wrapper
        return TrainingStep(
            self.model,
            self._objective,
            self.update,
            self.processes.communicator,
            self._kernels,
            StepRules(
                wrapper.max_grad_norm if wrapper.use_clip_grad else None,
                self.config.runner_config.gradient_accumulation_steps,
            ),
        )

    def learning_rate(self, update: int) -> float:
        """Rate of an update, counted from 0; with `lr_scale` in proportion to the rows of a step over all ranks."""
        schedule, config = self.config.lr_schedule, self.config
        rate = demanded(config.optimizer).learning_rate if schedule is None else schedule.rate(update, self.total_steps)
        if config.lr_scale:
            rate *= self.data.rows_per_step / config.lr_scale_factor
        return float(rate)

    @cached_property
    def evaluator(self) -> Evaluator:
        """The model on the held-out rows."""
        batches = self.data.evaluation

        def all_batches() -> Iterable[Examples]:
            return (self.data.examples(batches, step) for step in range(batches.steps_per_epoch))

        return Evaluator(self.model, self._objective, EvaluationData(all_batches, self.data.token_bytes()))

    def evaluate(self) -> dict[str, float]:
        """Name of each metric's result to its value, over the held-out rows of all processes."""
        sums = self.evaluator.sums(self.processes.sum)
        return {name: value for metric in self.config.metrics for name, value in metric.values(sums).items()}

    def load_weights(self, path: Path) -> None:
        """Put the weights of a checkpoint into the model.

        Raises:
            UserError: there is no complete checkpoint, it does not fit the model, or it is cut for another layout and
                `auto_trans_ckpt` is off.
        """
        model_config, strategy = self.config.model.model_config, strategy_for(path, self.config)
        mf_ckpt.check_layout(mf_ckpt.open(path, strategy), self._layout(), auto_trans=self.config.auto_trans_ckpt)
        assign(model_config, self.model, open_weights(path, model_config, strategy), str(path))

    @cached_property
    def checkpoints(self) -> RunCheckpoints:
        """Saves and restores the run."""
        files = {**files_of(self.data.tokenizer), "run.yaml": to_yaml(self.config).encode()}
        companions = Companions(self.config.model.model_config, self._layout(), files)
        # Only the main process writes.
        url = upload_url(self.config.remote_save_url) if self.processes.is_main else None
        return RunCheckpoints(self.output.checkpoints, self.model, self.update, companions, url)

    def _layout(self) -> mf_ckpt.Layout:
        """Which rank holds what, under the names of the checkpoint."""
        return stored_layout(self.config.model.model_config, self.model, Mesh.of(dp=self.processes.size))

    @property
    def _objective(self) -> Callable[..., Any]:
        objective: Callable[..., Any] = self.config.trainer.objective(self._kernels)
        return objective


def files_of(tokenizer: Tokenizer) -> dict[str, bytes]:
    """The files of a tokenizer, name to content."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder))
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}

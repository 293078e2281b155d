"""From a run configuration to everything that training and evaluation need: the one place that knows all the parts."""

import logging
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import mf_ckpt
import mf_data
import numpy as np
from mf_config import RunConfig, UserError
from mf_config.dump import to_yaml
from mf_config.sections.dataset import DatasetSection
from mf_data.batches import Batches
from mf_data.tokenizers.base import Tokenizer, token_bytes
from mf_models.initializers import initialize
from mf_models.kernels import select_kernels
from mf_models.networks import build, parameters
from mf_models.registry import family_of
from mf_models.weights import assign
from mf_config.layout import Mesh
from mf_parallel.plan import make_plan

from mf_train.checkpoints import Companions, RunCheckpoints
from mf_train.evaluation import EvaluationData, Evaluator
from mf_train.output import OutputFolder
from mf_train.processes import Processes
from mf_train.step import TrainingStep
from mf_train.task import Examples
from mf_train.update import ParameterUpdate

_log = logging.getLogger(__name__)


class Job:
    """The parts of one run, each made when it is first asked for.

    Attributes:
        config: the run configuration.
        processes: this process among the run's processes.
        output: where the run writes.
    """

    def __init__(self, config: RunConfig, processes: Processes):
        """Makes nothing yet; the device must be prepared before the first cell is asked for."""
        self.config = config
        self.processes = processes
        self.output = OutputFolder(Path(config.output_dir))
        self._kernels = select_kernels()

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The run's tokenizer, trained on the training text where its section asks for that.

        Raises:
            UserError: the model's vocabulary is too small for it.
        """
        config = self.config
        source = config.train_dataset or config.eval_dataset
        assert source is not None, "a rule demands a data set for every run mode that comes here"
        section = source.tokenizer or config.processor.tokenizer
        tokenizer = mf_data.open_tokenizer(section, source.data_loader)
        held, needed = config.model.model_config.vocab_size, tokenizer.vocab_size
        if held < needed:
            raise UserError(f"model.model_config.vocab_size: {held}, but the tokenizer has {needed} entries")
        return tokenizer

    @cached_property
    def model(self) -> Any:
        """The network with its first weights, the same whatever the number of processes."""
        cell = build(self.config.model.model_config)
        initialize(cell, self.config.seed)
        return cell

    @cached_property
    def batches(self) -> Batches:
        """The training rows in global batches."""
        config = self.config
        rows = self._rows(config.train_dataset, config.train_dataset_task, "training")
        return self._batches(config.train_dataset, rows, config.train_dataset.data_loader.shuffle)

    @cached_property
    def total_steps(self) -> int:
        """Steps of the whole run."""
        return self.batches.steps_per_epoch * self.config.runner_config.epochs

    def examples(self, step: int) -> Examples:
        """This process's rows of one training step, as the task's loss takes them."""
        return self._examples_of(self.batches, step)

    @cached_property
    def update(self) -> ParameterUpdate:
        """The optimizer with the model's parameters."""
        section = self.config.optimizer
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
            wrapper.max_grad_norm if wrapper.use_clip_grad else None,
        )

    def learning_rate(self, update: int) -> float:
        """Rate of an update, counted from 0."""
        schedule = self.config.lr_schedule
        if schedule is None:
            return float(self.config.optimizer.learning_rate)
        return float(schedule.rate(update, self.total_steps))

    @cached_property
    def evaluator(self) -> Evaluator:
        """The model on the held-out rows."""
        config = self.config
        rows = self._rows(config.eval_dataset, config.eval_dataset_task, "evaluation")
        batches = self._batches(config.eval_dataset, rows, shuffle=False)

        def all_batches() -> Iterable[Examples]:
            return (self._examples_of(batches, step) for step in range(batches.steps_per_epoch))

        return Evaluator(self.model, self._objective, EvaluationData(all_batches, self._token_bytes()))

    def evaluate(self) -> dict[str, float]:
        """Name of each metric's result to its value, over the held-out rows of all processes."""
        sums = self.evaluator.sums(self.processes.sum)
        return {name: value for metric in self.config.metrics for name, value in metric.values(sums).items()}

    def load_weights(self, path: Path) -> None:
        """Put the weights of a checkpoint into the model.

        Raises:
            UserError: there is no complete checkpoint, or it does not fit the model.
        """
        assign(self.config.model.model_config, self.model, mf_ckpt.open(path), str(path))

    @cached_property
    def checkpoints(self) -> RunCheckpoints:
        """Saves and restores the run."""
        files = {**files_of(self.tokenizer), "run.yaml": to_yaml(self.config).encode()}
        companions = Companions(self.config.model.model_config, self._layout(), files)
        return RunCheckpoints(self.output.checkpoints, self.model, self.update, companions)

    def _layout(self) -> dict[str, object]:
        """Which rank holds what, under the names of the checkpoint."""
        model_config = self.config.model.model_config
        family = family_of(model_config)
        shapes = {name: tuple(parameter.shape) for name, parameter in parameters(self.model).items()}
        plan = make_plan(Mesh.of(dp=self.processes.size), shapes, family.sharding(model_config))
        return plan.to_json(family.key_map(model_config).forward)

    @property
    def _objective(self) -> Callable[..., Any]:
        objective: Callable[..., Any] = self.config.trainer.objective(self._kernels)
        return objective

    def _rows(self, section: DatasetSection, task: Any, purpose: str) -> Any:
        seq_length = self.config.model.model_config.seq_length
        rows = mf_data.open_dataset(section.data_loader, task, self.tokenizer, seq_length)
        _log.info("%s text: %d rows of %d tokens", purpose, len(rows), seq_length)
        return rows

    def _batches(self, section: DatasetSection, rows: Any, shuffle: bool) -> Batches:
        return Batches(
            rows,
            global_batch_size=self.config.runner_config.batch_size * self.processes.size,
            seed=self.config.seed if section.seed is None else section.seed,
            shuffle=shuffle,
            drop_remainder=section.drop_remainder,
        )

    def _examples_of(self, batches: Batches, step: int) -> Examples:
        batch = batches.batch(step, self.processes.rank, self.processes.size)
        ignored = self.config.model.model_config.ignore_token_id
        examples: Examples = self.config.trainer.examples(batch.columns, ignored)
        # Rows that only fill the batch up count in no loss.
        examples.weights_BT[batch.valid :] = 0.0
        return examples

    def _token_bytes(self) -> np.ndarray:
        """Bytes behind each id of the model's vocabulary, which may be larger than the tokenizer's."""
        counts = np.zeros(self.config.model.model_config.vocab_size, np.int64)
        known = token_bytes(self.tokenizer)
        counts[: len(known)] = known
        return counts


def files_of(tokenizer: Tokenizer) -> dict[str, bytes]:
    """The files of a tokenizer, name to content."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder))
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}

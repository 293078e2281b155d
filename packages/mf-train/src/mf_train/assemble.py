"""From a run configuration to everything that training and evaluation need: the one place that knows all the parts."""

import hashlib
import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Parameter, nn
from numpy.typing import NDArray

import mf_ckpt
from mf_ckpt import lora
from mf_config import RunConfig, UserError
from mf_config.components import type_name
from mf_models.adaptation import Adaptation
from mf_models.expert_choices import count_choices
from mf_models.initializers import initial_values
from mf_models.kernels import select_kernels
from mf_models.networks import build
from mf_models.new_head import with_new_head
from mf_models.pretrained import open_base, open_weights
from mf_models.weights import fitting, shapes_of, stored_layout, stored_types, to_stored_form
from mf_parallel.automatic.context import AutomaticParallelism
from mf_train.automatic.division import AutomaticDivision
from mf_train.automatic.mode import parallelism_of
from mf_train.automatic.step import DividedStep
from mf_train.checkpoint.adapted_state import AdaptedState
from mf_train.checkpoint.checkpoints import Companions, RunCheckpoints, strategy_for, upload_url
from mf_train.checkpoint.kept_files import files_of_config, files_of_tokenizer
from mf_train.checkpoint.run_state import RunState, SavedState
from mf_train.data import RunData, demanded
from mf_train.divergence import skipped_norm
from mf_train.evaluation.evaluator import LossOfRows
from mf_train.evaluation.run_evaluation import RunEvaluation
from mf_train.layout.division import Division
from mf_train.layout.network_limits import check_network
from mf_train.layout.plans import micro_batches, plans_of
from mf_train.layout.processes import Processes
from mf_train.network_changes import adapt, recompute_parts
from mf_train.observers import records_expert_load, records_own_figures
from mf_train.optimizer import UpdateRule
from mf_train.own_part import OwnPart
from mf_train.pipeline.evaluation import PipelineLosses
from mf_train.pipeline.step import PipelineStep
from mf_train.pipeline.work import StagePart, StageWork, stage_work
from mf_train.records.output import OutputFolder
from mf_train.records.samples import Parts, sample_rows
from mf_train.run_rates import RunRates
from mf_train.step.gradient_limits import GradientLimits
from mf_train.step.graphs import MeanUpdate
from mf_train.step.own_figures import OwnFigures
from mf_train.step.rate_kinds import Rates
from mf_train.step.sharded_update import PIECE, ShardedUpdate
from mf_train.step.training_step import StepRules, TrainingStep
from mf_train.step.update import ParameterUpdate
from mf_train.task import Examples

_SAMPLES = 3
"""Rows of a run that its report shows."""


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
        self._rates = RunRates(config, self.data)
        self._kernels = select_kernels()
        self._base: Path | None = None

    @property
    def parts(self) -> list[StagePart]:
        """The parts of the network that this process computes, with their first weights."""
        return self._parts_and_adaptation[0]

    @property
    def adaptation(self) -> Adaptation | None:
        """The weights that are trained beside the network's; None where all of them are trained."""
        return self._parts_and_adaptation[1]

    @cached_property
    def _parts_and_adaptation(self) -> tuple[list[StagePart], Adaptation | None]:
        """The weights are the same whatever the number of processes."""

        def first_values(name: str, part: tuple[slice, ...]) -> NDArray[np.float32]:
            shape, deviation = self.division.shapes[name], self._whole.initializer_range
            return initial_values(name, shape, self.config.seed, deviation, part)

        found = []
        for number, part in enumerate(self.division.parts):
            cell = build(self.config.model.model_config) if number else self._whole
            found.append(StagePart(part, cell, self.division.divide(cell, part, first_values)))
        recompute_parts(found, self.division, self.config)
        return found, adapt(found, self.division, self.config)

    @property
    def model(self) -> Any:
        """The cells that this process computes."""
        return self.parts[0].network if len(self.parts) == 1 else nn.CellList([part.network for part in self.parts])

    @cached_property
    def weights(self) -> dict[str, Parameter]:
        """The parameters that this process holds, by name, in the network's order."""
        used = {name: parameter for part in self.parts for name, parameter in part.parameters.items()}
        return {name: used[name] for name in self.division.weights.held}

    @cached_property
    def division(self) -> Division:
        """How the network is divided among the processes."""
        axes = self.processes.axes
        plans = plans_of(self.config, axes.mesh, shapes_of(self._whole))
        if self._parallelism is not None:
            return AutomaticDivision(plans, axes, self._parallelism)
        check_network(self.config.model.model_config, plans)
        return Division(plans, axes)

    @cached_property
    def _parallelism(self) -> AutomaticParallelism | None:
        """What MindSpore is told, where it divides the work; None where mf does."""
        return parallelism_of(self.config, self.processes.axes.mesh, self.processes.rank)

    @property
    def _whole(self) -> Any:
        """The network, before it is divided."""
        return self._whole_and_types[0]

    @cached_property
    def _whole_and_types(self) -> tuple[Any, dict[str, str]]:
        """The network, and the element type of each of its stored weights."""
        model_config = self.config.model.model_config
        with nullcontext() if self._parallelism is None else self._parallelism.active():
            network = build(model_config)
        return network, stored_types(model_config, network)

    @property
    def architecture(self) -> str:
        """Name of the network."""
        model = self.config.model
        name: str = model.model_config.architectures[0] if model.arch is None else model.arch.type
        return name

    @property
    def size(self) -> int:
        """Elements of the model's weights."""
        return sum(math.prod(shape) for shape in self.division.shapes.values())

    @cached_property
    def total_steps(self) -> int:
        """Steps of the whole run."""
        return self.data.training.steps_per_epoch * self.config.runner_config.epochs

    def examples(self, step: int) -> Examples:
        """This process's rows of one training step, as the task's loss takes them."""
        return self.data.examples(self.data.training, step)

    def samples(self) -> list[Parts]:
        """Some rows of the first batch that this process reads, as text."""
        return sample_rows(self.examples(0), self.data.tokenizer, _SAMPLES)

    @cached_property
    def update(self) -> ParameterUpdate | ShardedUpdate:
        """The optimizer with the model's parameters."""
        decay, rule = demanded(self.config.optimizer).weight_decay, self._rule
        if rule.needs_whole and not self.division.keeps_whole:
            raise UserError(
                f"optimizer.type: {type_name(self.config.optimizer)} looks at whole parameters, which are divided. "
                "Allowed: processes with different rows alone without enable_parallel_optimizer, or another optimizer."
            )

        kinds = self._rates.kinds(list(self.division.shapes))

        def update_of(trained: list[Parameter]) -> ParameterUpdate:
            return ParameterUpdate(trained, rule, decay, lambda name: kinds(name.removeprefix(PIECE)))

        if self.adaptation is not None:
            return update_of(list(self.model.trainable_params()))
        return self.division.update(list(self.weights.values()), update_of)

    @cached_property
    def step(self) -> TrainingStep | PipelineStep | DividedStep:
        """The training step."""
        rules = StepRules(
            self._limits,
            micro_batches(self.config, self.processes.axes.mesh),
            seed=self.config.seed,
            data_rank=self.processes.row_group,
            own_figures=self._own_figures,
        )
        if isinstance(self.division, AutomaticDivision):
            return self.division.step(self.model, self._objective, self.update, rules)
        reduction = self.division.reduction(self.update, self._kernels)
        if self.stage_work is not None:
            end = MeanUpdate(self.update, reduction, rules.limits, rules.own_figures)
            return PipelineStep(self.parts, self.stage_work, self._objective, end, rules)
        if records_expert_load(self.config):
            count_choices(self.model)
        return TrainingStep(self.model, self._objective, self.update, reduction, rules)

    @cached_property
    def _own_figures(self) -> OwnFigures | None:
        """What keeps this process's own numbers of each step, where the run records them."""
        if isinstance(self.division, AutomaticDivision) or not records_own_figures(self.config):
            return None
        return OwnFigures([parameter.name for parameter in self.update.parameters])

    @property
    def own_part(self) -> OwnPart:
        """What this process holds of the run."""
        processes = self.processes
        rows = self.data.rows_per_step / processes.size
        return OwnPart(processes.rank, rows, self.weights, self.update.slots, self._own_figures)

    @cached_property
    def _rule(self) -> UpdateRule:
        rule: UpdateRule = demanded(self.config.optimizer).rule(self._kernels)
        return rule

    @property
    def _limits(self) -> GradientLimits:
        """What is done about large gradients; of the norms that the run and the optimizer take, the smaller one."""
        wrapper = self.config.runner_wrapper
        norms = [wrapper.max_grad_norm if wrapper.use_clip_grad else None, self._rule.max_grad_norm]
        norm = min((norm for norm in norms if norm is not None), default=None)
        return GradientLimits(norm, wrapper.clip_grad_value, skipped_norm(self.config))

    @cached_property
    def stage_work(self) -> StageWork | None:
        """What this process does in a step of a pipeline; None where there is none."""
        return stage_work(self.config, self.division, self.processes.axes)

    def learning_rate(self, update: int) -> float:
        """Rate of an update, counted from 0: that of all parameters, or of those that have none of their own."""
        return self._rates.rate(update)

    def rates(self, update: int) -> Rates:
        """What `step` takes of an update, counted from 0; see `mf_train.run_rates.RunRates.rates`."""
        return self._rates.rates(update, self.update.rate_kinds)

    @cached_property
    def evaluation(self) -> RunEvaluation:
        """The network on the held-out rows."""
        losses: Callable[..., Any]
        if self.stage_work is None:
            losses = LossOfRows(self.model, self._objective)
        else:
            losses = PipelineLosses(self.parts, self.stage_work, self._objective)
        is_whole = self.division.weights.are_whole
        return RunEvaluation(self.config, self.data, self.processes, self.model, losses, is_whole=is_whole)

    def evaluate(self) -> dict[str, float]:
        """Name of each metric's result to its value, over the held-out rows of all processes."""
        return self.evaluation.values()

    def load_weights(self, path: Path, *, is_trained_on: bool = False) -> None:
        """Put the weights of a checkpoint into the model.

        Args:
            path: the checkpoint.
            is_trained_on: whether training follows, which may give the weights of a language model a head of classes.
        Raises:
            UserError: there is no complete checkpoint, it does not fit the model, or it is cut for another layout and
                `auto_trans_ckpt` is off.
        """
        model_config, strategy = self.config.model.model_config, strategy_for(path, self.config)
        mf_ckpt.check_layout(mf_ckpt.open(path, strategy), self.layout(), auto_trans=self.config.auto_trans_ckpt)
        if self.adaptation is not None:
            has_adapter = lora.is_adapter(path)
            self._load_base(open_base(path, model_config, strategy), gets_head=is_trained_on or has_adapter)
            if has_adapter:
                self.adaptation.load(path)
            return
        weights = open_weights(path, model_config, strategy)
        if is_trained_on:
            weights = self._with_new_head(weights)
        stored = fitting(model_config, self.division.shapes, weights, str(path))
        self.division.weights.fill(self.weights, stored.read)

    @cached_property
    def checkpoints(self) -> RunCheckpoints:
        """Saves and restores the run."""
        files = {**files_of_tokenizer(self.data.tokenizer), **files_of_config(self.config)}
        companions = Companions(self.config.model.model_config, self.layout(), files, self._whole_and_types[1])
        # Only the main process writes.
        url = upload_url(self.config.remote_save_url) if self.processes.is_main else None
        state: SavedState
        if self.adaptation is None:
            state = RunState(self.config.model.model_config, self.weights, self.update, self.division)
        else:
            state = AdaptedState(self.adaptation, self.update, self._saved_base, self._load_base)
        return RunCheckpoints(self.output.checkpoints, state, companions, url)

    def _with_new_head(self, weights: mf_ckpt.Source) -> mf_ckpt.Source:
        """Weights with a head of classes, where the network has one and they don't."""
        return with_new_head(self.config.model.model_config, weights, self.config.seed, self._whole.initializer_range)

    def _load_base(self, reader: mf_ckpt.Reader, *, gets_head: bool = True) -> None:
        """Take the weights beside which an adapter is trained, and keep in mind where they lie.

        Args:
            reader: the weights.
            gets_head: whether a head of classes may be new, because it is trained or the adapter has it.
        """
        weights = self._with_new_head(reader) if gets_head else reader
        stored = fitting(self.config.model.model_config, self.division.shapes, weights, str(reader.path))
        self.division.weights.fill(self.weights, stored.read)
        self._base = reader.base.resolve()

    def _saved_base(self) -> Path:
        """Where the weights lie beside which an adapter is trained; saves them where no checkpoint has them."""
        if self._base is None:
            model_config = self.config.model.model_config
            drawn = (self.config.seed, model_config.to_hf(), model_config.pet_config)
            self._base = self.output.base(hashlib.sha256(repr(drawn).encode()).hexdigest()[:8]).resolve()
            if not self._base.exists():
                with mf_ckpt.Writer(self._base) as writer:
                    for name, array in to_stored_form(model_config, self.weights):
                        writer.add(name, array, self._whole_and_types[1][name])
                    writer.add_json("config.json", model_config.to_hf())
        return self._base

    def layout(self) -> mf_ckpt.Layout:
        """Which rank holds what, under the names of the checkpoint."""
        return stored_layout(self.config.model.model_config, self.division.plan)

    @property
    def _objective(self) -> Callable[..., Any]:
        objective: Callable[..., Any] = self.config.trainer.objective(self.division.kernels(self._kernels))
        return objective

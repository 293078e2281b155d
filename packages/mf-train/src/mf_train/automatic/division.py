"""The network of a run as MindSpore divides it; the same for its callers as `mf_train.layout.division.Division`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mindspore import Parameter

from mf_config.problems import UserError
from mf_models.kernels import Kernels
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.dropout import connect_dropout
from mf_models.network_part import keep_blocks
from mf_models.networks import parameters
from mf_models.sharded.attach import shard_operators, sharded_cross_entropy
from mf_models.sharded.entry import mark_entries
from mf_models.sharded.search import compose_gates
from mf_parallel.automatic.context import AutomaticParallelism
from mf_parallel.automatic.held import differences
from mf_parallel.automatic.marks import mark_parameters, mark_stages, reported
from mf_parallel.automatic.on_demand import PiecesOnDemand
from mf_parallel.automatic.sharing import compiled_sharing
from mf_parallel.axes import AxisCommunicators
from mf_parallel.pieces import Reader
from mf_parallel.stages import Part
from mf_train.automatic.step import AutomaticRules, AutomaticStep, DividedStep, loss_of_rows
from mf_train.automatic.strategy_files import check_strategy
from mf_train.layout.division import Division
from mf_train.layout.plans import Plans
from mf_train.step.training_step import StepRules
from mf_train.step.update import ParameterUpdate


class AutomaticDivision(Division):
    """Says how operators and parameters are divided; the compiler does the rest.

    Attributes:
        parallelism: what MindSpore is told of the job.
        held: the layout of what the ranks keep between steps, weights and each kind of optimizer state.
    """

    def __init__(self, plans: Plans, axes: AxisCommunicators, parallelism: AutomaticParallelism):
        """Takes how all is divided, this process's place in the mesh, and what MindSpore is told."""
        super().__init__(plans, axes)
        self.parallelism = parallelism
        self.held = compiled_sharing(plans.optimizer)
        axes_of_held = axes.on(self.held.mesh)
        self._on_demand = (PiecesOnDemand(self.held, axes_of_held), PiecesOnDemand(self.held, axes_of_held))
        self.weights, self.slots = self._on_demand
        last = max(end for chunk in self.plan.split.chunks for _, end in chunk)
        # Each process compiles a whole network, of which MindSpore keeps this process's stage.
        self.parts = [Part(range(last))]
        self._whole: list[Parameter] = []

    def divide(self, model: CausalLanguageModel, part: Part, read: Reader) -> dict[str, Parameter]:
        """See `Division.divide`."""
        if connect_dropout(model) is not None:
            raise UserError("parallel.parallel_mode: the network has dropout, which MindSpore would not divide alike.")
        found = parameters(model)
        if self.parallelism.search is None:
            shard_operators(model, self.plan)
        else:
            compose_gates(model)
        if self.parallelism.search == "sharding_propagation":
            shard_operators(model, self.plan, only_weights=True)
        mark_parameters(found, self.held)
        if self.parallelism.stages > 1:
            mark_stages(dict(model.cells_and_names()), self.plan)
            kept = self._compiled_blocks()
            keep_blocks(model, kept)
            first = {part.blocks[0] for stage in range(self.plan.split.stages) for part in self.plan.split.parts(stage)}
            mark_entries(model, self.plan, [place for place, block in enumerate(kept) if block in first and place])
            found = parameters(model)
        self.weights.fill(found, read)
        self._whole = list(found.values())
        return found

    def _compiled_blocks(self) -> list[int]:
        """The blocks of this process's stage; for those of each other part of the network one stands, to save time.

        What is compiled of other parts is dropped: they only have to be there.
        """
        split, own = self.plan.split, self.plan.stage(self._axes.rank)
        parts = [(stage, part) for stage in range(split.stages) for part in split.parts(stage)]
        return sorted(block for stage, part in parts for block in (part.blocks if stage == own else part.blocks[:1]))

    def update(
        self, trained: Sequence[Parameter], update_of: Callable[[list[Parameter]], ParameterUpdate]
    ) -> ParameterUpdate:
        """See `Division.update`."""
        with self.parallelism.active():
            return update_of(list(trained))

    def kernels(self, kernels: Kernels) -> Kernels:
        """See `Division.kernels`."""
        if self.parallelism.search is not None:
            return kernels
        return replace(kernels, cross_entropy=sharded_cross_entropy(self.plan))

    def step(
        self,
        model: CausalLanguageModel,
        objective: Callable[..., object],
        update: ParameterUpdate,
        rules: StepRules,
    ) -> DividedStep:
        """The training step.

        Args:
            model: the divided network.
            objective: see `mf_train.task.Task.objective`.
            update: the optimizer.
            rules: what holds for every step.
        """
        parallelism = self.parallelism
        readers = self._axes.along() if parallelism.whole_rows else self._axes.along("dp", "ep")
        with parallelism.active():
            model.set_train()
            loss = loss_of_rows(model, objective, parallelism, rules.micro_batches)
            graph_rules = AutomaticRules(rules.limits, rules.micro_batches, parallelism.divides_optimizer)
            graph = AutomaticStep(loss, self._whole, update, graph_rules)
            graph.set_train()

        def count(tokens: float) -> float:
            return float(sum(readers.gather(tokens)))

        def check() -> None:
            """The strategies of some layer may not say how its parameters are divided."""
            if parallelism.strategy_file and parallelism.earlier_strategy:
                check_strategy(parallelism.strategy_file, parallelism.earlier_strategy)
            if parallelism.search is not None:
                return
            found = {name: one for name, one in reported(graph).items() if name in self.held.parameters}
            problems = differences(self.held, found, self._axes.rank)
            if problems:
                raise UserError(
                    "parallel.parallel_mode: MindSpore would divide parameters otherwise than planned. Allowed: 3 "
                    "(HYBRID_PARALLEL), by which mf divides the work itself.\n" + "\n".join(problems)
                )

        def settle() -> None:
            for pieces in self._on_demand:
                pieces.settle()

        return DividedStep(graph, parallelism, count, check, settle)

"""How the network of a run is divided among its processes, and what follows from it for a training step."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mindspore import Parameter

from mf_config.problems import UserError
from mf_models.kernels import Kernels
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.network_part import keep_part
from mf_models.networks import parameters
from mf_parallel.axes import AxisCommunicators
from mf_parallel.context import divide_rows
from mf_parallel.expert_parallel import divide_experts
from mf_parallel.gradient_shares import GradientShares
from mf_parallel.gradients import PiecewiseNorm, TokenSums
from mf_parallel.optimizer_sharding import AXIS
from mf_parallel.pieces import Pieces, Reader
from mf_parallel.plan import TOKEN_AXES, WEIGHT_AXES
from mf_parallel.rules import Role
from mf_parallel.stages import Part
from mf_parallel.tensor_parallel import divide_layers
from mf_parallel.vocabulary import VocabularyCrossEntropy, VocabularyLabelLogits
from mf_train.layout.plans import Plans
from mf_train.step.graphs import Reduction
from mf_train.step.sharded_update import ShardedUpdate
from mf_train.step.update import ParameterUpdate


class Division:
    """The network of a run on the mesh, seen from one process.

    Attributes:
        plan: the layout of all parameters.
        weights: what this process holds of them.
        slots: what it holds of each kind of optimizer state.
        parts: the parts of the network that this process computes: the whole, or the chunks of a pipeline stage.
        shapes: the whole shapes of all parameters by name.
    """

    def __init__(self, plans: Plans, axes: AxisCommunicators):
        """Takes how all is divided, and this process's place in the mesh."""
        self.plan = plan = plans.weights
        self.weights = Pieces(plan, axes)
        self.slots = Pieces(plans.optimizer, axes.on(plans.optimizer.mesh))
        self.parts = plan.split.parts(plan.stage(axes.rank))
        self.shapes = {name: parameter.layout.shape for name, parameter in plan.parameters.items()}
        self._plans = plans
        self._axes = axes
        self._optimizer_axes = axes.on(plans.optimizer.mesh)

    @property
    def keeps_whole(self) -> bool:
        """Whether every process has all of every parameter and of its optimizer state."""
        return self.weights.are_whole and self.slots.are_whole

    def divide(self, model: CausalLanguageModel, part: Part, read: Reader) -> dict[str, Parameter]:
        """Make a network work on this process's pieces of the weights of one part.

        Args:
            model: the whole network.
            part: one of `parts`.
            read: gives the first values of the weights.
        Returns:
            The parameters that the part uses, by name.
        """
        used = parameters(model)
        if len(self.parts) > 1 or not (part.is_first and part.is_last):
            keep_part(model, part)
            used = {name: used[name] for name in self.plan.held_by(part)}
        self.weights.fill(used, read)
        divide_layers(model, self.plan, self._axes, part)
        divide_experts(model, self.plan, self._axes)
        if model.model.alibi is not None:
            model.model.alibi.keep_heads(self._axes.position("tp"), self._axes.degree("tp"))
        if self._axes.degree("cp") > 1:
            divide_rows(model.model, self._plans.rows, self._plans.row_length, self._axes)
        return used

    def update(
        self, trained: Sequence[Parameter], update_of: Callable[[list[Parameter]], ParameterUpdate]
    ) -> ParameterUpdate | ShardedUpdate:
        """The optimizer of some parameters, which may share its state with other processes.

        Args:
            trained: the parameters.
            update_of: makes the optimizer of given parameters.
        Raises:
            UserError: the optimizer looks at whole parameters, and these are divided.
        """
        optimizer_parameters = self.slots.plan.parameters
        divided = [AXIS in optimizer_parameters[parameter.name].axes for parameter in trained]
        update: ParameterUpdate | ShardedUpdate
        if any(divided):
            ranks = self._optimizer_axes.along(AXIS)
            update = ShardedUpdate(trained, divided, ranks, update_of, self._plans.divides_gradients)
        else:
            update = update_of(list(trained))
        if update.needs_whole and not self.slots.are_whole:
            raise UserError(
                "optimizer: looks at whole parameters, and these are divided among processes. Allowed: data_parallel "
                "alone without enable_parallel_optimizer, or another optimizer."
            )
        return update

    def kernels(self, kernels: Kernels) -> Kernels:
        """The operations of a training step that see pieces of the vocabulary."""
        tables = [parameter for parameter in self.plan.parameters.values() if parameter.role is Role.VOCABULARY]
        head = tables[0].layout if self.plan.tied else tables[-1].layout
        if self._axes.degree("tp") == 1 or not head.divisions:
            return kernels
        ranks = self._axes.along("tp")
        rows = head.padded_shape[0] // ranks.size
        entropy = VocabularyCrossEntropy(ranks, rows, head.shape[0])
        return replace(kernels, cross_entropy=entropy, label_logits=VocabularyLabelLogits(ranks, rows))

    def reduction(self, update: ParameterUpdate | ShardedUpdate, kernels: Kernels) -> Reduction:
        """How the gradients of the optimizer's parameters come together.

        Args:
            update: the optimizer.
            kernels: the device's operations.
        """
        held, axes = (self.slots, self._optimizer_axes) if self._plans.divides_gradients else (self.weights, self._axes)
        plans = [held.plan.parameter(parameter.name, parameter.shape) for parameter in update.parameters]
        adders = [axes.among(held.plan.adders(plan, axes.rank)) for plan in plans]
        shapes = [tuple(parameter.shape) for parameter in update.parameters]
        share = None
        if self._plans.divides_gradients:
            share = GradientShares(shapes, [AXIS in plan.axes for plan in plans], axes.along(AXIS))
            shapes = [tuple(target.shape) for target in update.targets]
        holders = axes.along(*(axis for axis in WEIGHT_AXES if axis in axes.mesh.axes))
        norm = kernels.global_norm
        if holders.size > 1:
            norm = PiecewiseNorm([held.plan.copies(plan) for plan in plans], holders)
        # Only the last stage of a pipeline knows the loss.
        return Reduction(TokenSums(shapes, self._axes.along("pp", *TOKEN_AXES), adders), norm, share)

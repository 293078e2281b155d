"""Applies an optimizer to all trainable parameters of a model, in graph code."""

from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mf_parallel.tensor_tuples import each, picked
from mf_train.optimizer import UpdateRule
from mf_train.step.masters import MASTER, has_master, master_of, renewed
from mf_train.step.rate_kinds import RateKinds, same_rate
from mf_train.step.state_tensors import state_tensor


class ParameterUpdate(nn.Cell):
    """One optimizer update of every parameter.

    Matrices are decayed, vectors (norm weights, biases) are not. Source: MindFormers 1.3,
    trainer/optimizer_grouped_parameters.py. A parameter of 16 bits is updated in float32, see `mf_train.step.masters`.

    Attributes:
        targets: what the optimizer's formula changes, all float32: the parameters, or their masters.
        rate_kinds: the learning rates of the parameters, each once; see `mf_train.step.rate_kinds`.
        slots: name of each slot to its tensors, by the names of the parameters that have one.
        needs_whole: see `mf_train.optimizer.UpdateRule`.
    """

    def __init__(
        self, parameters: list[Parameter], rule: UpdateRule, weight_decay: float, rate_of: RateKinds = same_rate
    ):
        """Takes the trainable parameters, an optimizer's formula, the decay of the matrices, and who has which rate."""
        super().__init__(auto_prefix=False)
        kinds = [rate_of(parameter.name) for parameter in parameters]
        self.rate_kinds = tuple(dict.fromkeys(kinds))
        self.number_of_kinds = len(self.rate_kinds)
        self.kinds = tuple(map(self.rate_kinds.index, kinds))
        self.parameters = ParameterTuple(parameters)
        self.is_rounded = tuple(has_master(parameter) for parameter in parameters)
        self.targets = ParameterTuple([master_of(one) if has_master(one) else one for one in parameters])
        self.slots: dict[str, dict[str, Parameter]] = {}
        kept: list[list[Parameter]] = []
        for parameter in parameters:
            slots = rule.slots(tuple(parameter.shape))
            kept.append([state_tensor(parameter, slot.name, slot.shape, slot.first_value) for slot in slots])
            for slot, state in zip(slots, kept[-1], strict=True):
                self.slots.setdefault(slot.name, {})[parameter.name] = state
        masters = {one.name: target for one, target in zip(parameters, self.targets, strict=True) if has_master(one)}
        if masters:
            self.slots[MASTER] = masters
        # One flat tuple, because MindSpore 2.10 does not count the parameters of nested ones among the cell's own.
        self.states, self.groups = _columns(kept)
        changed = [position for positions, _ in self.groups for position in positions]
        self.order = tuple(changed.index(position) for position in range(len(parameters)))
        self.needs_whole = rule.needs_whole
        self.rates = rule.rates
        self.apply = rule.apply
        self.decays = tuple(weight_decay if len(parameter.shape) > 1 else 0.0 for parameter in parameters)

    def construct(self, gradients: tuple[Tensor, ...], update: Tensor, learning_rate: Tensor) -> tuple[Tensor, ...]:
        """Change every parameter and its slots in place.

        Args:
            gradients: one a parameter, shaped like it.
            update: scalar float32, number of this update, 1 for the first.
            learning_rate: float32, scalar, or with several `rate_kinds` one of each.
        Returns:
            Tensors that depend on the changes: make the step's output depend on them.
        """
        rates = (self.rates(update, learning_rate),) if self.number_of_kinds == 1 else ()
        if self.number_of_kinds > 1:
            for kind in range(self.number_of_kinds):
                rates = (*rates, self.rates(update, learning_rate[kind]))
        done: tuple[Tensor, ...] = ()
        for positions, starts in self.groups:
            columns: tuple[tuple[Parameter, ...], ...] = ()
            for start in starts:
                columns = (*columns, self.states[start : start + len(positions)])
            done = done + each(
                ops.partial(self.change, rates),
                picked(gradients, positions),
                picked(self.parameters, positions),
                picked(self.targets, positions),
                picked(self.kinds, positions),
                picked(self.decays, positions),
                picked(self.is_rounded, positions),
                *columns,
            )
        return picked(done, self.order)

    def change(
        self,
        rates: tuple[Tensor, ...],
        gradient: Tensor,
        parameter: Parameter,
        target: Parameter,
        kind: int,
        decay: float,
        is_rounded: bool,
        *slots: Parameter,
    ) -> Tensor:
        """Change one parameter; the result depends on it."""
        if is_rounded:
            gradient = ops.depend(gradient, ops.assign(target, renewed(target, parameter)))
        changed: Tensor = self.apply(target, slots, gradient, rates[kind], decay)
        if is_rounded:
            changed = ops.assign(parameter, ops.depend(target, changed).astype(parameter.dtype))
        return changed


_Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Positions of parameters with as many slots each, and where their first, second … slots begin in the flat tuple."""


def _columns(kept: list[list[Parameter]]) -> tuple[ParameterTuple, tuple[_Group, ...]]:
    """The slots of all parameters, so that those of a group that come first, second … lie side by side."""
    by_number: dict[int, list[int]] = {}
    for position, states in enumerate(kept):
        by_number.setdefault(len(states), []).append(position)
    flat: list[Parameter] = []
    groups = []
    for number, positions in by_number.items():
        starts = []
        for slot in range(number):
            starts.append(len(flat))
            flat += [kept[position][slot] for position in positions]
        groups.append((tuple(positions), tuple(starts)))
    return ParameterTuple(flat), tuple(groups)

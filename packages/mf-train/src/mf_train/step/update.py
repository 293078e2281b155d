"""Applies an optimizer to all trainable parameters of a model, in graph code."""

from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

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
        states: list[Parameter] = []
        places: list[tuple[int, ...]] = []
        for parameter in parameters:
            slots = rule.slots(tuple(parameter.shape))
            places.append(tuple(range(len(states), len(states) + len(slots))))
            for slot in slots:
                state = state_tensor(parameter, slot.name, slot.shape, slot.first_value)
                self.slots.setdefault(slot.name, {})[parameter.name] = state
                states.append(state)
        masters = {one.name: target for one, target in zip(parameters, self.targets, strict=True) if has_master(one)}
        if masters:
            self.slots[MASTER] = masters
        # One flat tuple, because MindSpore 2.10 does not count the parameters of nested ones among the cell's own.
        self.states = ParameterTuple(states)
        self.places = tuple(places)
        self.needs_whole = rule.needs_whole
        self.rates = rule.rates
        self.apply = rule.apply
        self.decays = tuple(weight_decay if len(parameter.shape) > 1 else 0.0 for parameter in parameters)
        self.indices = tuple(range(len(parameters)))

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
        for index in self.indices:
            slots: tuple[Parameter, ...] = ()
            for place in self.places[index]:
                slots = (*slots, self.states[place])
            parameter, target, gradient = self.parameters[index], self.targets[index], gradients[index]
            if self.is_rounded[index]:
                gradient = ops.depend(gradient, ops.assign(target, renewed(target, parameter)))
            changed = self.apply(target, slots, gradient, rates[self.kinds[index]], self.decays[index])
            if self.is_rounded[index]:
                changed = ops.assign(parameter, ops.depend(target, changed).astype(parameter.dtype))
            done = (*done, changed)
        return done

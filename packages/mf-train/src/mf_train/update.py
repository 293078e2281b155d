"""Applies an optimizer to all trainable parameters of a model, in graph code."""

import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn

from mf_train.optimizer import UpdateRule


class ParameterUpdate(nn.Cell):
    """One optimizer update of every parameter.

    Matrices are decayed, vectors (norm weights, biases) are not. Source: MindFormers 1.3,
    trainer/optimizer_grouped_parameters.py.

    Attributes:
        slots: name of each slot to its tensors, by the names of the parameters that have one.
        needs_whole: see `mf_train.optimizer.UpdateRule`.
    """

    def __init__(self, parameters: list[Parameter], rule: UpdateRule, weight_decay: float):
        """Takes the trainable parameters, an optimizer's formula and the decay of the matrices."""
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.slots: dict[str, dict[str, Parameter]] = {}
        states: list[Parameter] = []
        places: list[tuple[int, ...]] = []
        for parameter in parameters:
            slots = rule.slots(tuple(parameter.shape))
            places.append(tuple(range(len(states), len(states) + len(slots))))
            for slot in slots:
                values = Tensor(np.full(slot.shape, slot.first_value, np.float32))
                state = Parameter(values, name=f"{slot.name}.{parameter.name}")
                self.slots.setdefault(slot.name, {})[parameter.name] = state
                states.append(state)
        # One flat tuple, because MindSpore 2.10 does not count the parameters of nested ones among the cell's own.
        self.states = ParameterTuple(states)
        self.places = tuple(places)
        self.needs_whole = rule.needs_whole
        self.rates = rule.rates
        self.apply = rule.apply
        self.decays = tuple(weight_decay if len(parameter.shape) > 1 else 0.0 for parameter in parameters)
        self.indices = tuple(range(len(parameters)))

    @property
    def targets(self) -> ParameterTuple:
        """What is changed: here the parameters themselves."""
        return self.parameters

    def construct(self, gradients: tuple[Tensor, ...], update: Tensor, learning_rate: Tensor) -> tuple[Tensor, ...]:
        """Change every parameter and its slots in place.

        Args:
            gradients: one a parameter, shaped like it.
            update: scalar float32, number of this update, 1 for the first.
            learning_rate: scalar float32.
        Returns:
            Tensors that depend on the changes: make the step's output depend on them.
        """
        rates = self.rates(update, learning_rate)
        done: tuple[Tensor, ...] = ()
        for index in self.indices:
            slots: tuple[Parameter, ...] = ()
            for place in self.places[index]:
                slots = (*slots, self.states[place])
            parameter = self.parameters[index]
            done = (*done, self.apply(parameter, slots, gradients[index], rates, self.decays[index]))
        return done

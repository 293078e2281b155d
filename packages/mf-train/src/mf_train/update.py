"""Applies an optimizer to all trainable parameters of a model, in graph code."""

from mindspore import Parameter, ParameterTuple, Tensor, nn

from mf_train.optimizer import UpdateRule


class ParameterUpdate(nn.Cell):
    """One optimizer update of every parameter.

    Matrices are decayed, vectors (norm weights, biases) are not. Source: MindFormers 1.3,
    trainer/optimizer_grouped_parameters.py.
    """

    def __init__(self, parameters: list[Parameter], rule: UpdateRule, weight_decay: float):
        """Takes the trainable parameters, an optimizer's formula and the decay of the matrices."""
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.slot_names = rule.slots
        # One flat tuple, because MindSpore 2.10 does not count the parameters of nested ones among the cell's own.
        self.states = ParameterTuple(
            [state for name in rule.slots for state in self.parameters.clone(prefix=name, init="zeros")]
        )
        self.rates = rule.rates
        self.apply = rule.apply
        self.decays = tuple(weight_decay if len(parameter.shape) > 1 else 0.0 for parameter in parameters)
        self.indices = tuple(range(len(parameters)))
        self.offsets = tuple(range(0, len(self.states), len(parameters)))

    @property
    def slots(self) -> dict[str, tuple[Parameter, ...]]:
        """Name of each slot to its tensors, one a parameter."""
        count = len(self.parameters)
        return {
            name: tuple(self.states[offset : offset + count])
            for name, offset in zip(self.slot_names, self.offsets, strict=True)
        }

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
            for offset in self.offsets:
                slots = (*slots, self.states[offset + index])
            parameter = self.parameters[index]
            done = (*done, self.apply(parameter, slots, gradients[index], rates, self.decays[index]))
        return done

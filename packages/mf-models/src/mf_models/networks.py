"""From a configuration to a cell with zero weights."""

from collections.abc import Iterator

import mindspore as ms
from mindspore import Parameter, nn

from mf_config.problems import ConfigError, Location, Problem
from mf_config.schema import declarations, tag_of
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.dropout import DROPOUT_KEY
from mf_models.layers.linear import ADAPTER
from mf_models.layers.typed import set_number_types
from mf_models.model_config import ModelConfig
from mf_models.registry import family_of

_FLOAT32_DEVICES = ("CPU",)
"""Devices that keep weights and compute in float32 whatever is asked for.

MindSpore's CPU has no operators for bfloat16. It has most for float16, but there products take 1.3 times as long as in
float32 and a softmax nine times, and the operators in C++ are for float32.
"""


def build(config: ModelConfig) -> CausalLanguageModel:
    """Make the cell of a configuration for the current device.

    Its matrices are zeros and its norms ones: `mf_models.initializers.initialize` or `mf_models.weights.assign`
    fills it.

    Args:
        config: a family's configuration, such as `LlamaConfig`.

    Returns:
        A cell `model(input_ids_BT) -> logits_BTV`, with `hidden` and `head` apart.

    Raises:
        ConfigError: the sizes don't fit together, or a key asks for what is not built yet.
        UserError: the family has no network yet.
    """
    found = [*config.problems(), *_not_built(config)]
    if found:
        place = Location(type(config).__name__, 0)
        raise ConfigError([Problem(place, name, what, allowed) for name, what, allowed in found])
    network = family_of(config).network(config.architectures[0])(config)
    if not has_float32_only():
        set_number_types(network, config.number_types())
    return network


def has_float32_only() -> bool:
    """Whether the current device keeps weights and computes in float32 whatever is asked for."""
    return ms.get_context("device_target") in _FLOAT32_DEVICES


def _not_built(config: ModelConfig) -> Iterator[tuple[str, str, str]]:
    """The values that a network can't be built for: a program may set them without a run file, which would be refused.

    Keys that only some run modes read, those of generation, don't concern the network.
    """
    for name, declared in declarations(type(config)).items():
        value, key = getattr(config, name), declared.key
        tag = tag_of(type(value))
        reason = tag.pending if tag else key.pending
        if reason and not key.modes and value not in (declared.default, *key.runs):
            yield name, f"{tag.names[0] if tag else repr(value)} can't be run yet: {reason}", f"{declared.default}"


def parameters(cell: nn.Cell) -> dict[str, Parameter]:
    """The weights of a family's cell by name, trained or frozen, in the order of its layers.

    What was put beside its layers from outside is not among them (see `mf_models.layers.linear`), nor are caches and
    the key of the dropout.
    """
    return {
        parameter.name: parameter
        for parameter in cell.get_parameters()
        if parameter.name != DROPOUT_KEY and ADAPTER not in parameter.name.split(".")
    }

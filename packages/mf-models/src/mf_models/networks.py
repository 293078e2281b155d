"""From a configuration to a cell with zero weights."""

from mindspore import Parameter, nn

from mf_config.problems import ConfigError, Location, Problem
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.model_config import ModelConfig
from mf_models.registry import family_of


def build(config: ModelConfig) -> CausalLanguageModel:
    """Make the cell of a configuration for the current device.

    Its matrices are zeros and its norms ones: `mf_models.initializers.initialize` or `mf_models.weights.assign`
    fills it.

    Args:
        config: a family's configuration, such as `LlamaConfig`.

    Returns:
        A cell `model(input_ids_BT) -> logits_BTV`, with `hidden` and `head` apart.

    Raises:
        ConfigError: the sizes don't fit together.
    """
    found = list(config.problems())
    if found:
        place = Location(type(config).__name__, 0)
        raise ConfigError([Problem(place, name, what, allowed) for name, what, allowed in found])
    return family_of(config).network(config.architectures[0])(config)


def parameters(cell: nn.Cell) -> dict[str, Parameter]:
    """The weights of a cell by name, in the order of its layers; caches are not among them."""
    return {parameter.name: parameter for parameter in cell.trainable_params()}

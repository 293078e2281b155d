"""How much of what its devices could compute a run does."""

from mf_config import RunConfig
from mf_parallel.planner.card import DeviceCard, device_card
from mf_parallel.planner.estimate import model_flops
from mf_train.planning.layout_of_run import back_end_of, layout_of

_CARDS = {"CPU": "CPU", "Ascend": "Ascend910B"}


def card_of(config: RunConfig) -> DeviceCard:
    """What a run's device can do, where nobody names another one."""
    return device_card(_CARDS[config.context.device_target])


class Utilization:
    """The model FLOPs utilization of a run: what its network needs at least, of what its devices could do at most.

    Source: Chowdhery et al. 2022, PaLM, appendix B; see `mf_parallel.planner.estimate.model_flops`.
    """

    def __init__(self, config: RunConfig, processes: int):
        """Counts what a token of the run takes.

        Args:
            config: the run configuration.
            processes: of the run, each with a device of its own.
        """
        card, model_config = card_of(config), config.model.model_config
        self._peak = processes * card.flops(card.type_for(model_config.compute_dtype), 1.0)
        # Frozen weights have no gradients, which the count of a whole network would have in it.
        adapts = getattr(model_config, "pet_config", None) is not None
        self._of_token = None if adapts else model_flops(layout_of(config, processes, back_end_of(config, processes)))

    def at(self, tokens_per_second: float) -> float | None:
        """The utilization at a speed of all processes together; None where adapters are trained."""
        return None if self._of_token is None else tokens_per_second * self._of_token / self._peak

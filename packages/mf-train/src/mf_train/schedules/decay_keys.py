"""What MindSpore's schedules of a steady decay share."""

import math
from dataclasses import dataclass

from mf_config.schema import key


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayKeys:
    """A first rate, how fast it falls, and whether it does so in steps."""

    learning_rate: float = key("The rate of the first update.", above=0)
    decay_rate: float = key("How fast the rate falls.", above=0)
    decay_steps: int = key("Updates that make one step of the decay.", minimum=1, unit="steps")
    is_stair: bool = key("Change the rate only every decay_steps updates.", False)

    def steps_of_decay(self, update: int) -> float:
        """How many times decay_steps have passed, in whole numbers where `is_stair`."""
        passed = update / self.decay_steps
        return math.floor(passed) if self.is_stair else passed

"""AdamW that averages weights on its way; MindFormers has it since 1.7."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import component, key

_PENDING = "weights are not averaged"


@component("optimizer", "PmaAdamW", pending=_PENDING)
@dataclass(frozen=True, slots=True, kw_only=True)
class PmaAdamW:
    """AdamW with averages of the weights of former updates.

    Source: MindFormers 1.7, core/optim/pma_adamw.py.
    """

    learning_rate: float | None = key("Constant rate; used where there is no lr_schedule.", None, above=0)
    betas: tuple[float, ...] = key("Decay of the first and of the second moment.", (0.9, 0.999), minimum=0)
    eps: float = key("Added to the root of the corrected second moment.", 1e-8, above=0)
    weight_decay: float = key("Decoupled decay of matrices, relative to the rate.", 0.0, minimum=0)
    fused_num: int = key("Copies of the weights in one average.", 10, minimum=1)
    interleave_step: int = key("Updates from one copy to the next.", 1000, minimum=1, unit="steps")
    fused_algo: Literal["ema", "sma"] = key("An exponential or a simple average.", "ema")
    ema_alpha: float = key("Weight of the newest copy in an exponential average.", 0.2, above=0, maximum=1)
    swap: bool = key("Keep the moments in the host's memory.", False)


@component("optimizer", "FusedPmaAdamW", pending=_PENDING)
@dataclass(frozen=True, slots=True, kw_only=True)
class FusedPmaAdamW(PmaAdamW):
    """The same as one fused operation."""

"""Adam with weight decay as the Qwen, Yi and Llama 3 examples of MindFormers define it."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.adam_keys import AdamKeys


@component("optimizer", "AdamWeightDecayX", pending="its update is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdamWeightDecayX(AdamKeys):
    """Adam with bias correction in the rate, so that eps weighs otherwise than in AdamW, and with decoupled decay.

    Source: MindFormers 1.3, research/qwen/optim.py.
    """

    eps: float = key("Added to the root of the second moment before its bias is corrected.", 1e-8, above=0)

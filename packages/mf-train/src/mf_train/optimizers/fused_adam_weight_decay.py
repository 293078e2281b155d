"""The formula of FP32StateAdamWeightDecay as one fused operation."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.adam_keys import AdamKeys


@component(
    "optimizer", "FusedAdamWeightDecay", "fused_adamw", pending="its update without bias correction is not built"
)
@dataclass(frozen=True, slots=True, kw_only=True)
class FusedAdamWeightDecay(AdamKeys):
    """Adam with weight decay whose moments are not bias-corrected.

    Source: MindFormers 1.3, core/optim/optim.py.
    """

    offload: bool = key("Keep the moments in the host's memory and update there.", False)

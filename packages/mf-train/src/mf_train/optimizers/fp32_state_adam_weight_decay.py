"""Adam with weight decay and moments in float32, without bias correction."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.optimizers.adam_keys import AdamKeys


@component(
    "optimizer", "FP32StateAdamWeightDecay", "fp32_adamw", pending="its update without bias correction is not built"
)
@dataclass(frozen=True, slots=True, kw_only=True)
class FP32StateAdamWeightDecay(AdamKeys):
    """Adam with weight decay whose moments are not bias-corrected; its first update is larger or smaller than AdamW's.

    Source: MindFormers 1.3, core/optim/optim.py.
    """

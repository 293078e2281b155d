"""Adam with weight decay and moments in float32, without bias correction."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.optimizers.uncorrected_adam import UncorrectedAdam


@component("optimizer", "FP32StateAdamWeightDecay", "fp32_adamw")
@dataclass(frozen=True, slots=True, kw_only=True)
class FP32StateAdamWeightDecay(UncorrectedAdam):
    """Adam with weight decay whose moments are not bias-corrected; its first update is larger or smaller than AdamW's.

    Source: MindFormers 1.3, core/optim/optim.py.
    """

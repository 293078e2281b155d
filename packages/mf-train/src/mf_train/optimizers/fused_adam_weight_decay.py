"""The formula of FP32StateAdamWeightDecay as one fused operation."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.uncorrected_adam import UncorrectedAdam


@component("optimizer", "FusedAdamWeightDecay", "fused_adamw")
@dataclass(frozen=True, slots=True, kw_only=True)
class FusedAdamWeightDecay(UncorrectedAdam):
    """Adam with weight decay whose moments are not bias-corrected.

    Source: MindFormers 1.3, core/optim/optim.py.
    """

    offload: bool = key(
        "Keep the moments in the host's memory and update there.",
        False,
        inert="the host's memory is the device's own on CPU",
    )

"""MindSpore's Adam with weight decay: no bias correction, moments in the dtype of the parameter."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.optimizers.uncorrected_adam import UncorrectedAdam


# MindFormers gives the short name adamw to this class, not to AdamW.
@component("optimizer", "AdamWeightDecay", "adamw")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdamWeightDecay(UncorrectedAdam):
    """Adam with weight decay whose moments are not bias-corrected and have the parameter's dtype.

    Source: mindspore.nn.AdamWeightDecay.
    """

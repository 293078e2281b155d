"""MindSpore's Adam with weight decay: no bias correction, moments in the dtype of the parameter."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_train.optimizers.adam_keys import AdamKeys


# MindFormers gives the short name adamw to this class, not to AdamW.
@component("optimizer", "AdamWeightDecay", "adamw", pending="its update without bias correction is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdamWeightDecay(AdamKeys):
    """Adam with weight decay whose moments are not bias-corrected and have the parameter's dtype.

    Source: mindspore.nn.AdamWeightDecay.
    """

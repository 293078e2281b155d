"""A fused update on the host that also clips the gradients."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.adam_keys import AdamKeys


@component("optimizer", "FusedCastAdamWeightDecay", pending="its update without bias correction is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class FusedCastAdamWeightDecay(AdamKeys):
    """Adam with weight decay on the host, without bias correction, that takes the gradients' global norm.

    Source: MindFormers 1.3, core/optim/optim.py.
    """

    clip_norm: float = key("The largest global norm of the gradients.", 1.0, above=0)

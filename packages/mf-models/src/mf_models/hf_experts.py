"""What the config.json files of all models with experts have in common, there and back."""

from collections.abc import Sequence
from typing import Any

from mf_config.sections.moe import MoeSection
from mf_models.config_keys.dropless import dropless
from mf_models.hf_config import HfConfig


def read_experts(hf: HfConfig, count_names: Sequence[str], *, aux_factor: float, **sizes: Any) -> MoeSection:
    """Take the keys of the experts out of a config.json.

    Args:
        hf: the file.
        count_names: the names that the number of experts has in files of the family, the usual one last.
        aux_factor: the family's default of `router_aux_loss_coef`.
        **sizes: values of the section that the family has under names of its own.

    Returns:
        The section, without a limit of tokens for an expert.
    """
    *others, usual = count_names
    counts = [hf.optional_count(name) for name in others]
    chosen = hf.count("num_experts_per_tok")
    # Whether a program returns what the router says changes no number that mf computes.
    hf.ignore(("output_router_logits",))
    return dropless(
        expert_num=next((count for count in counts if count), None) or hf.count(usual),
        num_experts_chosen=chosen,
        # Hugging Face counts a token once for each of its experts, mf once.
        aux_loss_factor=chosen * hf.share("router_aux_loss_coef", aux_factor),
        **sizes,
    )


def experts_to_hf(section: MoeSection, count_name: str) -> dict[str, Any]:
    """The keys of the experts in a config.json.

    Args:
        section: the experts.
        count_name: the family's name of their number.
    """
    return {
        count_name: section.expert_num,
        "num_experts_per_tok": section.num_experts_chosen,
        "output_router_logits": False,
        "router_aux_loss_coef": section.aux_loss_factor / section.num_experts_chosen,
    }

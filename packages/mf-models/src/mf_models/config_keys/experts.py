"""Experts in the place of feed-forwards: the section `moe_config`, and which blocks have them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from mf_config.schema import key
from mf_config.sections.moe import MoeSection
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.dropless import dropless
from mf_models.config_keys.numerics import NumberTypes

_WHERE = "moe_config"


@dataclass(frozen=True, kw_only=True)
class ExpertKeys(DecoderKeys):
    """A decoder whose blocks have experts."""

    __slots__ = ()

    moe_config: MoeSection = key(
        "Experts and how tokens choose; a section moe_config of the whole file with more than one expert takes its "
        "place.",
        dropless(expert_num=8, num_experts_chosen=2),
    )

    def with_experts(self, section: MoeSection) -> Self:
        """The same model with the experts that a section describes."""
        return replace(self, moe_config=section)

    def number_types(self) -> NumberTypes:
        """See `NormTypeKeys.number_types`."""
        return replace(DecoderKeys.number_types(self), router=self.moe_config.router_dense_type)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        yield from DecoderKeys.problems(self)
        yield from self.expert_problems()

    def expert_problems(self) -> Iterator[tuple[str, str, str]]:
        """What is wrong with the experts; families add what they can't do."""
        moe = self.moe_config
        if not 1 <= moe.num_experts_chosen <= moe.expert_num:
            what = f"{moe.num_experts_chosen} of {moe.expert_num} experts can't be chosen"
            yield f"{_WHERE}.num_experts_chosen", what, f"from 1 to {moe.expert_num}"
        if len(moe.aux_loss_types or ()) != len(moe.aux_loss_factors or ()):
            what = f"{len(moe.aux_loss_factors or ())} factors for {len(moe.aux_loss_types or ())} aux_loss_types"
            yield f"{_WHERE}.aux_loss_factors", what, "one number for each type"
        if "comm" in (moe.aux_loss_types or ()):
            yield f"{_WHERE}.aux_loss_types", "a balance of communication is not computed yet", "expert, device"
        if moe.expert_group_size and moe.expert_num % moe.expert_group_size:
            what = f"{moe.expert_group_size} groups can't divide {moe.expert_num} experts"
            yield f"{_WHERE}.expert_group_size", what, f"a divisor of {moe.expert_num}"

    def only(self, **allowed: object) -> Iterator[tuple[str, str, str]]:
        """A problem for each key of the section that has another value than the family can do."""
        for name, value in allowed.items():
            found = getattr(self.moe_config, name)
            if found != value:
                yield f"{_WHERE}.{name}", f"{found} is not what {type(self).__name__} computes", str(value)


@dataclass(frozen=True, kw_only=True)
class SparseLayerKeys(ExpertKeys):
    """Which blocks of Qwen's models have experts."""

    __slots__ = ()

    mlp_only_layers: tuple[int, ...] = key("Blocks without experts, counted from 0.", (), minimum=0)
    decoder_sparse_step: int = key("Every how many blocks there are experts.", 1, minimum=1, unit="blocks")

    @property
    def dense_layers(self) -> tuple[int, ...]:
        """The blocks with an ordinary feed-forward."""
        step = self.decoder_sparse_step
        return tuple(n for n in range(self.num_layers) if n in self.mlp_only_layers or (n + 1) % step)

    def sparse_layers_to_hf(self) -> dict[str, Any]:
        """The keys of a config.json that Qwen's models with experts have in common."""
        return {
            "decoder_sparse_step": self.decoder_sparse_step,
            "mlp_only_layers": list(self.mlp_only_layers),
            "moe_intermediate_size": self.moe_config.moe_intermediate_size,
            "norm_topk_prob": self.moe_config.norm_topk_prob,
        }

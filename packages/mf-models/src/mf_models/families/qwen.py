"""Qwen of the first generation (7B, 14B): the Llama block with biased query, key and value projections."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.model_config import NETWORK_NOT_BUILT

_NOT_DIVIDED = "the embedding is not divided"


@component("model", "QwenConfig", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class QwenConfig(DecoderKeys):
    """Qwen of the first generation."""

    architectures: ClassVar[tuple[str, ...]] = ("QwenForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    num_hidden_layers: int | None = key(
        "Another name of num_layers.", None, minimum=1, deprecated="since 1.3: write num_layers"
    )
    num_attention_heads: int | None = key(
        "Another name of num_heads.", None, minimum=1, deprecated="since 1.3: write num_heads"
    )
    embedding_parallel_optimizer: bool = key(
        "Let the optimizer state of the embedding be divided.", True, inert="optimizer states are not divided"
    )
    enable_slice_dp: bool = key("Divide the embedding over data-parallel processes.", True, inert=_NOT_DIVIDED)
    enable_emb_opt: bool = key("A division of the embedding that sends less.", False, inert=_NOT_DIVIDED)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        yield from DecoderKeys.problems(self)
        for older, newer in (("num_hidden_layers", "num_layers"), ("num_attention_heads", "num_heads")):
            asked, counts = getattr(self, older), getattr(self, newer)
            if asked is not None and asked != counts:
                yield older, f"{asked} differs from {newer} {counts}, which counts", f"{newer} alone"

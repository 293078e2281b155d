"""How a network is computed, where the result is the same: operators, cache pages, pipeline stages."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import PREDICT_MODES, key

NO_CHOICE = "the fastest way is chosen for the device; there is no option"

_ONE_TOKEN = "tokens are decoded one at a time; the text is the same"
_LEAVE_OUT = "since 1.3: leave it out"
_OBSOLETE = "MindFormers 1.3 does not read it either"


@dataclass(frozen=True, kw_only=True)
class OperatorKeys:
    """Choice of operators and shapes."""

    __slots__ = ()

    batch_size: int = key(
        "Sequences at once in prediction.", 1, minimum=1, inert="runner_config or the request gives the batch"
    )
    is_dynamic: bool = key("Dynamic shapes in prediction.", False, inert="shapes are static, in few sizes")
    use_past: bool = key("Keep keys and values in generation.", False, inert="generation always keeps them")
    use_flash_attention: bool = key("Attention in one fused operator.", False, inert=NO_CHOICE)
    use_prompt_flash_attention: bool = key(
        "Fused attention for prompts.", False, inert=NO_CHOICE, deprecated=_LEAVE_OUT
    )


@dataclass(frozen=True, kw_only=True)
class CacheKeys:
    """Pages of the key/value cache."""

    __slots__ = ()

    block_size: int = key("Tokens of a cache page.", 16, minimum=1, unit="tokens", modes=PREDICT_MODES)
    num_blocks: int = key(
        "Cache pages, which all requests share: times block_size, the most tokens at once.",
        512,
        minimum=1,
        modes=PREDICT_MODES,
    )


@dataclass(frozen=True, kw_only=True)
class PipelineKeys:
    """How the blocks are spread over pipeline stages."""

    __slots__ = ()

    offset: int | tuple[tuple[int, ...], ...] | tuple[int, ...] = key(
        "Blocks that each pipeline stage has more than an even share: one number a stage, or a list of these for each "
        "interleaved chunk; with 0 the first stages take what is left over.",
        0,
    )
    pp_interleave_num: int = key("Chunks of blocks that each pipeline stage has.", 1, minimum=1)


@dataclass(frozen=True, kw_only=True)
class RecomputeKeys:
    """What families older than the section recompute_config have in its place."""

    __slots__ = ()

    no_recompute_layers: tuple[int, ...] | None = key(
        "Blocks whose activations are kept.", None, minimum=0, inert="recompute_config says what is recomputed"
    )


@dataclass(frozen=True, kw_only=True)
class DecoderExecutionKeys(PipelineKeys, CacheKeys, OperatorKeys):
    """All of these and what decoders of the Llama kind have besides."""

    __slots__ = ()

    use_attn_mask_compression: bool = key("Compressed mask of flash attention.", False, inert=NO_CHOICE)
    use_ring_attention: bool = key(
        "Attention around a ring of processes.", False, inert="context_parallel_algo says how divided rows meet"
    )
    use_rope_slice: bool = key("Rotate by slices instead of a matrix product.", False, inert=NO_CHOICE)
    fused_rms_norm: bool = key("Norm in one fused operator.", True, inert=NO_CHOICE)
    qkv_concat: bool = key(
        "One stored matrix for query, key and value, and one for the two inner projections.",
        False,
        inert="the matrices are stored apart; the results are the same",
    )
    fine_grain_interleave: int = key(
        "Parts of a batch that overlap communication.", 1, minimum=1, inert="there is no tensor-parallel execution"
    )
    parallel_optimizer: bool = key(
        "Let the optimizer state of the embedding be divided.", False, inert="optimizer states are not divided"
    )
    llm_backend: str | None = key("Name of another back end.", None, inert="there is one back end")
    parallel_decoding_params: dict[str, Any] | None = key(
        "Settings of decoding several tokens at once.", None, inert=_ONE_TOKEN
    )
    use_past_shard: bool | None = key("Obsolete.", None, inert=_OBSOLETE, deprecated=_LEAVE_OUT)
    compute_in_2d: bool | None = key("Obsolete.", None, inert=_OBSOLETE, deprecated=_LEAVE_OUT)
    pretrain_seqlen: int | None = key(
        "Obsolete.", None, inert=_OBSOLETE, deprecated="since 1.3: write extend_method and scaling_factor"
    )
    use_kvcache_op: bool | None = key("Obsolete.", None, inert=_OBSOLETE, deprecated=_LEAVE_OUT)
    is_flexible_shape: bool | None = key("Obsolete.", None, inert=_OBSOLETE, deprecated=_LEAVE_OUT)
    is_sample_acceleration: bool | None = key("Obsolete.", None, inert=_OBSOLETE, deprecated=_LEAVE_OUT)

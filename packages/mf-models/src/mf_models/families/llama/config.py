"""Sizes and settings of the Llama family, under the key names of MindFormers; imports no MindSpore."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from mf_config.schema import PREDICT_MODES, component, key
from mf_models.hf_config import HfConfig

_FLOAT_DTYPES = ("float32", "float16", "bfloat16")
_FLOAT32_ALWAYS = "this part is always computed in float32"
_NO_PAGES = "the cache is not paged: it holds the tokens that a request needs"
_NO_OPTION = "the fastest way is chosen for the device; there is no option"
_OTHER_FAMILY = "Llama models never read it"


@component("model", "LlamaConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaConfig:
    """Section `model.model_config` with `type: LlamaConfig`."""

    architectures: ClassVar[tuple[str, ...]] = ("LlamaForCausalLM",)
    hf_model_type: ClassVar[str] = "llama"

    seq_length: int = key("Tokens of a training sequence.", 2048, minimum=1)
    hidden_size: int = key("Width of the residual stream.", 4096, minimum=1)
    num_layers: int = key("Number of blocks.", 32, minimum=1)
    num_heads: int = key("Number of query heads.", 32, minimum=1)
    n_kv_heads: int | None = key("Number of key/value heads; num_heads where not given.", None, minimum=1)
    intermediate_size: int | None = key(
        "Inner width of the feed-forward; where not given, 8/3 hidden_size (times ffn_dim_multiplier) rounded up to a "
        "multiple of multiple_of.",
        None,
        minimum=1,
    )
    multiple_of: int = key("What the computed inner width is rounded up to.", 256, minimum=1)
    ffn_dim_multiplier: float | None = key("Factor of the computed inner width.", None, above=0)
    vocab_size: int = key("Rows of the embedding and of the head.", 32000, minimum=1)
    rms_norm_eps: float = key("Added to the mean square in each norm.", 1e-5, above=0)
    theta: float = key("Base of the rotary frequencies.", 10000.0, above=0)
    max_position_embedding: int | None = key("Most tokens of a sequence; seq_length where not given.", None, minimum=1)
    tie_word_embeddings: bool = key("Whether the head uses the embedding's weight.", False)
    initializer_range: float = key("Standard deviation of new matrices.", 0.02, minimum=0)

    bos_token_id: int = key("Token before a text.", 1, minimum=0)
    eos_token_id: int | tuple[int, ...] = key("Token, or list of tokens, that ends a text.", 2)
    pad_token_id: int = key("Token that fills short rows; it is never predicted.", 0)
    ignore_token_id: int = key("Label that takes no part in the loss.", -100)

    compute_dtype: str = key("Type of matrix products.", "float32", allowed=("float32",))
    param_init_type: str = key("Type of the weights.", "float32", allowed=("float32",))
    embedding_init_type: str | None = key(
        "Type of the embedding's weight.", None, allowed=_FLOAT_DTYPES, inert="it has the type param_init_type"
    )
    layernorm_compute_type: str = key("Type of the norms.", "float32", allowed=_FLOAT_DTYPES, inert=_FLOAT32_ALWAYS)
    softmax_compute_type: str = key("Type of the softmax.", "float32", allowed=_FLOAT_DTYPES, inert=_FLOAT32_ALWAYS)
    rotary_dtype: str = key("Type of the rotary angles.", "float32", allowed=_FLOAT_DTYPES, inert=_FLOAT32_ALWAYS)

    max_decode_length: int = key("Most tokens of prompt and answer together.", 1024, minimum=1, modes=PREDICT_MODES)
    do_sample: bool = key("Draw tokens at random instead of taking the likeliest.", True, modes=PREDICT_MODES)
    top_k: int = key("Draw among this many likeliest tokens; 0 for all.", 5, minimum=0, modes=PREDICT_MODES)
    top_p: float = key(
        "Draw among the likeliest tokens that together reach this probability.",
        1.0,
        above=0,
        maximum=1,
        modes=PREDICT_MODES,
    )
    temperature: float = key("Divides the logits before drawing.", 1.0, minimum=0, modes=PREDICT_MODES)
    repetition_penalty: float = key(
        "Divides positive logits of tokens already seen, multiplies negative ones; 1 for none.",
        1.0,
        above=0,
        modes=PREDICT_MODES,
    )

    batch_size: int = key(
        "Sequences at once in prediction.", 1, minimum=1, inert="runner_config or the request gives the batch"
    )
    use_past: bool = key("Keep keys and values in generation.", False, inert="generation always keeps them")
    use_flash_attention: bool = key("Attention in one fused operator.", False, inert=_NO_OPTION)
    use_attn_mask_compression: bool = key("Compressed mask of flash attention.", False, inert=_NO_OPTION)
    fused_rms_norm: bool = key("Norm in one fused operator.", True, inert=_NO_OPTION)
    is_dynamic: bool = key("Dynamic shapes in prediction.", False, inert="shapes are static, in few sizes")
    block_size: int = key("Tokens of a cache page.", 16, minimum=1, inert=_NO_PAGES)
    num_blocks: int = key("Cache pages.", 512, minimum=1, inert=_NO_PAGES)
    offset: int | tuple[int, ...] = key(
        "Blocks that a pipeline stage has more than the others.", 0, inert="there is one pipeline stage"
    )
    fine_grain_interleave: int = key(
        "Parts of a batch that overlap communication.", 1, minimum=1, inert="there is no tensor-parallel execution"
    )
    checkpoint_name_or_path: str = key(
        "Model name or weights to load.", "", inert="load_checkpoint names the weights, nothing is downloaded"
    )
    qkv_has_bias: bool = key("Bias in the query, key and value projections.", False, allowed=(False,))
    qkv_concat: bool = key("One stored matrix for query, key and value.", False, allowed=(False,))
    extend_method: str | None = key("Scaling of the rotary positions.", None, allowed=(None,))
    scaling_factor: float = key("Factor of the rotary scaling.", 1.0, allowed=(1.0,))
    emb_dropout_prob: float = key("Dropout after the embedding.", 0.0, allowed=(0.0,))
    rotary_pct: float = key("Share of a head that is rotated.", 1.0, allowed=(1.0,))
    rotary_emb_base: float | None = key("Qwen's name of the rotary base.", None, inert=f"{_OTHER_FAMILY}; write theta")
    kv_channels: int | None = key("Qwen's head width.", None, inert=f"{_OTHER_FAMILY}: it is hidden_size / num_heads")
    max_position_embeddings: int | None = key(
        "Hugging Face's name of max_position_embedding.", None, inert=f"{_OTHER_FAMILY}; write max_position_embedding"
    )
    use_past_shard: bool = key("Obsolete.", False, inert=_OTHER_FAMILY)
    compute_in_2d: bool = key("Obsolete.", False, inert=_OTHER_FAMILY)
    pretrain_seqlen: int | None = key("Obsolete.", None, inert=_OTHER_FAMILY)

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads, with the default filled in."""
        return self.n_kv_heads or self.num_heads

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.hidden_size // self.num_heads

    @property
    def inner_size(self) -> int:
        """Inner width of the feed-forward, given or computed.

        Source: Touvron et al. 2023, LLaMA, section 2.2 (2/3 of 4 hidden_size), and the rounding of its published code.
        """
        if self.intermediate_size is not None:
            return self.intermediate_size
        width = 4 * self.hidden_size
        if self.ffn_dim_multiplier is not None:
            # MindFormers adds 0.01 before it truncates, so the widths of its checkpoints depend on it.
            width = int((self.ffn_dim_multiplier + 0.01) * width)
        width = int(2 * width / 3)
        return -(-width // self.multiple_of) * self.multiple_of

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""
        return self.max_position_embedding or self.seq_length

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The tokens that end a text."""
        return self.eos_token_id if isinstance(self.eos_token_id, tuple) else (self.eos_token_id,)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        if self.hidden_size % self.num_heads:
            yield (
                "hidden_size",
                f"{self.hidden_size} is not divisible by num_heads {self.num_heads}",
                "a multiple of it",
            )
        elif self.head_dim % 2:
            yield "hidden_size", f"makes heads of odd width {self.head_dim}, which can't be rotated", "an even width"
        if self.num_heads % self.num_kv_heads:
            what = f"{self.num_kv_heads} does not divide num_heads {self.num_heads}"
            yield "n_kv_heads", what, "a divisor of num_heads"
        if self.max_positions < self.seq_length:
            what = f"{self.max_positions} is less than seq_length {self.seq_length}"
            yield "max_position_embedding", what, f"from {self.seq_length}"
        yield from self._tokens_outside_the_vocabulary()
        # Decoding refuses these by their keys; a program may make a configuration by itself.
        for name in ("compute_dtype", "param_init_type"):
            if getattr(self, name) != "float32":
                yield name, f"{getattr(self, name)} can't be computed with", "float32"

    def _tokens_outside_the_vocabulary(self) -> Iterator[tuple[str, str, str]]:
        special = [("bos_token_id", self.bos_token_id), ("pad_token_id", self.pad_token_id)]
        special += [("eos_token_id", token) for token in self.eos_token_ids]
        for name, token in special:
            if token >= self.vocab_size:
                yield name, f"{token} is not in a vocabulary of {self.vocab_size}", f"up to {self.vocab_size - 1}"

    @classmethod
    def from_hf(cls, data: dict[str, Any], where: str = "config.json") -> "LlamaConfig":
        """Read a Hugging Face configuration.

        The dtype in it says how the weights are stored, not how they are computed with, so it is not taken over.

        Args:
            data: content of config.json.
            where: the file's name in messages.

        Raises:
            ConfigError: keys that are missing, not known, or ask for what this family can't do.
        """
        hf = HfConfig(data, where)
        hf.require("model_type", (cls.hf_model_type,), absent="none")
        hf.require("hidden_act", ("silu",), absent="silu")
        for name in ("attention_bias", "mlp_bias", "rope_interleaved"):
            hf.require(name, (False,), absent=False)
        hf.require("attention_dropout", (0.0,), absent=0.0)
        hf.require("rope_scaling", (None,), absent=None)
        hidden_size, num_heads = hf.count("hidden_size"), hf.count("num_attention_heads")
        hf.require("head_dim", (None, hidden_size // num_heads), absent=None)
        positions = hf.count("max_position_embeddings")
        hf.ignore(_HF_IGNORED)
        config = cls(
            seq_length=positions,
            max_position_embedding=positions,
            hidden_size=hidden_size,
            num_layers=hf.count("num_hidden_layers"),
            num_heads=num_heads,
            n_kv_heads=hf.optional_count("num_key_value_heads"),
            intermediate_size=hf.count("intermediate_size"),
            vocab_size=hf.count("vocab_size"),
            rms_norm_eps=hf.number("rms_norm_eps", 1e-6),
            theta=hf.number("rope_theta", 10000.0),
            tie_word_embeddings=hf.flag("tie_word_embeddings", False),
            initializer_range=hf.number("initializer_range", 0.02),
            bos_token_id=hf.token("bos_token_id", 1),
            eos_token_id=hf.tokens("eos_token_id", 2),
            pad_token_id=hf.token("pad_token_id", 0),
        )
        hf.finish()
        hf.check(config.problems())
        return config

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        return {
            "architectures": list(self.architectures),
            "model_type": self.hf_model_type,
            "attention_bias": False,
            "bos_token_id": self.bos_token_id,
            "eos_token_id": self.eos_token_id if isinstance(self.eos_token_id, int) else list(self.eos_token_id),
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
            "intermediate_size": self.inner_size,
            "max_position_embeddings": self.max_positions,
            "mlp_bias": False,
            "num_attention_heads": self.num_heads,
            "num_hidden_layers": self.num_layers,
            "num_key_value_heads": self.num_kv_heads,
            "pad_token_id": self.pad_token_id,
            "rms_norm_eps": self.rms_norm_eps,
            "rope_scaling": None,
            "rope_theta": self.theta,
            "tie_word_embeddings": self.tie_word_embeddings,
            "torch_dtype": self.param_init_type,
            "vocab_size": self.vocab_size,
        }


_HF_IGNORED = (
    "architectures",
    "torch_dtype",
    "dtype",
    "use_cache",
    "pretraining_tp",
    "transformers_version",
    "transformers.js_config",
    "tokenizer_class",
    "unk_token_id",
    "is_llama_config",
    "_name_or_path",
)
"""Keys of published files that change no number of the model; pretraining_tp only cuts the same products in pieces."""

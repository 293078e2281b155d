"""Tensor names of GGUF files: Hugging Face on the left, llama.cpp on the right.

Source: the table of tensor names published with llama.cpp.
"""

from collections.abc import Iterable, Mapping

from mf_ckpt import KeyMap, Permute, Rename, Stack
from mf_ckpt.keymap.rows import Row
from mf_models.model_config import DecoderSizes

LAYER, BLOCK = "model.layers.{layer}", "blk.{layer}"

_BESIDE = {
    "self_attn.o_proj.weight": "attn_output.weight",
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
}
_GATED = {"gate_proj": "ffn_gate", "down_proj": "ffn_down", "up_proj": "ffn_up"}
_QKV = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v"}


def gated_rows() -> tuple[Row, ...]:
    """A gated feed-forward, each matrix stored apart."""
    return tuple(Rename(f"{LAYER}.mlp.{name}.weight", f"{BLOCK}.{other}.weight") for name, other in _GATED.items())


def expert_rows(stored: str, count: int, projections: Mapping[str, str] = _GATED) -> tuple[Row, ...]:
    """The router and the routed experts, which llama.cpp has as one tensor [experts, out, in] for each matrix.

    Args:
        stored: what the names of both begin with in Hugging Face files.
        count: routed experts of a block.
        projections: the names of an expert's matrices to llama.cpp's.
    """
    router = Rename(f"{stored}.gate.weight", f"{BLOCK}.ffn_gate_inp.weight")
    stacks = [
        Stack(f"{stored}.experts.{{expert}}.{name}.weight", f"{BLOCK}.{other}_exps.weight", "expert", count)
        for name, other in projections.items()
    ]
    return (router, *stacks)


def gguf_names(
    config: DecoderSizes,
    *,
    interleaved: bool,
    query_key_norm: bool = False,
    feed_forward: Iterable[Row] = gated_rows(),
) -> KeyMap:
    """The names of one model.

    Args:
        config: the family's configuration.
        interleaved: whether the file has queries and keys in interleaved pairs, as llama.cpp's architecture `llama`
            has them; Hugging Face has them in halves.
        query_key_norm: whether each head is normed.
        feed_forward: what stands in a block behind attention.
    """
    kinds = ("weight", "bias") if config.qkv_has_bias else ("weight",)
    rows: list[Row] = [Rename("model.embed_tokens.weight", "token_embd.weight")]
    rows += [Rename(f"{LAYER}.{stored}", f"{BLOCK}.{other}") for stored, other in _BESIDE.items()]
    rows += feed_forward
    rows += _projections(config.head_dim, kinds, interleaved)
    if query_key_norm:
        rows += [
            Rename(f"{LAYER}.self_attn.{part}_norm.weight", f"{BLOCK}.attn_{part}_norm.weight") for part in ("q", "k")
        ]
    rows.append(Rename("model.norm.weight", "output_norm.weight"))
    return KeyMap(rows if config.tie_word_embeddings else [*rows, Rename("lm_head.weight", "output.weight")])


def _projections(head_dim: int, kinds: Iterable[str], interleaved: bool) -> list[Row]:
    rows: list[Row] = []
    for stored, other in _QKV.items():
        for kind in kinds:
            names = f"{LAYER}.{stored}.{kind}", f"{BLOCK}.{other}.{kind}"
            turned = interleaved and other != "attn_v"
            rows.append(Permute(*names, head_dim, to_halves=False) if turned else Rename(*names))
    return rows

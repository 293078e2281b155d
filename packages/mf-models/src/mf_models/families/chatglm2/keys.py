"""Names of ChatGLM2's tensors: cell parameter on the left, Hugging Face (model type glm) on the right."""

from collections.abc import Mapping

from mf_ckpt import Join, KeyMap, Rename
from mf_models.families.chatglm2.config import ChatGLM2Config
from mf_models.families.chatglm2.published import MODEL_TYPE
from mf_models.family_tables import names

TIED: Mapping[str, str] = {}
IGNORED = (*names.IGNORED, "transformer.rotary_pos_emb.inv_freq")

_ENCODER = "transformer.encoder"
_TABLE = "model.embed_tokens.weight"
_PUBLISHED = {
    _TABLE: "transformer.embedding.word_embeddings.weight",
    f"{names.LAYER}.input_layernorm.weight": f"{_ENCODER}.layers.{{layer}}.input_layernorm.weight",
    f"{names.LAYER}.self_attn.o_proj.weight": f"{_ENCODER}.layers.{{layer}}.self_attention.dense.weight",
    f"{names.LAYER}.post_attention_layernorm.weight": f"{_ENCODER}.layers.{{layer}}.post_attention_layernorm.weight",
    f"{names.LAYER}.mlp.gate_up_proj.weight": f"{_ENCODER}.layers.{{layer}}.mlp.dense_h_to_4h.weight",
    f"{names.LAYER}.mlp.down_proj.weight": f"{_ENCODER}.layers.{{layer}}.mlp.dense_4h_to_h.weight",
    "model.norm.weight": f"{_ENCODER}.final_layernorm.weight",
    "lm_head.weight": "transformer.output_layer.weight",
}


_MINDFORMERS = {**_PUBLISHED, _TABLE: "transformer.embedding.embedding_weight"}


def key_map(config: ChatGLM2Config) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model; the file has rotated elements in neighbouring pairs."""
    projections = names.interleaved_projection_rows(config, config.rotary_dim)
    norms = names.norm_rows(names.BLOCK_NORMS)
    return names.key_map(config, (*norms, *projections, *names.fused_gated_rows(config)))


def forms(config: ChatGLM2Config) -> Mapping[str, KeyMap]:
    """Hugging Face names of the model type glm to those of chatglm and of MindFormers: query, key, value in one."""
    query, key = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    fused = [
        Join(
            tuple(f"{names.LAYER}.self_attn.{part}_proj.{kind}" for part in ("q", "k", "v")),
            f"{_ENCODER}.layers.{{layer}}.self_attention.query_key_value.{kind}",
            (query, key, key),
        )
        for kind in (("weight", "bias") if config.add_qkv_bias else ("weight",))
    ]
    tables = {"mindspore": _MINDFORMERS, MODEL_TYPE: _PUBLISHED}
    return {form: KeyMap([*(Rename(*pair) for pair in table.items()), *fused]) for form, table in tables.items()}

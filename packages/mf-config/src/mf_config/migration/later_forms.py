"""Forms of MindFormers 1.6 to 2.0 for which the canonical file has a counterpart: each with where it was found.

Sources, all in github.com/mindspore-ai/mindformers:

* Model and parallel names: the table of equal names in parallel_core/transformer_config_utils.py (branch r2.0.0),
  `COMMON_CONFIG_MAPPING`, which translates both spellings to one; `context_parallel_algo` against `cp_comm_type` in
  `get_cp_comm_type` there; `enable_sdrop` against `moe_token_drop_policy` in `get_drop_policy`.
* `training_args`, `distribute_parallel_config`, `checkpoint_config`, a top-level `model_config`: the second template
  (configs/llm_template_v2_experimental, branch br_feature_llm_trainer), whose guide names the old keys.
* `training`, `parallelism`, `checkpoint`, `lr_scheduler`, `dataloader`: the runs in PyNative mode of r2.0.0
  (pynative/config/config.py and tests/st/.../pynative_ds3.yaml), whose comments name the old keys.
* `use_legacy` chooses between two code paths from 1.6 on; there is one here.

Left out because the canonical file can't say it: `global_batch_size`, `optimizer_level`, `moe_grouped_gemm`, sigmoid
routing, `num_nextn_predict_layers`, the sections `profile`, `monitor_config` and `recompute` of 2.0.
"""

from mf_config.migration.older_forms import LLAMA_LIKE
from mf_config.migration.rule import Move, Remove, Rename, Rule, When

_MODEL = "model.model_config"
_WIDE = When("type", ("", *LLAMA_LIKE))
"""Files of 1.6 and later give a model section no type."""
_CHECKPOINT = "callbacks.[CheckpointMonitor]"
_PIPELINE = "distribute_parallel_config.pipeline_parallel_config"
_OPTIMIZER = "distribute_parallel_config.optimizer_parallel_config"
_SHARDING = "parallel.parallel_optimizer_config"
_OPPOSITE = {"True": "False", "False": "True"}
_CP_ALGORITHMS = {
    "all_gather": "colossalai_cp",
    "a2a": "ulysses_cp",
    "all_to_all": "ulysses_cp",
    "a2a+allgather": "hybrid_cp",
}
_CP_METHODS = {"colossal": "colossalai_cp", "ulysses": "ulysses_cp"}
_ROPE = {"rope": "None", "yarn": "YARN"}
_DROP = {"position": "True", "probs": "False", "True": "True", "False": "False"}

_PARALLEL_NAMES = {
    "data_parallel_size": "data_parallel",
    "tensor_model_parallel_size": "model_parallel",
    "pipeline_model_parallel_size": "pipeline_stage",
    "context_parallel_size": "context_parallel",
    "expert_model_parallel_size": "expert_parallel",
    "sequence_parallel": "use_seq_parallel",
    "hierarchical_context_parallel_sizes": "ulysses_degree_in_cp",
}
_MODEL_NAMES = {
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "num_key_value_heads": "n_kv_heads",
    "num_query_groups": "n_kv_heads",
    "ffn_hidden_size": "intermediate_size",
    "layernorm_epsilon": "rms_norm_eps",
    "layer_norm_epsilon": "rms_norm_eps",
    "max_position_embeddings": "max_position_embedding",
    "rope_theta": "theta",
    "rotary_base": "theta",
    "attention_bias": "qkv_has_bias",
    "add_qkv_bias": "qkv_has_bias",
    "params_dtype": "param_init_type",
    "layernorm_compute_dtype": "layernorm_compute_type",
    "softmax_compute_dtype": "softmax_compute_type",
    "virtual_pipeline_model_parallel_size": "pp_interleave_num",
}
_EXPERT_NAMES = {
    "num_experts": "expert_num",
    "n_routed_experts": "expert_num",
    "num_moe_experts": "expert_num",
    "num_experts_per_tok": "num_experts_chosen",
    "moe_router_topk": "num_experts_chosen",
    "n_shared_experts": "shared_expert_num",
    "moe_intermediate_size": "moe_intermediate_size",
    "moe_ffn_hidden_size": "moe_intermediate_size",
    "first_k_dense_replace": "first_k_dense_replace",
    "norm_topk_prob": "norm_topk_prob",
    "n_group": "n_group",
    "moe_router_num_groups": "n_group",
    "topk_group": "topk_group",
    "moe_router_group_topk": "topk_group",
    "topk_method": "topk_method",
    "routed_scaling_factor": "routed_scaling_factor",
    "moe_router_topk_scaling_factor": "routed_scaling_factor",
    "moe_router_dtype": "router_dense_type",
    "moe_z_loss_coeff": "z_loss_factor",
    "moe_aux_loss_coeff": "aux_loss_factor",
    "moe_expert_capacity_factor": "capacity_factor",
    "use_shared_expert_gating": "use_shared_expert_gating",
    "use_fused_ops_topkrouter": "use_fused_ops_topkrouter",
}
_TEMPLATE_SECTIONS = {
    "training_args.epochs": "runner_config.epochs",
    "training_args.micro_batch_size": "runner_config.batch_size",
    "training_args.gradient_accumulation_steps": "runner_config.gradient_accumulation_steps",
    "training_args.stop_step": "runner_config.stop_step",
    "training_args.training_seed": "seed",
    "training_args.dataset_seed": "train_dataset.seed",
    "training_args.scale_sense": "runner_wrapper.scale_sense",
    "training_args.use_clip_grad": "runner_wrapper.use_clip_grad",
    "training_args.max_grad_norm": "runner_wrapper.max_grad_norm",
    "training_args.resume_training": "resume_training",
    "training_args.data_skip_steps": "data_skip_steps",
    "training_args.ignore_data_skip": "ignore_data_skip",
    "checkpoint_config.load_checkpoint": "load_checkpoint",
    "checkpoint_config.prefix": f"{_CHECKPOINT}.prefix",
    "checkpoint_config.save_checkpoint_steps": f"{_CHECKPOINT}.save_checkpoint_steps",
    "checkpoint_config.keep_checkpoint_max": f"{_CHECKPOINT}.keep_checkpoint_max",
    "checkpoint_config.integrated_save": f"{_CHECKPOINT}.integrated_save",
    "checkpoint_config.async_save": f"{_CHECKPOINT}.async_save",
    "checkpoint_config.save_network_params": f"{_CHECKPOINT}.save_network_params",
    "checkpoint_config.save_trainable_params": f"{_CHECKPOINT}.save_trainable_params",
    "distribute_parallel_config.micro_batch_interleave_num": "micro_batch_interleave_num",
    "distribute_parallel_config.gradient_aggregation_group": "parallel_config.gradient_aggregation_group",
    f"{_OPTIMIZER}.enable_parallel_optimizer": "parallel.enable_parallel_optimizer",
    f"{_OPTIMIZER}.optimizer_weight_shard_size": f"{_SHARDING}.optimizer_weight_shard_size",
    f"{_PIPELINE}.pipeline_interleave": "parallel.pipeline_config.pipeline_interleave",
    f"{_PIPELINE}.pipeline_scheduler": "parallel.pipeline_config.pipeline_scheduler",
    f"{_PIPELINE}.virtual_pipeline_model_parallel_size": f"{_MODEL}.pp_interleave_num",
    f"{_PIPELINE}.pipeline_stage_offset": f"{_MODEL}.offset",
}
_PYNATIVE_SECTIONS = {
    "training.local_batch_size": "runner_config.batch_size",
    "training.seed": "seed",
    "parallelism.tensor_parallel": "parallel_config.model_parallel",
    "parallelism.pipeline_parallel": "parallel_config.pipeline_stage",
    "parallelism.context_parallel": "parallel_config.context_parallel",
    "parallelism.expert_parallel": "parallel_config.expert_parallel",
    "parallelism.sequence_parallel": "parallel_config.use_seq_parallel",
    "checkpoint.load_path": "load_checkpoint",
    "checkpoint.prefix": f"{_CHECKPOINT}.prefix",
    "checkpoint.save_interleaved_steps": f"{_CHECKPOINT}.save_checkpoint_steps",
    "checkpoint.save_max": f"{_CHECKPOINT}.keep_checkpoint_max",
    "checkpoint.async_save": f"{_CHECKPOINT}.async_save",
}

_SECTION = "the canonical section"
_NAME = "the canonical name"

LATER_SECTIONS: tuple[Rule, ...] = (
    Remove("use_legacy", why="there is one code path", later="1.6"),
    Move("model_config", _MODEL, why=_SECTION, later="2.0"),
    Rename("lr_scheduler", "lr_schedule", why=_NAME, later="2.0"),
    Rename("**.dataloader", "data_loader", why=_NAME, later="2.0"),
    *(Move(old, new, why=_SECTION, later="2.0") for old, new in {**_TEMPLATE_SECTIONS, **_PYNATIVE_SECTIONS}.items()),
    *(
        Move(f"distribute_parallel_config.{old}", f"parallel_config.{new}", why=_SECTION, later="2.0")
        for old, new in _PARALLEL_NAMES.items()
    ),
    *(Rename(f"parallel_config.{old}", new, why=_NAME, later="1.6") for old, new in _PARALLEL_NAMES.items()),
    Move(
        "distribute_parallel_config.cp_comm_type",
        "parallel_config.context_parallel_algo",
        values=_CP_ALGORITHMS,
        why=_SECTION,
        later="2.0",
    ),
    Rename("parallel_config.cp_comm_type", "context_parallel_algo", values=_CP_ALGORITHMS, why=_NAME, later="1.6"),
    Move(
        "parallelism.context_parallel_method",
        "parallel_config.context_parallel_algo",
        values=_CP_METHODS,
        why=_SECTION,
        later="2.0",
    ),
)
"""Sections that go to their place, whole or key by key."""

LATER_NAMES: tuple[Rule, ...] = (
    *(Rename(f"{_MODEL}.{old}", new, why=_NAME, later="1.6", when=_WIDE) for old, new in _MODEL_NAMES.items()),
    Rename(f"{_MODEL}.position_embedding_type", "extend_method", values=_ROPE, why=_NAME, later="1.6", when=_WIDE),
    Rename(
        f"{_MODEL}.untie_embeddings_and_output_weights",
        "tie_word_embeddings",
        values=_OPPOSITE,
        why="the canonical name says the opposite",
        later="1.6",
        when=_WIDE,
    ),
    *(
        Move(f"{_MODEL}.{old}", f"moe_config.{new}", why=_SECTION, later="1.6", when=_WIDE)
        for old, new in _EXPERT_NAMES.items()
    ),
    Move(
        f"{_MODEL}.moe_token_drop_policy",
        "moe_config.enable_sdrop",
        values=_DROP,
        why=_SECTION,
        later="1.6",
        when=_WIDE,
    ),
)
"""Names within the model section, and the keys of its experts, which have a section of their own."""

import pytest

from mf_config.suggest import nearest

KEYS = ("learning_rate", "batch_size", "num_heads", "lr_schedule", "model_parallel", "eval_step_interval")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("learing_rate", "learning_rate"),
        ("batchsize", "batch_size"),
        ("BATCH-SIZE", "batch_size"),
        ("num_head", "num_heads"),
        ("lr_scheduler", "lr_schedule"),
        ("num_haeds", "num_heads"),
        ("lr", "learning_rate"),
        ("LR", "learning_rate"),
        ("tp", "model_parallel"),
    ],
)
def test_the_nearest_key_is_found(written: str, meant: str) -> None:
    assert nearest(written, KEYS) == meant


@pytest.mark.parametrize("written", ["", "colour", "data_parallel", "lr_scale", "rate"])
def test_no_guess_where_only_a_part_agrees(written: str) -> None:
    assert nearest(written, KEYS) == ""


def test_no_guess_among_nothing() -> None:
    assert nearest("seed", ()) == ""


def test_a_synonym_counts_only_where_its_word_is_valid() -> None:
    assert nearest("lr", ("eps",)) == ""


def test_class_names_that_share_an_ending_are_not_near() -> None:
    assert nearest("ADGenDataLoader", ("TextDataLoader", "PythonLibraryDataLoader")) == ""


def test_the_spelling_of_the_choice_is_kept() -> None:
    assert nearest("Flase", ("True", "False")) == "False"
    assert nearest("llamaconfig", ("LlamaConfig", "MistralConfig")) == "LlamaConfig"


SECTIONS = {
    "run": (
        "seed run_mode output_dir load_checkpoint src_strategy_path_or_dir auto_trans_ckpt only_save_strategy "
        "resume_training remote_save_url use_parallel do_eval eval_step_interval eval_epoch_interval auto_tune "
        "filepath_prefix autotune_per_step profile profile_start_step profile_stop_step profile_communication "
        "profile_memory init_start_profile layer_scale layer_decay lr_scale lr_scale_factor "
        "micro_batch_interleave_num context runner_config runner_wrapper parallel parallel_config moe_config "
        "recompute_config trainer train_dataset train_dataset_task eval_dataset eval_dataset_task model processor "
        "lr_schedule optimizer callbacks eval_callbacks metric"
    ),
    "context": (
        "mode device_target enable_graph_kernel max_call_depth max_device_memory mempool_block_size save_graphs "
        "save_graphs_path device_id jit_config jit_level ascend_config memory_optimize_level infer_boost"
    ),
    "runner_config": ("epochs batch_size sink_mode sink_size gradient_accumulation_steps"),
    "parallel": (
        "parallel_mode gradients_mean enable_alltoall full_batch search_mode enable_parallel_optimizer "
        "parallel_optimizer_config strategy_ckpt_save_file strategy_ckpt_config loss_repeated_mean auto_pipeline"
    ),
    "parallel_config": (
        "data_parallel model_parallel context_parallel pipeline_stage micro_batch_num expert_parallel "
        "use_seq_parallel gradient_aggregation_group vocab_emb_dp optimizer_shard mem_coeff"
    ),
    "moe_config": (
        "expert_num capacity_factor aux_loss_factor num_experts_chosen routing_policy norm_topk_prob enable_sdrop "
        "use_fused_ops_topkrouter router_dense_type shared_expert_num use_shared_expert_gating"
    ),
    "recompute_config": (
        "recompute select_recompute parallel_optimizer_comm_recompute mp_comm_recompute "
        "recompute_slice_activation select_comm_recompute"
    ),
    "optimizer": ("type beta1 beta2 betas eps learning_rate weight_decay"),
    "lr_schedule": ("type learning_rate lr_end warmup_ratio warmup_steps warmup_lr_init total_steps"),
    "callback": (
        "type prefix save_checkpoint_steps keep_checkpoint_max integrated_save async_save save_network_params "
        "save_trainable_params"
    ),
    "model_config": (
        "type batch_size seq_length hidden_size num_layers num_heads n_kv_heads intermediate_size multiple_of "
        "ffn_dim_multiplier vocab_size rms_norm_eps bos_token_id eos_token_id pad_token_id ignore_token_id theta "
        "max_position_embedding extend_method scaling_factor compute_dtype param_init_type embedding_init_type "
        "layernorm_compute_type softmax_compute_type rotary_dtype qkv_has_bias qkv_concat use_past is_dynamic "
        "use_flash_attention use_attn_mask_compression fused_rms_norm block_size num_blocks offset "
        "fine_grain_interleave tie_word_embeddings checkpoint_name_or_path max_decode_length do_sample top_k "
        "top_p temperature repetition_penalty auto_map pet_config"
    ),
}
"""The keys of MindFormers' run configurations, section by section."""


def typos(name: str) -> set[str]:
    """The name with one slip: a letter dropped, doubled, swapped or replaced, or the whole in another form."""
    letters = range(len(name))
    slips = {name[:i] + name[i + 1 :] for i in letters}
    slips |= {name[:i] + name[i] + name[i:] for i in letters}
    slips |= {name[:i] + name[i + 1] + name[i] + name[i + 2 :] for i in letters[:-1]}
    slips |= {name[:i] + other + name[i + 1 :] for i in letters if name[i].isalpha() for other in "ax"}
    return slips | {name.upper(), name.title(), name + "s", name.replace("_", "-"), name.replace("_", "")}


def test_a_single_slip_of_the_keyboard_is_understood() -> None:
    slips, misread = 0, []
    for keys in (text.split() for text in SECTIONS.values()):
        found = [(slip, name) for name in keys for slip in typos(name) if slip not in keys]
        slips += len(found)
        misread += [(slip, name) for slip, name in found if nearest(slip, keys) != name]
    assert slips > 10_000
    assert len(misread) < 0.01 * slips, misread


@pytest.mark.parametrize("section", SECTIONS)
def test_other_words_are_no_slips(section: str) -> None:
    words = (
        "about above animal answer apple autumn banana bicycle bridge butter carpet castle cellar chimney cloud "
        "colour corner country cousin daughter dinner doctor dollar dream eagle evening family farmer feather "
        "finger flower forest friend garden giraffe glass grandmother hammer harbour holiday honey hospital island "
        "jacket journey kitchen ladder lemon library machine market meadow mountain neighbour orange pencil "
        "picture pocket potato quarter railway river sailor saturday shoulder silver spring station summer teacher "
        "thunder tomato umbrella village violin window winter"
    )
    assert [word for word in words.split() if nearest(word, SECTIONS[section].split())] == []


@pytest.mark.parametrize("written", ["Qwen3Config", "Llama4Config"])
def test_another_version_number_is_another_thing(written: str) -> None:
    assert nearest(written, ("Qwen2Config", "Llama3Config")) == ""


def test_of_two_equally_near_the_first_is_named() -> None:
    assert nearest("beta", ("beta1", "beta2")) == "beta1"

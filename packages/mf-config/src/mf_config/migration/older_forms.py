"""Forms of MindFormers 0.3 to 1.1, misspellings, and keys that lost their effect: each with where it was found.

Sources, all in github.com/mindspore-lab/mindformers (tags and release branches named as there):

* `optimizer_shard`: its setter in modules/transformer/transformer.py warns from r0.7 on that the key does nothing and
  names `enable_parallel_optimizer`, which therefore decides where a file has both.
* `load_checkpoint`: configs of v0.3 say `resume_or_finetune_checkpoint` (one says `resume_checkpoint_path`), those of
  v0.6.0 `load_checkpoint` (commit 14f3ece81). `remote_save_url` replaced `aicc_config.obs_path` in commit 2301dcc51.
* `context.jit_level`: core/context/build_context.py of v1.3.0 reads it for prediction only, and `jit_config` not at all
  there; v1.5.0 reads `jit_config` first.
* GPT2: `GPT2Config.__init__` of v0.3 against that of v0.6.0, and the configs of both.
* LoRA: v0.6.0 and r0.7 have classes `...WithLora`, which set the layers to adapt themselves (`reg_rules` in
  models/llama/llama.py, gpt2.py, glm.py, glm2.py and research/internlm), and v0.6.0 has `pet` below `model.arch`; r0.8
  has `target_modules` in `model_config.pet_config` and the plain classes.
* `CheckpointMonitor`: commit d15265ba2, before v1.2.0. `ColdHotExpertMonitor`: misspelt in v1.1.0 to v1.3.0, right in
  v1.5.0. `hybrid_cp`: core/parallel_config.py of v1.5.0 announces it in place of `hybird_cp`.
* GLM: `is_npu_acceleration` in configs/glm of v0.6.0, `is_sample_acceleration` in r0.7; research/glm32k of v1.0.0 has
  its own classes, that of v1.1.0 uses those of GLM2 and GLM3.
* `compute_in_2d`, `use_past_shard`, `pretrain_seqlen`: deprecated with a warning by `LlamaConfig` of v1.0.0; its
  switches for the cache and for attention in v1.0.0 and v1.1.0 are no longer arguments in v1.2.0.
* `num_hidden_layers`, `num_attention_heads`: `QwenConfig` of v1.3.0 (research/qwen) warns and takes the other names;
  `max_position_embeddings` is an argument of `GPT2Config` and `DeepseekV2Config`, `LlamaConfig` never reads it.
* `has_trained_epoches`, `has_trained_steps`: in configs of v0.3 to v1.0.0, read by no code.
* `num_block`, `fintune`, `Flase`: misspelt in published configs of v1.1.0 to v1.3.0.
* `infer`: paths of exported MindIR files; v1.2.0 has no export any more.
"""

from mf_config.migration.rule import Add, Move, Remove, Rename, Rule, Value, When

LLAMA_LIKE = ("LlamaConfig", "QwenConfig", "InternLMConfig", "InternLM2Config")
"""Model sections with the key names of `LlamaConfig`."""

_LLAMA = When("type", LLAMA_LIKE)
_GPT2 = When("type", ("GPT2Config",))
_NO_EXTENSION = When("extend_method", ("", "None"))
_ARCH = "**.arch.type"
_MODEL = "**.model_config"
_PET = "model.model_config.pet_config"
_NAME = "one name for all models"
_TYPO = "misspelt"
_OWN_LAYERS = "the old class adapted these layers by itself"
_NO_CLASS = "pet_config alone turns LoRA on"
_NO_EFFECT = "it has no effect"


def _implied_layers(arch: str, layers: str) -> Add:
    """The layers that a class with LoRA adapted without being told."""
    when = When("model.arch.type", (arch,))
    return Add(f"{_PET}.target_modules", f"'{layers}'", why=_OWN_LAYERS, since="0.8", when=when)


OLDER_FORMS: tuple[Rule, ...] = (
    Rename("resume_or_finetune_checkpoint", "load_checkpoint", why="one key for all run modes", since="0.6"),
    Rename("resume_checkpoint_path", "load_checkpoint", why="one key for all run modes", since="0.6"),
    Rename("run_status", "run_mode", why="one key for all models", since="0.6"),
    Move("aicc_config.obs_path", "remote_save_url", why="the upload has one key", since="0.6"),
    Remove("runner_config.has_trained_epoches", why="the checkpoint knows", since="0.6"),
    Remove("runner_config.has_trained_steps", why="the checkpoint knows", since="0.6"),
    Value("run_mode", "fintune", "finetune", why=_TYPO),
    Value("use_parallel", "Flase", "False", why=_TYPO + ", and any text counted as true"),
    Move(
        "parallel_config.optimizer_shard",
        "parallel.enable_parallel_optimizer",
        why="the old key does nothing",
        since="0.7",
        new_wins=True,
    ),
    Value("parallel_config.context_parallel_algo", "hybird_cp", "hybrid_cp", why=_TYPO, since="1.5"),
    Move("context.jit_level", "context.jit_config.jit_level", why="one key for all run modes", since="1.5"),
    Move("context.infer_boost", "context.jit_config.infer_boost", why="it belongs to jit_level", since="1.5"),
    Value("callbacks.[].type", "CheckpointMointor", "CheckpointMonitor", why=_TYPO, since="1.2"),
    Value("callbacks.[].type", "ColdHotExpertMointor", "ColdHotExpertMonitor", why=_TYPO, since="1.5"),
    # LoRA of 0.6 and 0.7
    Move("model.arch.pet.pet_config", _PET, why="the model section has it", since="0.7"),
    Move("model.arch.pet.pet_type", f"{_PET}.pet_type", why="the model section has it", since="0.7"),
    _implied_layers("LlamaForCausalLMWithLora", ".*wq|.*wk|.*wv|.*wo"),
    _implied_layers("InternLMForCausalLMWithLora", ".*wq|.*wk|.*wv|.*wo"),
    _implied_layers("GPT2WithLora", ".*dense1.*|.*dense3.*"),
    _implied_layers("GLMForPreTrainingWithLora", ".*query_key_value*"),
    _implied_layers("GLMChatModelWithLora", ".*query_key_value*"),
    _implied_layers("ChatGLM2WithLora", ".*query_key_value*"),
    Value(_ARCH, "LlamaForCausalLMWithLora", "LlamaForCausalLM", why=_NO_CLASS, since="0.8"),
    Value(_ARCH, "InternLMForCausalLMWithLora", "InternLMForCausalLM", why=_NO_CLASS, since="1.0"),
    Value(_ARCH, "GPT2WithLora", "GPT2LMHeadModel", why=_NO_CLASS, since="0.8"),
    Value(_ARCH, "GLMForPreTrainingWithLora", "GLMForPreTraining", why=_NO_CLASS, since="0.8"),
    Value(_ARCH, "GLMChatModelWithLora", "GLMChatModel", why=_NO_CLASS, since="0.8"),
    Value(_ARCH, "ChatGLM2WithLora", "ChatGLM2ForConditionalGeneration", why=_NO_CLASS, since="0.8"),
    Remove(f"{_PET}.in_channels", why="the layer knows its width", since="0.8"),
    Remove(f"{_PET}.out_channels", why="the layer knows its width", since="0.8"),
    # GPT2 of 0.3
    Rename(f"{_MODEL}.embedding_size", "hidden_size", why=_NAME, since="0.6", when=_GPT2),
    Rename(f"{_MODEL}.dropout_prob", "embedding_dropout_prob", why="it speaks of embeddings", since="0.6", when=_GPT2),
    Rename(f"{_MODEL}.hidden_dropout_prob", "hidden_dropout_rate", why=_NAME, since="0.6", when=_GPT2),
    Rename(f"{_MODEL}.attention_probs_dropout_prob", "attention_dropout_rate", why=_NAME, since="0.6", when=_GPT2),
    Rename(f"{_MODEL}.layernorm_dtype", "layernorm_compute_type", why=_NAME, since="0.6", when=_GPT2),
    Rename(f"{_MODEL}.softmax_dtype", "softmax_compute_type", why=_NAME, since="0.6", when=_GPT2),
    Rename(f"{_MODEL}.eos_token", "eos_token_id", why="it is a number", since="0.6", when=_GPT2),
    # GLM
    Rename(f"{_MODEL}.is_npu_acceleration", "is_sample_acceleration", why="another name", since="0.7"),
    Value(f"{_MODEL}.type", "ChatGLM32kConfig", "ChatGLM2Config", why="GLM3-32K is a GLM2 model", since="1.1"),
    Value(
        _ARCH,
        "ChatGLM32kForConditionalGeneration",
        "ChatGLM2ForConditionalGeneration",
        why="GLM3-32K is a GLM2 model",
        since="1.1",
    ),
    Value(
        "**.tokenizer.type", "ChatGLM32kTokenizer", "ChatGLM3Tokenizer", why="GLM3-32K has its tokenizer", since="1.1"
    ),
    # Llama and its relatives
    Rename(f"{_MODEL}.num_block", "num_blocks", why=_TYPO + ", and the default counted", since="1.1"),
    Rename(f"{_MODEL}.num_hidden_layers", "num_layers", why=_NAME, since="1.0", when=_LLAMA),
    Rename(f"{_MODEL}.num_attention_heads", "num_heads", why=_NAME, since="1.0", when=_LLAMA),
    Remove(f"{_MODEL}.max_position_embeddings", why="only max_position_embedding is read", since="1.0", when=_LLAMA),
    Rename(f"{_MODEL}.layernorm_compute_dtype", "layernorm_compute_type", why=_NAME, since="0.8", when=_LLAMA),
    Rename(f"{_MODEL}.softmax_compute_dtype", "softmax_compute_type", why=_NAME, since="0.8", when=_LLAMA),
    Remove(f"{_MODEL}.compute_in_2d", why=_NO_EFFECT, since="1.0"),
    Remove(f"{_MODEL}.use_past_shard", why=_NO_EFFECT, since="1.0"),
    Remove(f"{_MODEL}.pretrain_seqlen", why="scaling_factor replaced it", since="1.0", when=_NO_EXTENSION),
    Remove(f"{_MODEL}.use_kvcache_op", why=_NO_EFFECT, since="1.1"),
    Remove(f"{_MODEL}.is_flexible_shape", why=_NO_EFFECT, since="1.1"),
    Remove(f"{_MODEL}.use_paged_attention", why="use_past alone decides", since="1.2"),
    Remove(f"{_MODEL}.use_prompt_flash_attention", why="use_flash_attention alone decides", since="1.2"),
    Remove(f"{_MODEL}.use_incre_flash_attention", why="use_flash_attention alone decides", since="1.2"),
    Remove(f"{_MODEL}.use_kbk_infer", why="context.jit_config.jit_level decides", since="1.2"),
    Remove("infer", why="there is no export to MindIR", since="1.2"),
)
"""Applied in this order."""

"""Every rule on both sides of its border, by itself; how rules meet a file is tested with whole files below."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from mf_config.problems import Location, Problem, Severity
from mf_config.rules import RULES, Checked
from mf_config.schema import component
from mf_config.sections.dataset import DatasetSection
from mf_config.sections.moe import MoeSection
from mf_config.sections.parallel import StrategyFileSection
from mf_config.sections.run import RunConfig
from mf_config.sections.runner import LossScaleSection
from mf_config.sections.schedules import GroupedScheduleSection

ProblemsOf = Callable[..., list[Problem]]
SPREAD = {"use_parallel": True}
AUTO = {"use_parallel": True, "parallel.parallel_mode": 2, "parallel.search_mode": "recursive_programming"}
RESUMED = {"resume_training": "step-00000004", "run_mode": "train"}
PROFILED = {"profile": True, "run_mode": "train"}
GROUPED = {"moe_config.topk_method": "group_limited_greedy", "moe_config.expert_num": 8}
FILLED = {"load_checkpoint": "here"}


@component("dataset", "KeyWordGenDataset")
@dataclass(frozen=True)
class Prompts:
    """Stands for the component of this name."""


@component("model", "DenseConfig")
@dataclass(frozen=True)
class Dense:
    """Stands for a family without experts."""


@component("callback", "ColdHotExpertMonitor")
@dataclass(frozen=True)
class Recorder:
    """Stands for the component of this name."""


@dataclass(frozen=True)
class Sparse:
    """Stands for a family with experts that finds some problems."""

    found: tuple[tuple[str, str, str], ...]

    def with_experts(self, section: MoeSection) -> "Sparse":
        return self

    def problems(self) -> tuple[tuple[str, str, str], ...]:
        return self.found


def rows(**keys: Any) -> DatasetSection:
    return DatasetSection(data_loader=SimpleNamespace(dataset_dir="text"), **keys)


def loaded_from(folder: str) -> DatasetSection:
    return DatasetSection(data_loader=SimpleNamespace(dataset_dir=folder))


PROMPTS = {"train_dataset_task": Prompts(), "model.seq_length": 16}
TRAINS = {
    "model.model_config": SimpleNamespace(),
    "trainer": SimpleNamespace(),
    "train_dataset": rows(tokenizer=SimpleNamespace()),
    "train_dataset_task": SimpleNamespace(),
    "optimizer": SimpleNamespace(learning_rate=0.1),
}


@dataclass(frozen=True)
class Case:
    """A rule, keys that keep it, keys that break it, and what it then says first."""

    rule: str
    good: Mapping[str, Any]
    bad: Mapping[str, Any]
    path: str
    what: str


def case(rule: str, common: Mapping[str, Any], good: Mapping[str, Any], bad: Mapping[str, Any], *said: str) -> Case:
    return Case(rule, {**common, **good}, {**common, **bad}, *said)


DP, MP, PP = "parallel_config.data_parallel", "parallel_config.model_parallel", "parallel_config.pipeline_stage"
CP, EP = "parallel_config.context_parallel", "parallel_config.expert_parallel"
MICRO, SHARD = "parallel_config.micro_batch_num", "parallel.parallel_optimizer_config.optimizer_weight_shard_size"
STRATEGY = "parallel.strategy_ckpt_config"
LORA = {"model.pet_config": SimpleNamespace()}

CASES = [
    case(
        "sections-of-the-run-mode",
        TRAINS,
        {},
        {"optimizer": None},
        "optimizer",
        "is missing, and run_mode train needs it",
    ),
    case(
        "tokenizer-of-each-dataset",
        TRAINS,
        {},
        {"train_dataset": rows()},
        "train_dataset.tokenizer",
        "is missing",
    ),
    case(
        "learning-rate-is-given",
        TRAINS,
        {},
        {"optimizer": SimpleNamespace(learning_rate=None)},
        "optimizer.learning_rate",
        "is missing, and there is no lr_schedule",
    ),
    case(
        "paths-are-filled-in",
        {},
        {"train_dataset": loaded_from("text")},
        {"train_dataset": loaded_from("")},
        "train_dataset.data_loader.dataset_dir",
        "is empty",
    ),
    case(
        "paths-are-filled-in",
        {},
        {"load_checkpoint": "./weights"},
        {"load_checkpoint": "{path}/llama.ckpt"},
        "load_checkpoint",
        "{path}/llama.ckpt is a placeholder",
    ),
    case(
        "weights-to-start-from",
        {"run_mode": "finetune"},
        {"load_checkpoint": "here"},
        {},
        "load_checkpoint",
        "is missing, and run_mode finetune starts from weights",
    ),
    case("resume-by-name", {}, RESUMED, {"resume_training": "Flase"}, "resume_training", "Flase is neither"),
    case(
        "name-needs-a-folder",
        RESUMED,
        FILLED,
        {},
        "resume_training",
        "step-00000004 names a checkpoint, but load_checkpoint is not set",
    ),
    case(
        "something-to-convert",
        {"auto_trans_ckpt": True},
        FILLED,
        {},
        "auto_trans_ckpt",
        "there is nothing to convert: load_checkpoint is not set",
    ),
    case(
        "layout-of-a-sliced-source",
        {"src_strategy_path_or_dir": "there"},
        FILLED,
        {},
        "src_strategy_path_or_dir",
        "describes nothing: load_checkpoint is not set",
    ),
    case(
        "layouts-of-frozen-weights",
        LORA,
        {STRATEGY: StrategyFileSection(only_trainable_params=False)},
        {STRATEGY: StrategyFileSection()},
        f"{STRATEGY}.only_trainable_params",
        "True leaves out the layouts of all weights that pet_config freezes",
    ),
    case(
        "global-batch",
        {"model.seq_length": 8, "runner_config.batch_size": 4, **SPREAD, DP: 2},
        {"run_mode": "predict"},
        {},
        "runner_config.batch_size",
        "one step takes 8 rows, 64 tokens (batch_size 4 x data_parallel 2)",
    ),
    case(
        "sink-size-in-sink-mode",
        {"runner_config.sink_size": 4},
        {},
        {"runner_config.sink_mode": False},
        "runner_config.sink_size",
        "4 says nothing while sink_mode is off",
    ),
    case(
        "accumulation-or-pipeline",
        {**SPREAD, "runner_config.gradient_accumulation_steps": 2},
        {},
        {PP: 2},
        "runner_config.gradient_accumulation_steps",
        "2 counts as 1 in a pipeline: its micro batches accumulate",
    ),
    case(
        "warm-up-ends-before-the-run",
        {},
        {"lr_schedule": SimpleNamespace(warmup_steps=9, total_steps=10)},
        {"lr_schedule": SimpleNamespace(warmup_steps=10, total_steps=10)},
        "lr_schedule.warmup_steps",
        "10 leaves none of the 10 total_steps at the full rate",
    ),
    case(
        "one-length-of-warm-up",
        {},
        {"lr_schedule": SimpleNamespace(warmup_steps=9, warmup_ratio=None)},
        {"lr_schedule": SimpleNamespace(warmup_steps=9, warmup_ratio=0.1)},
        "lr_schedule.warmup_steps",
        "9 does not count: warmup_ratio does",
    ),
    case(
        "groups-of-schedules",
        {},
        {
            "lr_schedule": SimpleNamespace(params=()),
            "grouped_lr_schedule": GroupedScheduleSection(grouped=(SimpleNamespace(params=("*.bias",)),)),
        },
        {"grouped_lr_schedule": GroupedScheduleSection(grouped=(SimpleNamespace(params=("*.bias",)), object()))},
        "grouped_lr_schedule.grouped[1].params",
        "is missing: which parameters follow this schedule",
    ),
    case(
        "groups-of-schedules",
        {},
        {"grouped_lr_schedule": GroupedScheduleSection(default=SimpleNamespace())},
        {"lr_schedule": SimpleNamespace(params=("*.bias",))},
        "lr_schedule.params",
        "only schedules of grouped_lr_schedule.grouped have parameters",
    ),
    case(
        "groups-of-schedules",
        {"lr_schedule": SimpleNamespace()},
        {"grouped_lr_schedule": GroupedScheduleSection()},
        {"grouped_lr_schedule": GroupedScheduleSection(default=SimpleNamespace(total_steps=3))},
        "grouped_lr_schedule.default",
        "lr_schedule is there too",
    ),
    case(
        "rate-falls",
        {},
        {"lr_schedule": SimpleNamespace(learning_rate=1e-5, lr_end=1e-5)},
        {"lr_schedule": SimpleNamespace(learning_rate=1e-5, lr_end=1e-4)},
        "lr_schedule.lr_end",
        "0.0001 is above the learning_rate 1e-05",
    ),
    case(
        "lengths-of-prompt-and-answer",
        PROMPTS,
        {"train_dataset": rows(max_source_length=10, max_target_length=5)},
        {"train_dataset": rows(max_source_length=10, max_target_length=6)},
        "train_dataset.max_source_length",
        "max_source_length + max_target_length + 1 is 17, but seq_length is 16",
    ),
    case(
        "device-product",
        {**SPREAD, "parallel.device_num": 16, MP: 4, PP: 2},
        {DP: 2},
        {DP: 4},
        "parallel.device_num",
        "16 devices, but data_parallel 4 x model_parallel 4 x context_parallel 1 x pipeline_stage 2 = 32",
    ),
    case(
        "powers-of-two-for-the-search",
        AUTO,
        {DP: 4, MP: 2},
        {DP: 3, MP: 2},
        DP,
        "6 devices of a stage are no power of two, which recursive_programming needs",
    ),
    case(
        "micro-batches-fill-the-pipeline",
        {**SPREAD, PP: 4},
        {MICRO: 4},
        {MICRO: 3},
        MICRO,
        "3 is less than pipeline_stage 4",
    ),
    case(
        "micro-batches-fill-the-pipeline",
        {**SPREAD, PP: 4, "parallel.parallel_mode": "HYBRID_PARALLEL"},
        {MICRO: 4},
        {MICRO: 3},
        MICRO,
        "3 is less than pipeline_stage 4",
    ),
    case(
        "pipelines-only-train",
        {**SPREAD, "run_mode": "predict"},
        {PP: 1},
        {PP: 2},
        PP,
        "2 stages can't be used in run_mode predict",
    ),
    case(
        "further-tokens-in-a-divided-network",
        {**SPREAD, "model.model_config": SimpleNamespace(mtp_depth=2), "run_mode": "train", MICRO: 2},
        {PP: 1},
        {PP: 2},
        "model.model_config.mtp_depth",
        "2, but further tokens can't be predicted by parts of a network or of a sequence yet",
    ),
    case(
        "latent-attention-in-a-divided-network",
        {**SPREAD, "model.model_config": SimpleNamespace(kv_lora_rank=512)},
        {"parallel_config.model_parallel": 1},
        {"parallel_config.model_parallel": 2},
        "parallel_config.model_parallel",
        "2 ranks can't divide attention over compressed keys and values yet",
    ),
    case(
        "scaling-by-length-in-divided-rows",
        {**SPREAD, "model.model_config": SimpleNamespace(extend_method="DYNAMIC_NTK")},
        {"parallel_config.context_parallel": 1},
        {"parallel_config.context_parallel": 2},
        "parallel_config.context_parallel",
        "2 ranks share a row, whose length extend_method DYNAMIC_NTK has to know",
    ),
    case(
        "whole-batch-in-data-parallel",
        {**SPREAD, "parallel.parallel_mode": "data_parallel"},
        {"parallel.full_batch": False},
        {"parallel.full_batch": True},
        "parallel.full_batch",
        "True is taken as False in DATA_PARALLEL mode",
    ),
    case(
        "degrees-in-data-parallel",
        {**SPREAD, MP: 2},
        {"parallel.parallel_mode": 1},
        {"parallel.parallel_mode": 0},
        MP,
        "2 does not fit DATA_PARALLEL, which divides rows only",
    ),
    case(
        "sequence-parallel-has-ranks",
        {**SPREAD, "parallel_config.use_seq_parallel": True},
        {MP: 2},
        {MP: 1},
        "parallel_config.use_seq_parallel",
        "divides nothing while model_parallel is 1",
    ),
    case(
        "optimizer-shards-divide-ranks",
        {**SPREAD, "parallel.enable_parallel_optimizer": True, DP: 8},
        {SHARD: 4},
        {SHARD: 3},
        SHARD,
        "3 does not divide data_parallel 8",
    ),
    case(
        "interleaving-overlaps-communication",
        {**SPREAD, "model.fine_grain_interleave": 2},
        {"parallel_config.use_seq_parallel": True},
        {},
        "model.model_config.fine_grain_interleave",
        "2 overlaps nothing without use_seq_parallel or context_parallel",
    ),
    case(
        "recomputed-layers-of-each-stage",
        {**SPREAD, PP: 2},
        {"recompute_config.recompute": (3, 4)},
        {"recompute_config.recompute": (3, 4, 5)},
        "recompute_config.recompute",
        "3 numbers for pipeline_stage 2",
    ),
    case(
        "heads-divide-among-ranks",
        {**SPREAD, "model.num_heads": 12},
        {MP: 4},
        {MP: 5},
        MP,
        "5 ranks can't divide num_heads 12",
    ),
    case(
        "heads-divide-among-ranks",
        {**SPREAD, "model.num_heads": 12, MP: 2, "parallel_config.context_parallel_algo": "ulysses_cp"},
        {CP: 2},
        {CP: 4},
        MP,
        "8 ranks can't divide num_heads 12",
    ),
    case(
        "heads-divide-among-ranks",
        {"model.num_heads": 12, MP: 5, CP: 5, "parallel_config.context_parallel_algo": "ulysses_cp"},
        {},
        SPREAD,
        MP,
        "25 ranks can't divide num_heads 12",
    ),
    case(
        "key-value-heads-divide",
        {**SPREAD, "model.num_kv_heads": 4},
        {MP: 2},
        {MP: 8},
        MP,
        "8 ranks can't divide 4 key/value heads",
    ),
    case(
        "widths-divide-among-ranks",
        {**SPREAD, MP: 4},
        {"model.hidden_size": 48, "model.inner_size": 64},
        {"model.hidden_size": 48, "model.inner_size": 66},
        "model.model_config.intermediate_size",
        "66 is not divisible by model_parallel 4",
    ),
    case(
        "vocabulary-is-padded",
        {**SPREAD, MP: 8, "parallel_config.vocab_emb_dp": False},
        {"model.vocab_size": 160},
        {"model.vocab_size": 161},
        "model.model_config.vocab_size",
        "161 rows are padded to 168 for model_parallel 8",
    ),
    case(
        "sequence-divides-among-ranks",
        {**SPREAD, "model.seq_length": 96},
        {CP: 4},
        {CP: 5},
        CP,
        "5 ranks can't divide seq_length 96",
    ),
    case("layers-fill-the-stages", {**SPREAD, "model.num_layers": 4}, {PP: 4}, {PP: 5}, PP, "5 stages for 4 layers"),
    case(
        "offset-of-each-stage",
        {**SPREAD, PP: 4, "model.num_layers": 30},
        {"model.offset": (0, 1, 1, 0)},
        {"model.offset": (0, 1, 0, 0)},
        "model.model_config.offset",
        "sums to 1, but 30 layers leave 2 over",
    ),
    case(
        "rows-divide-in-prediction",
        {**SPREAD, "run_mode": "predict", DP: 2},
        {"model.batch_size": 4},
        {"model.batch_size": 3},
        "model.model_config.batch_size",
        "3 is not divisible by data_parallel 2",
    ),
    case(
        "experts-to-choose",
        {"moe_config.expert_num": 4},
        {"moe_config.num_experts_chosen": 4},
        {"moe_config.num_experts_chosen": 5},
        "moe_config.num_experts_chosen",
        "5 of 4 experts can't be chosen",
    ),
    case(
        "experts-divide-among-ranks",
        {**SPREAD, "moe_config.expert_num": 8, DP: 6},
        {EP: 2},
        {EP: 3},
        EP,
        "3 ranks can't divide expert_num 8",
    ),
    case(
        "groups-of-experts",
        {**GROUPED, "moe_config.topk_group": 2},
        {"moe_config.n_group": 4},
        {"moe_config.n_group": 3},
        "moe_config.n_group",
        "3 groups can't divide 8 experts",
    ),
    case(
        "weights-of-balance-losses",
        {"moe_config.aux_loss_types": ("expert", "device")},
        {"moe_config.aux_loss_factors": (0.1, 0.2)},
        {"moe_config.aux_loss_factors": (0.1,)},
        "moe_config.aux_loss_factors",
        "1 factors for 2 aux_loss_types",
    ),
    case(
        "experts-of-the-family",
        {"model.model_config": Dense()},
        {"moe_config.expert_num": 1},
        {"moe_config.expert_num": 8},
        "moe_config.expert_num",
        "8, but DenseConfig has no experts",
    ),
    case(
        "experts-of-the-family",
        {"moe_config.expert_num": 8},
        {"model.model_config": Sparse((("num_layers", "", ""),))},
        {"model.model_config": Sparse((("moe_config.n_group", "3 can't be", "2"),))},
        "moe_config.n_group",
        "3 can't be",
    ),
    case(
        "sizes-of-the-architecture",
        {},
        {"model.model_config": Sparse((("moe_config.n_group", "3 can't be", "2"),))},
        {"model.model_config": Sparse((("n_kv_heads", "2 differs", "4"),))},
        "model.model_config.n_kv_heads",
        "2 differs",
    ),
    case(
        "experts-in-a-divided-network",
        {**SPREAD, "moe_config.expert_num": 8, PP: 2, "run_mode": "train"},
        {"moe_config.aux_loss_factor": 0.0},
        {"moe_config.aux_loss_factor": 0.1},
        PP,
        "2 stages can't add up the losses of experts yet",
    ),
    case(
        "experts-in-a-divided-network",
        {**SPREAD, "moe_config.expert_num": 8, MP: 2},
        {"parallel_config.use_seq_parallel": False},
        {"parallel_config.use_seq_parallel": True},
        "parallel_config.use_seq_parallel",
        "experts can't take parts of sequences yet",
    ),
    case(
        "choices-to-count",
        {"run_mode": "train", "callbacks": (Dense(), Recorder())},
        {"moe_config.expert_num": 8},
        {"moe_config.expert_num": 1},
        "callbacks[1]",
        "ColdHotExpertMonitor has no effect: the network has no experts",
    ),
    case(
        "choices-to-count",
        {"run_mode": "train", "moe_config.expert_num": 8, "callbacks": (Recorder(),), **SPREAD},
        {PP: 1, "parallel.parallel_mode": 3},
        {PP: 2},
        "callbacks[0]",
        "ColdHotExpertMonitor has no effect: the stages of a pipeline don't count the choices of experts",
    ),
    case(
        "choices-to-count",
        {
            "run_mode": "train",
            "moe_config.expert_num": 8,
            "tensorboard.log_expert_load_to_tensorboard": True,
            "tensorboard.tensorboard_dir": "events",
            "context.device_target": "Ascend",
            **SPREAD,
        },
        {"parallel.parallel_mode": 3},
        {"parallel.parallel_mode": 1},
        "tensorboard.log_expert_load_to_tensorboard",
        "has no effect: MindSpore divides the work, and is given no strategies for counting the choices of experts",
    ),
    case(
        "choices-to-count",
        {"run_mode": "train", "tensorboard.log_expert_load_to_tensorboard": True},
        {"tensorboard.tensorboard_dir": ""},
        {"tensorboard.tensorboard_dir": "events"},
        "tensorboard.log_expert_load_to_tensorboard",
        "has no effect: the network has no experts",
    ),
    case(
        "precision-of-the-device",
        {"context.device_target": "CPU"},
        {"model.compute_dtype": "float32", "model.rotary_dtype": "float32"},
        {"model.compute_dtype": "float16", "model.rotary_dtype": "bfloat16"},
        "model.model_config.compute_dtype",
        "all is float32 on CPU, whatever is asked for in compute_dtype, rotary_dtype",
    ),
    case(
        "loss-scale-for-float16",
        {"runner_wrapper.scale_sense": LossScaleSection()},
        {"model.compute_dtype": "float16"},
        {"model.compute_dtype": "bfloat16"},
        "runner_wrapper.scale_sense",
        "a moving loss scale is of no use in bfloat16",
    ),
    case(
        "recorded-steps",
        PROFILED,
        {"profile_start_step": 4, "profile_stop_step": 5},
        {"profile_start_step": 5, "profile_stop_step": 5},
        "profile_stop_step",
        "5 does not come after profile_start_step 5",
    ),
    case(
        "recorded-collectives",
        {**PROFILED, "profile_communication": True},
        {"init_start_profile": True},
        {"init_start_profile": False},
        "profile_communication",
        "True needs init_start_profile",
    ),
    case(
        "profile-without-tuning",
        {"profile": True},
        {"auto_tune": False},
        {"auto_tune": True},
        "auto_tune",
        "True counts as False while profile is on",
    ),
    case(
        "spikes-to-look-for",
        {"run_mode": "train", "monitor_config.monitor_on": True, "monitor_config.global_norm_spike_threshold": 2.0},
        {"use_skip_data_by_global_norm": True},
        {"use_skip_data_by_global_norm": False},
        "monitor_config.global_norm_spike_threshold",
        "says nothing while check_for_global_norm and use_skip_data_by_global_norm are off",
    ),
    case(
        "spikes-to-look-for",
        {"run_mode": "train", "monitor_config.monitor_on": True, "monitor_config.loss_spike_window": 20},
        {"monitor_config.skip_loss_spikes": True},
        {"monitor_config.check_for_global_norm": True},
        "monitor_config.loss_spike_window",
        "says nothing while check_for_loss and skip_loss_spikes are off",
    ),
]

WITH_WHOLE_FILES = {"architecture-of-the-family", "architecture-is-built"}
"""Rules about components, which the tests with whole files break."""


def configured(keys: Mapping[str, Any]) -> Checked:
    """A configuration with some keys set, all of them written at line 1; `model.x` is a fact of the model's section."""
    facts = {path.partition(".")[2]: value for path, value in keys.items() if path.startswith("model.")}
    config = RunConfig()
    for path, value in keys.items():
        if not path.startswith("model."):
            config = with_key(config, path.split("."), value)
    family = facts.pop("model_config", None) or SimpleNamespace(**facts)
    config = replace(config, model=replace(config.model, model_config=family))
    written = [*keys, *(f"model.model_config.{name}" for name in facts)]
    return Checked(config, dict.fromkeys(written, Location("run.yaml", 1)), frozenset(), frozenset(), "run.yaml")


def with_key(section: Any, names: list[str], value: Any) -> Any:
    """A copy of a section with one key set, however deep."""
    if len(names) > 1:
        value = with_key(getattr(section, names[0]), names[1:], value)
    return replace(section, **{names[0]: value})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_both_sides_of_the_border(case: Case) -> None:
    (rule,) = [rule for rule in RULES if rule.id == case.rule]
    assert list(rule.problems(configured(case.good))) == []
    found = list(rule.problems(configured(case.bad)))
    assert [(problem.path, problem.what) for problem in found] == [(case.path, case.what)]
    assert {(problem.severity, problem.rule) for problem in found} == {(rule.severity, rule.id)}


def test_every_rule_is_tested_and_has_a_name_of_its_own() -> None:
    names = [rule.id for rule in RULES]
    assert sorted(names) == sorted({case.rule for case in CASES} | WITH_WHOLE_FILES)
    assert all(rule.doc.endswith(".") and rule.keys for rule in RULES)


def serious(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems if problem.severity in (Severity.ERROR, Severity.BLOCKER)]


def without(text: str, section: str) -> str:
    """The file without one top-level section."""
    kept, keep = [], True
    for line in text.splitlines(keepends=True):
        if not line.startswith(" "):
            keep = not line.startswith(f"{section}:")
        kept.append(line if keep else "")
    return "".join(kept)


def test_a_right_file_breaks_no_rule(problems_of: ProblemsOf, train_file: str) -> None:
    assert serious(problems_of(train_file)) == []


@pytest.mark.parametrize("section", ["train_dataset_task", "optimizer", "trainer"])
def test_training_needs_its_sections(problems_of: ProblemsOf, train_file: str, section: str) -> None:
    assert serious(problems_of(without(train_file, section))) == [
        f"run.yaml: {section}: blocks the run: is missing, and run_mode train needs it. Allowed: a value or section."
    ]


def test_evaluation_while_training_needs_its_sections(problems_of: ProblemsOf, train_file: str) -> None:
    assert serious(problems_of(train_file, "do_eval=True")) == [
        f"run.yaml: {section}: blocks the run: is missing, and run_mode train with do_eval needs it. "
        "Allowed: a value or section."
        for section in ("eval_dataset", "eval_dataset_task", "metric")
    ]


@pytest.mark.parametrize(
    ("mode", "needed"),
    [
        ("eval", ["eval_dataset", "eval_dataset_task", "load_checkpoint", "metric"]),
        ("predict", ["input_data", "load_checkpoint"]),
    ],
)
def test_other_run_modes_need_other_sections(
    problems_of: ProblemsOf, train_file: str, mode: str, needed: list[str]
) -> None:
    text = without(without(without(train_file, "optimizer"), "train_dataset_task"), "train_dataset")
    found = [problem for problem in problems_of(text, f"run_mode={mode}") if problem.severity is Severity.BLOCKER]
    assert [problem.path for problem in found] == needed


def test_the_network_belongs_to_the_family(problems_of: ProblemsOf, train_file: str) -> None:
    assert serious(problems_of(train_file.replace("ToyForCausalLM", "ToyForCausallm2"))) == [
        "run.yaml:13: model.arch.type: ToyForCausallm2 is not a network of ToyConfig. "
        "Allowed: ToyForCausalLM, ToyForReading. Did you mean ToyForCausalLM?"
    ]


def test_a_network_that_is_not_built_yet_blocks_the_run(problems_of: ProblemsOf, train_file: str) -> None:
    assert serious(problems_of(train_file.replace("ToyForCausalLM", "ToyForReading"))) == [
        "run.yaml:13: model.arch.type: blocks the run: ToyForReading is valid, but can't be run yet: "
        "it can't read. Allowed: ToyForCausalLM."
    ]


def test_a_dataset_that_is_not_read_needs_no_tokenizer(problems_of: ProblemsOf, train_file: str) -> None:
    overrides = ("run_mode=predict", "input_data=hello", "load_checkpoint=here")
    assert serious(problems_of(without(train_file, "processor"), *overrides)) == []


def test_rules_and_unreadable_keys_are_reported_together(problems_of: ProblemsOf, train_file: str) -> None:
    found = problems_of(
        without(train_file, "optimizer"), "seed=x", "runner_config.sink_size=2", "runner_config.sink_mode=no"
    )
    assert {"seed", "optimizer", "runner_config.sink_size"} <= {problem.path for problem in found}


@pytest.mark.parametrize(
    ("override", "silent"),
    [
        ("optimizer.type=ToyAdm", "optimizer"),
        ("optimizer.learning_rate=x", "optimizer.learning_rate"),
        ("run_mode=evl", "metric"),
        ("runner_config.batch_size=x", "runner_config.sink_size"),
    ],
)
def test_rules_wait_until_their_keys_can_be_read(
    problems_of: ProblemsOf, train_file: str, override: str, silent: str
) -> None:
    found = problems_of(train_file, override, "runner_config.sink_size=2", "runner_config.sink_mode=no")
    assert silent not in {problem.path for problem in found if problem.rule}
    assert override.partition("=")[0] in {problem.path for problem in found if problem.severity is Severity.ERROR}

"""`parallel` and `parallel_config`: how a job is spread over devices."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from mf_config.schema import key

_NO_SEARCH = "the layout is the one that the file gives"
_NO_SEARCH_ON_CPU = {"CPU": _NO_SEARCH}
_BY_MF_ON_CPU = {"CPU": "mf divides the work itself there"}
_OWN_ROWS = "every rank reads its own rows"
_STRATEGY_FILES = "the layout of a checkpoint is in its layout.json"
_MODES = ("DATA_PARALLEL", "SEMI_AUTO_PARALLEL", "AUTO_PARALLEL", "HYBRID_PARALLEL", "STAND_ALONE")


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerShardingSection:
    """`parallel_optimizer_config`: what of the optimizer is divided among data-parallel ranks."""

    gradient_accumulation_shard: bool = key(
        "Divide gradients too while micro batches add up; a step of one micro batch has nothing to divide.", False
    )
    parallel_optimizer_threshold: int = key(
        "Parameters whose piece on a rank is smaller than this stay whole.", 64, minimum=0, unit="KB"
    )
    optimizer_weight_shard_size: int = key(
        "Ranks that share one copy of the state; -1 for all data-parallel ranks.", -1, minimum=-1
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What is wrong: key name, what, what is allowed."""
        if self.optimizer_weight_shard_size == 0:
            yield "optimizer_weight_shard_size", "0 is out of range", "-1, or from 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyFileSection:
    """`strategy_ckpt_config`: MindSpore's file of parameter layouts."""

    save_file: str = key("Where it is written.", "./ckpt_strategy.ckpt")
    load_file: str | None = key("Where a layout is read from.", None)
    only_trainable_params: bool = key("Leave the layouts of frozen parameters out.", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSection:
    """`pipeline_config`: the order in which a pipeline works."""

    pipeline_interleave: bool = key(
        "Give each stage several parts of the network.", False, inert="model_config.pp_interleave_num says how many"
    )
    pipeline_scheduler: Literal["1f1b", "gpipe", "seqpipe", "seqvpp", "seqsmartvpp", "zero_bubble_v"] = key(
        "The order of forward and backward passes.",
        "1f1b",
        pending="this order is not built",
        runs=("1f1b", "gpipe"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelSection:
    """What is handed to MindSpore's automatic parallelism."""

    parallel_mode: Literal[
        0,
        1,
        2,
        3,
        "DATA_PARALLEL",
        "SEMI_AUTO_PARALLEL",
        "AUTO_PARALLEL",
        "HYBRID_PARALLEL",
        "STAND_ALONE",
        "data_parallel",
        "semi_auto_parallel",
        "auto_parallel",
        "hybrid_parallel",
        "stand_alone",
    ] = key(
        "Who divides the work: 0 or DATA_PARALLEL rows only, 1 or SEMI_AUTO_PARALLEL the degrees of parallel_config, "
        "2 or AUTO_PARALLEL a search, 3 or HYBRID_PARALLEL the program itself.",
        1,
        inert_on={"CPU": "the degrees of parallel_config are executed by mf itself"},
        mindspore="set_auto_parallel_context(parallel_mode)",
    )
    gradients_mean: bool = key(
        "Average gradients over ranks instead of adding them.", True, inert="gradients are averaged over all tokens"
    )
    enable_alltoall: bool = key(
        "Allow AllToAll in place of AllGather and Split, where MindSpore divides the work.",
        False,
        inert_on=_BY_MF_ON_CPU,
        mindspore="set_auto_parallel_context(enable_alltoall)",
    )
    full_batch: bool = key(
        "Every rank reads the rows of all where MindSpore divides the work, which cuts its own out of them; else its "
        "own rows alone. AUTO_PARALLEL needs True.",
        True,
        inert_on={"CPU": _OWN_ROWS},
        mindspore="set_auto_parallel_context(full_batch)",
    )
    dataset_strategy: str | tuple[tuple[int, ...], ...] = key(
        "How rows are read where MindSpore divides the work: full_batch, or data_parallel, which leaves it to "
        "full_batch, or for each input how many ranks share each dimension: those with different rows, and 1.",
        "data_parallel",
        inert_on={"CPU": _OWN_ROWS},
        mindspore="set_auto_parallel_context(dataset_strategy)",
    )
    search_mode: Literal["sharding_propagation", "recursive_programming", "dynamic_programming"] = key(
        "How AUTO_PARALLEL looks for a layout; mf-train plan compiles what it finds, and no run trains with it.",
        "recursive_programming",
        inert_on=_NO_SEARCH_ON_CPU,
        mindspore="set_auto_parallel_context(search_mode)",
    )
    auto_pipeline: bool = key("Let the search choose the number of stages.", False, inert=_NO_SEARCH)
    enable_parallel_optimizer: bool = key("Divide optimizer state and updates among data-parallel ranks (ZeRO).", False)
    parallel_optimizer_config: OptimizerShardingSection = key(
        "What of the optimizer is divided, with enable_parallel_optimizer.", OptimizerShardingSection()
    )
    pipeline_config: PipelineSection = key("The order in which a pipeline works.", PipelineSection())
    strategy_ckpt_save_file: str = key(
        "Where MindSpore writes the layouts of the parameters that it divides, one file a rank: NAME_rank_0.ckpt; "
        "where the folder is not absolute, in the folder strategy of output_dir.",
        "./ckpt_strategy.ckpt",
        inert_on={"CPU": _STRATEGY_FILES},
        mindspore="set_auto_parallel_context(strategy_ckpt_save_file)",
    )
    strategy_ckpt_load_file: str | None = key(
        "What an earlier run has written to strategy_ckpt_save_file, named as that key is: a run whose parameters "
        "MindSpore divides otherwise is refused. MindSpore 2.10 itself divides nothing by such a file.",
        None,
        inert_on={"CPU": _STRATEGY_FILES},
    )
    strategy_ckpt_config: StrategyFileSection = key(
        "MindSpore's file of parameter layouts.",
        StrategyFileSection(),
        inert="strategy_ckpt_save_file and strategy_ckpt_load_file count",
    )
    loss_repeated_mean: bool = key(
        "Average losses that ranks compute twice.", True, inert="the loss is a mean over tokens, each counted once"
    )
    device_num: int | None = key(
        "Devices of the job; as many as the launcher starts where not given.",
        None,
        minimum=1,
        inert="the launcher knows how many processes it starts",
    )
    pipeline_stages: int = key("Pipeline stages.", 1, minimum=1, inert="parallel_config.pipeline_stage counts")
    parameter_broadcast: bool = key(
        "Send rank 0's first weights to the others.", False, inert="all ranks draw the same first weights"
    )
    communi_parallel_mode: Literal["all_group_parallel", "no_group_parallel", "same_server_group_parallel"] = key(
        "Which groups communicate at the same time.", "all_group_parallel", inert="the device's library decides"
    )
    comm_fusion: dict[str, Any] | None = key(
        "Sizes of merged collectives.", None, inert="small gradients are merged by mf itself"
    )

    @property
    def mode(self) -> str:
        """The parallel mode by its upper-case name."""
        return _MODES[self.parallel_mode] if isinstance(self.parallel_mode, int) else self.parallel_mode.upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelDegrees:
    """Degrees of the mesh; their product is the number of devices."""

    data_parallel: int = key(
        "Processes that hold the same weights and take different rows; 1 for as many as the launcher started.",
        1,
        minimum=1,
    )
    model_parallel: int = key("Ranks among which the matrices of a layer are divided.", 1, minimum=1)
    context_parallel: int = key("Ranks among which the tokens of a row are divided.", 1, minimum=1)
    context_parallel_algo: Literal["colossalai_cp", "ulysses_cp", "hybird_cp", "hybrid_cp"] = key(
        "How divided rows meet in attention: keys gathered (colossalai_cp), heads exchanged (ulysses_cp), both.",
        "colossalai_cp",
    )
    ulysses_degree_in_cp: int = key("Ranks of hybrid_cp that exchange heads.", 1, minimum=1)
    expert_parallel: int = key("Ranks of data_parallel among which the experts of a layer are divided.", 1, minimum=1)
    pipeline_stage: int = key("Ranks among which the layers are divided.", 1, minimum=1)
    micro_batch_num: int = key(
        "Parts of a batch that follow each other through the pipeline; without one it says nothing.",
        1,
        minimum=1,
    )
    seq_split_num: int = key("Parts of a sequence in a seqpipe pipeline.", 1, minimum=1, inert="there is no pipeline")
    use_seq_parallel: bool = key(
        "Divide norms and residuals along the sequence among the ranks of model_parallel.",
        False,
    )
    gradient_aggregation_group: int = key(
        "Groups in which the gradients of layers are sent together.",
        4,
        minimum=1,
        inert="gradients are sent in buckets of one size",
    )
    vocab_emb_dp: bool = key(
        "Keep embedding and head whole on every rank instead of dividing their rows by model_parallel; a pipeline "
        "divides them in any case.",
        True,
    )
    optimizer_shard: bool | None = key(
        "Divide the optimizer state.",
        None,
        inert="enable_parallel_optimizer counts",
        deprecated="since 0.7: enable_parallel_optimizer",
    )
    mem_coeff: float = key(
        "How much the search for a layout cares for memory: small favours data parallelism.",
        0.1,
        above=0,
        inert_on=_NO_SEARCH_ON_CPU,
    )
    auto_parallel: bool = key("Whether a layout is searched for.", False, inert=_NO_SEARCH)

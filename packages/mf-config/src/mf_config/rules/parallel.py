"""How the degrees of parallelism fit together; nothing of it counts where `use_parallel` is off."""

from collections.abc import Iterator

from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule
from mf_config.sections.parallel import ParallelDegrees

_DEGREES = "parallel_config"
_MODEL_PARALLEL, _CONTEXT_PARALLEL = f"{_DEGREES}.model_parallel", f"{_DEGREES}.context_parallel"


def _active(checked: Checked) -> Iterator[ParallelDegrees]:
    """The degrees where they count, else nothing."""
    if checked.config.use_parallel and checked.config.parallel.mode not in ("DATA_PARALLEL", "STAND_ALONE"):
        yield checked.config.parallel_config


@rule("device-product", Severity.ERROR, "parallel.device_num", _DEGREES)
def device_product(checked: Checked) -> Iterator[Finding]:
    """The product of the degrees is the number of devices; data_parallel 1 stands for all that the others leave."""
    devices = checked.config.parallel.device_num
    for degrees in _active(checked):
        others = degrees.model_parallel * degrees.context_parallel * degrees.pipeline_stage
        product = degrees.data_parallel * others
        if devices is None or devices == product or (degrees.data_parallel == 1 and devices % others == 0):
            continue
        made = (
            f"data_parallel {degrees.data_parallel} x model_parallel {degrees.model_parallel} x "
            f"context_parallel {degrees.context_parallel} x pipeline_stage {degrees.pipeline_stage}"
        )
        yield Finding("parallel.device_num", f"{devices} devices, but {made} = {product}", str(product))


@rule("powers-of-two-for-the-search", Severity.ERROR, "parallel.search_mode", _DEGREES)
def powers_of_two_for_the_search(checked: Checked) -> Iterator[Finding]:
    """The recursive search halves again and again, so each stage has a power of two of devices."""
    parallel = checked.config.parallel
    if parallel.mode != "AUTO_PARALLEL" or parallel.search_mode != "recursive_programming":
        return
    for degrees in _active(checked):
        per_stage = degrees.data_parallel * degrees.model_parallel * degrees.context_parallel
        if per_stage & (per_stage - 1):
            what = f"{per_stage} devices of a stage are no power of two, which recursive_programming needs"
            yield Finding(f"{_DEGREES}.data_parallel", what, "1, 2, 4, 8, …")


@rule("micro-batches-fill-the-pipeline", Severity.ERROR, "parallel_config.micro_batch_num", _DEGREES)
def micro_batches_fill_the_pipeline(checked: Checked) -> Iterator[Finding]:
    """A pipeline has at least as many micro batches as stages, with interleaved chunks a multiple of them."""
    chunks = checked.model("pp_interleave_num") or 1
    for degrees in _active(checked):
        stages, parts = degrees.pipeline_stage, degrees.micro_batch_num
        if not checked.trains or stages == 1:
            continue
        if parts < stages:
            yield Finding(
                f"{_DEGREES}.micro_batch_num", f"{parts} is less than pipeline_stage {stages}", f"from {stages}"
            )
        elif chunks > 1 and parts % stages:
            what = f"{parts} is no multiple of pipeline_stage {stages}, and pp_interleave_num is {chunks}"
            yield Finding(f"{_DEGREES}.micro_batch_num", what, f"multiples of {stages}")


@rule("pipelines-only-train", Severity.ERROR, "parallel_config.pipeline_stage", "run_mode")
def pipelines_only_train(checked: Checked) -> Iterator[Finding]:
    """Evaluation and prediction have one pipeline stage."""
    for degrees in _active(checked):
        if not checked.trains and degrees.pipeline_stage > 1:
            what = f"{degrees.pipeline_stage} stages can't be used in run_mode {checked.config.run_mode}"
            yield Finding(f"{_DEGREES}.pipeline_stage", what, "1")


@rule("whole-batch-in-data-parallel", Severity.WARNING, "parallel.full_batch", "parallel.parallel_mode")
def whole_batch_in_data_parallel(checked: Checked) -> Iterator[Finding]:
    """In DATA_PARALLEL mode each rank reads its own rows, so full_batch is False."""
    parallel = checked.config.parallel
    written = checked.is_written("parallel.full_batch")
    if checked.config.use_parallel and parallel.mode == "DATA_PARALLEL" and parallel.full_batch and written:
        yield Finding("parallel.full_batch", "True is taken as False in DATA_PARALLEL mode", "False")


@rule("degrees-in-data-parallel", Severity.WARNING, _DEGREES, "parallel.parallel_mode")
def degrees_in_data_parallel(checked: Checked) -> Iterator[Finding]:
    """DATA_PARALLEL divides rows only: the other degrees are 1."""
    config = checked.config
    if not config.use_parallel or config.parallel.mode != "DATA_PARALLEL":
        return
    for name in ("model_parallel", "context_parallel", "pipeline_stage"):
        degree = getattr(config.parallel_config, name)
        if degree > 1:
            yield Finding(f"{_DEGREES}.{name}", f"{degree} does not fit DATA_PARALLEL, which divides rows only", "1")


@rule("sequence-parallel-has-ranks", Severity.WARNING, "parallel_config.use_seq_parallel", _DEGREES)
def sequence_parallel_has_ranks(checked: Checked) -> Iterator[Finding]:
    """use_seq_parallel divides sequences among the ranks of model_parallel, so there are at least two of them."""
    for degrees in _active(checked):
        if degrees.use_seq_parallel and degrees.model_parallel == 1:
            yield Finding(f"{_DEGREES}.use_seq_parallel", "divides nothing while model_parallel is 1", "False")
        elif degrees.use_seq_parallel and degrees.context_parallel > 1:
            yield Finding(f"{_DEGREES}.use_seq_parallel", "is off while context_parallel divides sequences", "False")


@rule("optimizer-shards-divide-ranks", Severity.ERROR, "parallel.parallel_optimizer_config.optimizer_weight_shard_size")
def optimizer_shards_divide_ranks(checked: Checked) -> Iterator[Finding]:
    """optimizer_weight_shard_size divides data_parallel."""
    parallel = checked.config.parallel
    size = parallel.parallel_optimizer_config.optimizer_weight_shard_size
    for degrees in _active(checked):
        ranks = degrees.data_parallel
        if parallel.enable_parallel_optimizer and size > 0 and ranks % size:
            path = "parallel.parallel_optimizer_config.optimizer_weight_shard_size"
            yield Finding(path, f"{size} does not divide data_parallel {ranks}", "-1, or a divisor of it")


@rule("interleaving-overlaps-communication", Severity.WARNING, "model.model_config.fine_grain_interleave", _DEGREES)
def interleaving_overlaps_communication(checked: Checked) -> Iterator[Finding]:
    """fine_grain_interleave hides the communication of use_seq_parallel or context_parallel, so one of them is on."""
    parts = checked.model("fine_grain_interleave")
    for degrees in _active(checked):
        if parts and parts > 1 and not degrees.use_seq_parallel and degrees.context_parallel == 1:
            what = f"{parts} overlaps nothing without use_seq_parallel or context_parallel"
            yield Finding("model.model_config.fine_grain_interleave", what, "1")


@rule("recomputed-layers-of-each-stage", Severity.ERROR, "recompute_config.recompute", _DEGREES)
def recomputed_layers_of_each_stage(checked: Checked) -> Iterator[Finding]:
    """A list of recomputed layers has at most one number for each pipeline stage."""
    recompute = checked.config.recompute_config
    for degrees in _active(checked):
        for name in ("recompute", "select_recompute", "select_comm_recompute"):
            counts = getattr(recompute, name)
            if (
                not checked.trains
                or not isinstance(counts, tuple)
                or any(isinstance(item, str | tuple) for item in counts)
            ):
                continue
            if len(counts) > degrees.pipeline_stage:
                what = f"{len(counts)} numbers for pipeline_stage {degrees.pipeline_stage}"
                yield Finding(f"recompute_config.{name}", what, "one number a stage")


@rule("further-tokens-in-a-divided-network", Severity.BLOCKER, "model.model_config.mtp_depth", _DEGREES)
def further_tokens_in_a_divided_network(checked: Checked) -> Iterator[Finding]:
    """What predicts further tokens takes whole sequences, beside the embedding and all blocks."""
    depth = getattr(checked.config.model.model_config, "mtp_depth", 0)
    for degrees in _active(checked):
        divides_tokens = degrees.use_seq_parallel and degrees.model_parallel > 1
        if depth and checked.trains and (degrees.pipeline_stage > 1 or divides_tokens):
            what = f"{depth}, but further tokens can't be predicted by parts of a network or of a sequence yet"
            yield Finding("model.model_config.mtp_depth", what, "0, or pipeline_stage: 1 and use_seq_parallel: False")


@rule("latent-attention-in-a-divided-network", Severity.BLOCKER, _MODEL_PARALLEL, "model.model_config")
def latent_attention_in_a_divided_network(checked: Checked) -> Iterator[Finding]:
    """The compressed keys and values of DeepSeek's attention are not divided among ranks of model_parallel."""
    if not getattr(checked.config.model.model_config, "kv_lora_rank", 0):
        return
    for degrees in _active(checked):
        if degrees.model_parallel > 1:
            what = f"{degrees.model_parallel} ranks can't divide attention over compressed keys and values yet"
            yield Finding(_MODEL_PARALLEL, what, "1")


@rule("scaling-by-length-in-divided-rows", Severity.BLOCKER, _CONTEXT_PARALLEL, "model.model_config")
def scaling_by_length_in_divided_rows(checked: Checked) -> Iterator[Finding]:
    """Rotary positions that are scaled by the length of a text need all of it on one rank."""
    method = str(getattr(checked.config.model.model_config, "extend_method", ""))
    for degrees in _active(checked):
        if degrees.context_parallel > 1 and method.startswith("DYNAMIC"):
            what = f"{degrees.context_parallel} ranks share a row, whose length extend_method {method} has to know"
            yield Finding(_CONTEXT_PARALLEL, what, "1, or another extend_method")


RULES = (
    device_product,
    powers_of_two_for_the_search,
    micro_batches_fill_the_pipeline,
    pipelines_only_train,
    whole_batch_in_data_parallel,
    degrees_in_data_parallel,
    sequence_parallel_has_ranks,
    optimizer_shards_divide_ranks,
    interleaving_overlaps_communication,
    recomputed_layers_of_each_stage,
    further_tokens_in_a_divided_network,
    latent_attention_in_a_divided_network,
    scaling_by_length_in_divided_rows,
)

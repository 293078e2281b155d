"""Batches, steps and the schedule over them."""

from collections.abc import Iterator

from mf_config.components import type_name
from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule


@rule("global-batch", Severity.NOTE, "runner_config.batch_size", "parallel_config.data_parallel")
def global_batch(checked: Checked) -> Iterator[Finding]:
    """The global batch is batch_size times data_parallel, micro batches, accumulation and interleaving."""
    config = checked.config
    if not checked.trains:
        return
    degrees = config.parallel_config if config.use_parallel else None
    piped = degrees is not None and degrees.pipeline_stage > 1
    factors = {
        "batch_size": config.runner_config.batch_size,
        "data_parallel": degrees.data_parallel if degrees else 1,
        "micro_batch_num": degrees.micro_batch_num if degrees and piped else 1,
        "gradient_accumulation_steps": 1 if piped else config.runner_config.gradient_accumulation_steps,
        "micro_batch_interleave_num": config.micro_batch_interleave_num,
    }
    rows = 1
    for factor in factors.values():
        rows *= factor
    made = " x ".join(f"{name} {factor}" for name, factor in factors.items() if factor > 1 or name == "batch_size")
    seq_length = checked.model("seq_length")
    tokens = f", {rows * seq_length:,} tokens" if seq_length else ""
    per_process = " for each process" if degrees is None or degrees.data_parallel == 1 else ""
    yield Finding("runner_config.batch_size", f"one step takes {rows:,} rows{tokens}{per_process} ({made})")


@rule("sink-size-in-sink-mode", Severity.NOTE, "runner_config.sink_size", "runner_config.sink_mode")
def sink_size_in_sink_mode(checked: Checked) -> Iterator[Finding]:
    """sink_size says something only in sink mode."""
    runner = checked.config.runner_config
    if not runner.sink_mode and runner.sink_size != -1:
        yield Finding("runner_config.sink_size", f"{runner.sink_size} says nothing while sink_mode is off", "-1")


@rule("accumulation-or-pipeline", Severity.WARNING, "runner_config.gradient_accumulation_steps", "parallel_config")
def accumulation_or_pipeline(checked: Checked) -> Iterator[Finding]:
    """In a pipeline the micro batches accumulate, and gradient_accumulation_steps counts as 1."""
    config = checked.config
    steps = config.runner_config.gradient_accumulation_steps
    if config.use_parallel and config.parallel_config.pipeline_stage > 1 and steps > 1:
        what = f"{steps} counts as 1 in a pipeline: its micro batches accumulate"
        yield Finding("runner_config.gradient_accumulation_steps", what, "1, and a larger micro_batch_num")


@rule("warm-up-ends-before-the-run", Severity.WARNING, "lr_schedule.warmup_steps", "lr_schedule.total_steps")
def warm_up_ends_before_the_run(checked: Checked) -> Iterator[Finding]:
    """The warm-up of a schedule is shorter than its total_steps, where these are given."""
    schedule = checked.config.lr_schedule
    total = getattr(schedule, "total_steps", None)
    steps = getattr(schedule, "warmup_steps", None)
    if not checked.trains or not total or total < 0 or getattr(schedule, "warmup_ratio", None) is not None:
        return
    if steps and steps >= total:
        what = f"{steps} leaves none of the {total} total_steps at the full rate"
        yield Finding("lr_schedule.warmup_steps", what, f"below {total}")


@rule("one-length-of-warm-up", Severity.NOTE, "lr_schedule.warmup_ratio", "lr_schedule.warmup_steps")
def one_length_of_warm_up(checked: Checked) -> Iterator[Finding]:
    """Where warmup_ratio and warmup_steps are both given, the ratio counts."""
    schedule = checked.config.lr_schedule
    steps = getattr(schedule, "warmup_steps", None)
    if steps and getattr(schedule, "warmup_ratio", None) is not None:
        yield Finding("lr_schedule.warmup_steps", f"{steps} does not count: warmup_ratio does")


@rule("groups-of-schedules", Severity.ERROR, "grouped_lr_schedule", "lr_schedule.params")
def groups_of_schedules(checked: Checked) -> Iterator[Finding]:
    """Each schedule of a group says whose it is, and no other does; there is one for all other parameters."""
    groups, schedule = checked.config.grouped_lr_schedule, checked.config.lr_schedule
    if groups is not None and checked.is_written("lr_schedule") and groups.default not in (None, schedule):
        yield Finding("grouped_lr_schedule.default", "lr_schedule is there too", "one of them")
    if getattr(schedule, "params", ()):
        yield Finding("lr_schedule.params", "only schedules of grouped_lr_schedule.grouped have parameters", "none")
    for number, group in enumerate(groups.grouped if groups is not None else ()):
        if not getattr(group, "params", ()):
            what = "is missing: which parameters follow this schedule"
            yield Finding(f"grouped_lr_schedule.grouped[{number}].params", what, "patterns of names")


@rule("rate-falls", Severity.WARNING, "lr_schedule.lr_end", "lr_schedule.learning_rate")
def rate_falls(checked: Checked) -> Iterator[Finding]:
    """A schedule ends at a rate no higher than the one it starts from."""
    schedule = checked.config.lr_schedule
    rate, end = getattr(schedule, "learning_rate", None), getattr(schedule, "lr_end", None)
    if checked.trains and rate is not None and end is not None and end > rate:
        yield Finding("lr_schedule.lr_end", f"{end:g} is above the learning_rate {rate:g}", f"up to {rate:g}")


@rule("lengths-of-prompt-and-answer", Severity.ERROR, "train_dataset.max_source_length", "train_dataset_task")
def lengths_of_prompt_and_answer(checked: Checked) -> Iterator[Finding]:
    """Rows of KeyWordGenDataset hold a prompt, an answer and one more token: together seq_length."""
    config, seq_length = checked.config, checked.model("seq_length")
    task, rows = config.train_dataset_task, config.train_dataset
    if not checked.trains or rows is None or task is None or seq_length is None:
        return
    if type_name(task) != "KeyWordGenDataset":
        return
    if rows.max_source_length is None or rows.max_target_length is None:
        return
    total = rows.max_source_length + rows.max_target_length + 1
    if total != seq_length:
        what = f"max_source_length + max_target_length + 1 is {total}, but seq_length is {seq_length}"
        yield Finding("train_dataset.max_source_length", what, f"lengths that sum to {seq_length - 1}")


RULES = (
    global_batch,
    sink_size_in_sink_mode,
    accumulation_or_pipeline,
    warm_up_ends_before_the_run,
    one_length_of_warm_up,
    groups_of_schedules,
    rate_falls,
    lengths_of_prompt_and_answer,
)

"""What a run starts from: weights, a former run, or nothing."""

from collections.abc import Iterator

from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule
from mf_config.suggest import nearest


@rule("weights-to-start-from", Severity.BLOCKER, "load_checkpoint", "resume_training", "run_mode")
def weights_to_start_from(checked: Checked) -> Iterator[Finding]:
    """finetune, eval and predict start from weights: load_checkpoint, or for finetune a run that is resumed."""
    config = checked.config
    if (
        config.run_mode == "train"
        or config.load_checkpoint
        or (config.run_mode == "finetune" and config.resume_training)
    ):
        return
    allowed = "a checkpoint" + (", or run_mode train for new weights" if config.run_mode == "finetune" else "")
    yield Finding("load_checkpoint", f"is missing, and run_mode {config.run_mode} starts from weights", allowed)


@rule("resume-by-name", Severity.ERROR, "resume_training")
def resume_by_name(checked: Checked) -> Iterator[Finding]:
    """resume_training is a boolean or the name of a checkpoint, which has a number or an ending in it."""
    name = checked.config.resume_training
    if isinstance(name, str) and "." not in name and not any(character.isdigit() for character in name):
        allowed = "True, False, or the name of a checkpoint"
        yield Finding("resume_training", f"{name} is neither", allowed, nearest(name, ("True", "False")))


@rule("name-needs-a-folder", Severity.BLOCKER, "resume_training", "load_checkpoint")
def name_needs_a_folder(checked: Checked) -> Iterator[Finding]:
    """A checkpoint named by resume_training lies in the folder load_checkpoint."""
    config = checked.config
    if isinstance(config.resume_training, str) and not config.load_checkpoint:
        what = f"{config.resume_training} names a checkpoint, but load_checkpoint is not set"
        yield Finding("resume_training", what, "True, or a folder in load_checkpoint")


@rule("something-to-convert", Severity.WARNING, "auto_trans_ckpt", "load_checkpoint")
def something_to_convert(checked: Checked) -> Iterator[Finding]:
    """auto_trans_ckpt converts load_checkpoint, so that is set."""
    if checked.config.auto_trans_ckpt and not checked.config.load_checkpoint:
        yield Finding("auto_trans_ckpt", "there is nothing to convert: load_checkpoint is not set")


@rule("layout-of-a-sliced-source", Severity.WARNING, "src_strategy_path_or_dir", "load_checkpoint")
def layout_of_a_sliced_source(checked: Checked) -> Iterator[Finding]:
    """src_strategy_path_or_dir describes load_checkpoint, so that is set."""
    if checked.config.src_strategy_path_or_dir and not checked.config.load_checkpoint:
        yield Finding("src_strategy_path_or_dir", "describes nothing: load_checkpoint is not set")


@rule("layouts-of-frozen-weights", Severity.WARNING, "parallel.strategy_ckpt_config.only_trainable_params", "model")
def layouts_of_frozen_weights(checked: Checked) -> Iterator[Finding]:
    """With pet_config most weights are frozen, and a file of layouts without them can't place a checkpoint."""
    section = "parallel.strategy_ckpt_config"
    if checked.model("pet_config") is None or not checked.is_written(section):
        return
    if checked.config.parallel.strategy_ckpt_config.only_trainable_params:
        what = "True leaves out the layouts of all weights that pet_config freezes"
        yield Finding(f"{section}.only_trainable_params", what, "False")


RULES = (
    weights_to_start_from,
    resume_by_name,
    name_needs_a_folder,
    something_to_convert,
    layout_of_a_sliced_source,
    layouts_of_frozen_weights,
)

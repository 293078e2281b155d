"""What a run mode needs to find in the file."""

from collections.abc import Iterator, Mapping
from typing import Any

from mf_config.components import type_name
from mf_config.problems import Severity, name_values
from mf_config.rules.rule import Checked, Finding, rule
from mf_config.suggest import nearest

_EVALUATED = ("eval_dataset", "eval_dataset_task", "metric")
"""What an evaluation needs, in a run of its own or while training."""


@rule("sections-of-the-run-mode", Severity.BLOCKER, "run_mode", "do_eval")
def sections_of_the_run_mode(checked: Checked) -> Iterator[Finding]:
    """Training needs rows and an optimizer, evaluation rows and a metric, prediction a prompt, and each run a model."""
    config = checked.config
    needed = ["model.model_config"]
    if config.run_mode != "predict":
        needed.append("trainer")
    if checked.trains:
        needed += ["train_dataset", "train_dataset_task", "optimizer"]
    if checked.evaluates:
        needed += _EVALUATED
    if config.run_mode == "predict":
        needed.append("input_data")
    for name in needed:
        if checked.is_missing(name):
            why = f"run_mode {config.run_mode}" + (" with do_eval" if checked.trains and name in _EVALUATED else "")
            yield Finding(name, f"is missing, and {why} needs it", "a value or section")


@rule("architecture-of-the-family", Severity.ERROR, "model.arch.type", "model.model_config.type")
def architecture_of_the_family(checked: Checked) -> Iterator[Finding]:
    """model.arch.type is a network that the family of model.model_config builds."""
    family, arch = checked.config.model.model_config, checked.config.model.arch
    if family is None or arch is None:
        return
    if arch.type not in family.architectures:
        what = f"{arch.type} is not a network of {type_name(family)}"
        allowed = name_values(family.architectures)
        yield Finding("model.arch.type", what, allowed, nearest(arch.type, family.architectures))


@rule("sizes-of-the-architecture", Severity.ERROR, "model.arch.type", "model.model_config.type")
def sizes_of_the_architecture(checked: Checked) -> Iterator[Finding]:
    """The sizes fit the network that model.arch.type names, also those in the section of another family."""
    family = checked.config.model.model_config
    for name, what, allowed in family.problems() if hasattr(family, "problems") else ():
        if "." not in name:
            yield Finding(f"model.model_config.{name}", what, allowed)


@rule("architecture-is-built", Severity.BLOCKER, "model.arch.type")
def architecture_is_built(checked: Checked) -> Iterator[Finding]:
    """The network of model.arch.type can be run by this version."""
    family, arch = checked.config.model.model_config, checked.config.model.arch
    if family is None or arch is None:
        return
    pending: Mapping[str, str] = getattr(family, "pending_architectures", {})
    if arch.type in pending:
        built = [name for name in family.architectures if name not in pending]
        what = f"{arch.type} is valid, but can't be run yet: {pending[arch.type]}"
        yield Finding("model.arch.type", what, name_values(built))


@rule("tokenizer-of-each-dataset", Severity.BLOCKER, "train_dataset.tokenizer", "processor.tokenizer")
def tokenizer_of_each_dataset(checked: Checked) -> Iterator[Finding]:
    """A data set of text that the run reads has a tokenizer of its own or that of processor."""
    for name, is_read in (("train_dataset", checked.trains), ("eval_dataset", checked.evaluates)):
        if not is_read or checked.is_missing(name):
            continue
        if checked.is_missing(f"{name}.tokenizer") and checked.is_missing("processor.tokenizer"):
            yield Finding(f"{name}.tokenizer", "is missing", "a section here or under processor")


@rule("learning-rate-is-given", Severity.BLOCKER, "optimizer.learning_rate", "lr_schedule")
def learning_rate_is_given(checked: Checked) -> Iterator[Finding]:
    """Without a schedule the optimizer's own constant rate counts, so it is there."""
    optimizer = checked.config.optimizer
    if not checked.trains or optimizer is None or not checked.is_missing("lr_schedule"):
        return
    if optimizer.learning_rate is None and not getattr(optimizer, "relative_step", False):
        what = "is missing, and there is no lr_schedule"
        yield Finding("optimizer.learning_rate", what, "a number, or a section lr_schedule")


@rule("paths-are-filled-in", Severity.BLOCKER, "load_checkpoint", "train_dataset.data_loader.dataset_dir")
def paths_are_filled_in(checked: Checked) -> Iterator[Finding]:
    """Paths that the run reads are real ones: neither empty nor a placeholder such as {path} or /path/to."""
    config = checked.config
    paths = {"load_checkpoint": config.load_checkpoint}
    for name, is_read in (("train_dataset", checked.trains), ("eval_dataset", checked.evaluates)):
        loader: Any = getattr(getattr(config, name), "data_loader", None)
        if is_read and hasattr(loader, "dataset_dir") and not getattr(loader, "dataset_files", None):
            paths[f"{name}.data_loader.dataset_dir"] = loader.dataset_dir or ""
    for key, path in paths.items():
        if path == "":
            yield Finding(key, "is empty", f"a file or folder; --set {key}=PATH fills it in")
        elif path is not None and any(mark in path for mark in ("{path}", "/path/to", "your-path", "/.../")):
            yield Finding(key, f"{path} is a placeholder", f"a file or folder; --set {key}=PATH fills it in")


RULES = (
    sections_of_the_run_mode,
    architecture_of_the_family,
    sizes_of_the_architecture,
    architecture_is_built,
    tokenizer_of_each_dataset,
    learning_rate_is_given,
    paths_are_filled_in,
)

"""Rules that speak of several keys at once. A rule is a small function; add it to `RULES`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from mf_config.problems import Location, Problem, name_values
from mf_config.schema import TRAIN_MODES
from mf_config.sections.run import RunConfig
from mf_config.suggest import nearest


@dataclass(frozen=True, slots=True)
class Checked:
    """What a rule sees: the decoded configuration, the places of its keys and the sections left unchecked."""

    config: RunConfig
    places: Mapping[str, Location]
    unchecked: frozenset[str]
    file: str

    def is_missing(self, path: str) -> bool:
        """Whether the file leaves a key unset; a section that could not be checked is there all the same."""
        value: object = self.config
        for name in path.split("."):
            value = getattr(value, name)
        return value is None and path not in self.unchecked

    def problem(self, path: str, what: str, allowed: str = "", suggestion: str = "") -> Problem:
        """A problem at the place of a key, of its nearest written parent, or of the file."""
        parent = path
        while parent and parent not in self.places:
            parent = parent.rpartition(".")[0]
        return Problem(self.places.get(parent, Location(self.file, 0)), path, what, allowed, suggestion)


_EVALUATED = ("eval_dataset", "eval_dataset_task", "metric")
"""What an evaluation needs, in a run of its own or while training."""

Rule = Callable[[Checked], Iterator[Problem]]


def sections_of_the_run_mode(checked: Checked) -> Iterator[Problem]:
    """Training needs rows and an optimizer, evaluation needs rows and a metric, prediction needs a prompt."""
    config = checked.config
    needed: list[str] = []
    if _trains(config):
        needed += ["train_dataset", "train_dataset_task", "optimizer"]
    if _evaluates(config):
        needed += _EVALUATED
    if config.run_mode == "predict":
        needed += ["input_data"]
    if config.run_mode in ("eval", "predict"):
        needed += ["load_checkpoint"]
    for name in needed:
        if checked.is_missing(name):
            why = f"run_mode {config.run_mode}" + (" with do_eval" if _trains(config) and name in _EVALUATED else "")
            yield checked.problem(name, f"is missing, and {why} needs it", "a value or section")


def architecture_of_the_family(checked: Checked) -> Iterator[Problem]:
    """`model.arch.type` must be a network that the family of `model.model_config` builds."""
    family = checked.config.model.model_config
    if family is None:
        return
    served, asked = family.architectures, checked.config.model.arch.type
    if asked not in served:
        what = f"{asked} is not a network of {type(family).__name__}"
        yield checked.problem("model.arch.type", what, name_values(served), nearest(asked, served))


def tokenizer_of_each_dataset(checked: Checked) -> Iterator[Problem]:
    """A data set that the run reads has a tokenizer of its own or that of `processor`."""
    config = checked.config
    for name, is_read in (("train_dataset", _trains(config)), ("eval_dataset", _evaluates(config))):
        if not is_read or checked.is_missing(name):
            continue
        if checked.is_missing(f"{name}.tokenizer") and checked.is_missing("processor.tokenizer"):
            yield checked.problem(f"{name}.tokenizer", "is missing", "a section here or under processor")


def learning_rate_is_given(checked: Checked) -> Iterator[Problem]:
    """Without a schedule the optimizer's own constant rate counts, so it must be there."""
    config = checked.config
    if not _trains(config) or config.optimizer is None:
        return
    if config.optimizer.learning_rate is None and checked.is_missing("lr_schedule"):
        what = "is missing, and there is no lr_schedule"
        yield checked.problem("optimizer.learning_rate", what, "a number, or a section lr_schedule")


def _trains(config: RunConfig) -> bool:
    return config.run_mode in TRAIN_MODES


def _evaluates(config: RunConfig) -> bool:
    return config.run_mode == "eval" or (_trains(config) and config.do_eval)


RULES: tuple[Rule, ...] = (
    sections_of_the_run_mode,
    architecture_of_the_family,
    tokenizer_of_each_dataset,
    learning_rate_is_given,
)
"""Every rule, in the order of their messages."""

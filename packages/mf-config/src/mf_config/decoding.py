"""From a document to a `RunConfig`, or to everything that is wrong with it."""

from dataclasses import dataclass
from typing import Any, TypeVar

from mf_config import rules
from mf_config.bind import MISSING, Binding, bind_section
from mf_config.document import COMMAND_LINE
from mf_config.effects import Use, report_effects
from mf_config.elsewhere import Elsewhere
from mf_config.nodes import Document, Mapping, Node, Scalar
from mf_config.problems import ConfigError, Location, Problem, Severity, blockers_in, errors_in, in_line_order
from mf_config.sections.run import RunConfig

_Section = TypeVar("_Section")


@dataclass(frozen=True, slots=True)
class Examined:
    """A document's meaning and what was found on the way.

    Attributes:
        config: the decoded configuration, None where there are errors.
        problems: errors, warnings and notes, in line order.
    """

    config: RunConfig | None
    problems: tuple[Problem, ...]


def examine(document: Document) -> Examined:
    """Decode a document and report every error, blocker, warning and note at once.

    Args:
        document: what `mf_config.load` gave.
    Returns:
        The configuration where there is no error, and all problems.
    """
    config, binding = _bind(RunConfig, document)
    use = Use(_written(document, "run_mode"), _written(document, "context.device_target"))
    problems = [*document.problems, *binding.problems, *_unread_copies(document, binding)]
    problems += report_effects(binding.written, use)
    if config is not None:
        unread = frozenset(problem.path for problem in errors_in(problems))
        checked = rules.Checked(config, binding.places, frozenset(binding.unchecked), unread, document.file)
        problems += [problem for rule in rules.RULES for problem in rule.problems(checked)]
    valid = None if errors_in(problems) else config
    return Examined(valid, tuple(in_line_order(problems)))


def decode(document: Document, *, to_run: bool = False) -> RunConfig:
    """Decode a document.

    Args:
        document: what `mf_config.load` gave.
        to_run: refuse also what is valid but keeps a run from starting.
    Returns:
        The configuration.
    Raises:
        ConfigError: with every problem of the document where at least one is an error (or, with `to_run`, a blocker).
    """
    examined = examine(document)
    if examined.config is None or (to_run and blockers_in(examined.problems)):
        raise ConfigError(examined.problems)
    return examined.config


def decode_as(cls: type[_Section], document: Document) -> _Section:
    """Decode a document that is not a run configuration, by a section class of another project.

    Args:
        cls: a dataclass whose fields are declared with `mf_config.key`; it stands for the whole file.
        document: what `mf_config.load` gave.
    Raises:
        ConfigError: with every problem of the document where at least one is an error.
    """
    section, binding = _bind(cls, document)
    problems = [*document.problems, *binding.problems]
    if section is None or errors_in(problems):
        raise ConfigError(problems)
    return section


def _bind(cls: type[_Section], document: Document) -> tuple[_Section | None, Binding]:
    """The document as a section, None where a key can't be read, and what was found on the way."""
    binding = Binding(Elsewhere(cls, document.root).find)
    section = bind_section(cls, document.root, "", binding)
    return None if section is MISSING else section, binding


def _unread_copies(document: Document, binding: Binding) -> list[Problem]:
    """Warn of a section that should repeat another one by an alias but has a body of its own: it is not read."""
    places = binding.places
    problems = []
    for path, section in binding.repeats.items():
        place = _overridden(document, path) or places[path]
        if place != places.get(section):
            problems.append(Problem(place, path, f"is not read: {section} is used", severity=Severity.WARNING))
    return problems


def _overridden(document: Document, path: str) -> Location | None:
    """The place of a key directly in a section that comes from the command line, None where all are from files."""
    node: Node | None = document.root
    for name in path.split("."):
        node = node.entries.get(name) if isinstance(node, Mapping) else None
    places = node.key_locations.values() if isinstance(node, Mapping) else ()
    return next((place for place in places if place.file == COMMAND_LINE.file), None)


def _written(document: Document, path: str) -> str:
    """A value as the file has it, else its default: it decides what is reported while the rest may be unreadable."""
    node: Node | None = document.root
    value: Any = RunConfig()
    for name in path.split("."):
        node = node.entries.get(name) if isinstance(node, Mapping) else None
        value = getattr(value, name)
    return node.text if isinstance(node, Scalar) else str(value)

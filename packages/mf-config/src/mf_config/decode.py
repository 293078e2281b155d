"""From a document to a `RunConfig`, or to everything that is wrong with it."""

from dataclasses import dataclass
from typing import TypeVar

from mf_config import rules
from mf_config.bind import MISSING, Binding, bind_section
from mf_config.elsewhere import Elsewhere
from mf_config.nodes import Document, Mapping, Scalar
from mf_config.problems import ConfigError, Problem, Severity, errors_in, in_line_order
from mf_config.sections.context import ContextSection
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
    """Decode a document and report every error, warning and note at once.

    Args:
        document: what `mf_config.load` gave.
    Returns:
        The configuration where there is no error, and all problems.
    """
    config, binding = _bind(RunConfig, document)
    problems = [*document.problems, *binding.problems, *_unread_copies(binding)]
    if config is not None:
        checked = rules.Checked(config, binding.places, frozenset(binding.unchecked), document.file)
        problems += [problem for rule in rules.RULES for problem in rule(checked)]
    valid = None if errors_in(problems) else config
    return Examined(valid, tuple(in_line_order(problems)))


def decode(document: Document) -> RunConfig:
    """Decode a document.

    Returns:
        The configuration.
    Raises:
        ConfigError: with every problem of the document where at least one is an error.
    """
    examined = examine(document)
    if examined.config is None:
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
    binding = Binding(_device_target(document), Elsewhere(cls, document.root).find)
    section = bind_section(cls, document.root, "", binding)
    return None if section is MISSING else section, binding


def _unread_copies(binding: Binding) -> list[Problem]:
    """Warn of a section that should repeat another one by an alias but has a body of its own: it is not read."""
    return [
        Problem(binding.places[path], path, f"is not read: {section} is used", severity=Severity.WARNING)
        for path, section in binding.repeats.items()
        if binding.places[path] != binding.places.get(section)
    ]


def _device_target(document: Document) -> str:
    """The device as written: it decides which keys are reported as inert while the rest is read."""
    context = document.root.entries.get("context")
    written = context.entries.get("device_target") if isinstance(context, Mapping) else None
    return written.text if isinstance(written, Scalar) else ContextSection().device_target

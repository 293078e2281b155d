"""Run configurations of large language models: read strictly, decoded into frozen dataclasses, every mistake named."""

from mf_config.decode import Examined, decode, decode_as, examine
from mf_config.document import load
from mf_config.nodes import Document
from mf_config.problems import ConfigError, Location, Problem, Severity, UserError
from mf_config.schema import ComponentOf, component, key
from mf_config.sections.run import RunConfig

__all__ = [
    "ComponentOf",
    "ConfigError",
    "Document",
    "Examined",
    "Location",
    "Problem",
    "RunConfig",
    "Severity",
    "UserError",
    "component",
    "decode",
    "decode_as",
    "examine",
    "key",
    "load",
]

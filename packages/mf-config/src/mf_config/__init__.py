"""Run configurations of large language models: read strictly, decoded into frozen dataclasses, every mistake named."""

from typing import TYPE_CHECKING

from mf_config.on_demand import names_on_demand

if TYPE_CHECKING:
    from mf_config.decoding import Examined as Examined
    from mf_config.decoding import decode as decode
    from mf_config.decoding import decode_as as decode_as
    from mf_config.decoding import examine as examine
    from mf_config.document import load as load
    from mf_config.nodes import Document as Document
    from mf_config.problems import ConfigError as ConfigError
    from mf_config.problems import Location as Location
    from mf_config.problems import Problem as Problem
    from mf_config.problems import Severity as Severity
    from mf_config.problems import UserError as UserError
    from mf_config.schema import ComponentOf as ComponentOf
    from mf_config.schema import component as component
    from mf_config.schema import key as key
    from mf_config.sections.run import RunConfig as RunConfig

_HOMES = {
    "ComponentOf": "mf_config.schema",
    "ConfigError": "mf_config.problems",
    "Document": "mf_config.nodes",
    "Examined": "mf_config.decoding",
    "Location": "mf_config.problems",
    "Problem": "mf_config.problems",
    "RunConfig": "mf_config.sections.run",
    "Severity": "mf_config.problems",
    "UserError": "mf_config.problems",
    "component": "mf_config.schema",
    "decode": "mf_config.decoding",
    "decode_as": "mf_config.decoding",
    "examine": "mf_config.decoding",
    "key": "mf_config.schema",
    "load": "mf_config.document",
}

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

# Command lines import this package and must not wait for all that it offers.
__getattr__ = names_on_demand(__name__, _HOMES)

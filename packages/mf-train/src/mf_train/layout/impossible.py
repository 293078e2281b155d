"""Says before any process is started that a layout is impossible, and which keys and lines have to change."""

import re
from typing import Any

from mf_config import ConfigError, Document, Location, Problem, RunConfig, UserError
from mf_config.nodes import Mapping
from mf_models.network_work import network_work
from mf_train.layout.automatic_limits import check_automatic
from mf_train.layout.network_limits import check_network
from mf_train.layout.plans import is_divided_by_mindspore, mesh_of, plans_of
from mf_train.layout.process_count import check_process_count

_KEY_OF_AXIS = {"tp": "model_parallel", "ep": "expert_parallel", "cp": "context_parallel", "pp": "pipeline_stage"}

_KEY = re.compile(r"((?:\w+\.)*\w+): ")
"""What the line of a message begins with that speaks of a key."""

_AXIS = re.compile(r"\d+ (\w+) ranks cannot share")


def check_layout(document: Document, config: RunConfig, processes: int) -> None:
    """Refuse a layout of a network that is impossible.

    Args:
        document: the run configuration as written.
        config: the same, decoded.
        processes: how many are started.

    Raises:
        ConfigError: every reason, with the key and the line of the file that has to change.
    """
    model_config = config.model.model_config
    try:
        check_process_count(config, processes)
        mesh = mesh_of(config, processes)
        plans = plans_of(config, mesh, network_work(model_config).shapes_of_kinds)
        if is_divided_by_mindspore(config):
            check_automatic(config, mesh)
        else:
            check_network(model_config, plans)
    except UserError as error:
        raise located(error, document) from None


def located(error: UserError, document: Document) -> ConfigError:
    """The same mistakes, each with the key and the line of the file that has to change.

    Args:
        error: why a layout is refused; a line begins with a key, or says which axis can't divide what.
        document: the run configuration as written.
    """
    if isinstance(error, ConfigError):
        return error
    problems = []
    for line in str(error).splitlines():
        key, axis = _KEY.match(line), _AXIS.search(line)
        what, _, allowed = line.rstrip(".").partition(". Allowed: ")
        path = ""
        if axis is not None:
            path = f"parallel_config.{_KEY_OF_AXIS.get(axis[1], 'data_parallel')}"
        elif key is not None:
            path, what = key[1], what[key.end() :]
        problems.append(Problem(place_of(document, path), path, what, allowed))
    return ConfigError(problems)


def place_of(document: Document, path: str) -> Location:
    """Where a key stands in a document, or its nearest written parent, or the file."""
    node: Any = document.root
    found = Location(document.file, 0)
    for name in path.split("."):
        if not isinstance(node, Mapping) or name not in node.entries:
            return found
        found, node = node.key_locations[name], node.entries[name]
    return found

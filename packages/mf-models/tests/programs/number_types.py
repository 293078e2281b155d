"""Compiles networks for Ascend in given number types, in a process that `mf_parallel.simulation.simulate` started."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from mf_models.networks import build, parameters
from mf_models.pretrained import read_config
from mf_models.report.ascend import gradients_graph

_CALL = re.compile(r"= (?:PrimFunc_)?(\w+)\([^\n]*\n\s+: \((.*)\) -> ")
_TENSOR = re.compile(r"Tensor\[(\w+)\]")


def types_of(folder: str, models: list[str], keys: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """For each model the types of its parameters, and of the tensors that go into each operator of its gradients."""
    found = {}
    for model in models:
        config = read_config(Path(folder) / model)
        network = build(replace(config, **{name: value for name, value in keys.items() if hasattr(config, name)}))
        operands: dict[str, set[str]] = {}
        for operator, arguments in _CALL.findall(gradients_graph(network).text):
            operands.setdefault(operator, set()).add(" ".join(_TENSOR.findall(arguments)))
        weights = {name: str(parameter.dtype) for name, parameter in parameters(network).items()}
        found[model] = {"weights": weights, "operands": {name: sorted(types) for name, types in operands.items()}}
    return found

"""Prepares MindSpore for the cells: device and mode.

Compiled graphs are kept by `mf_models.graph_cache`. MindSpore's own cache of them stays off: it tells graphs apart by
the order of their compilation, and takes the graph of another configuration without a word.
"""

import os
from functools import cache
from pathlib import Path

import mindspore as ms

from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_models.graph_cache import keep_graphs
from mf_parallel.machine import user_cache

GRAPHS = "MF_GRAPHS"
"""Environment variable: a folder of kept graphs, for programs that read no run file."""


def prepare(context: ContextSection) -> None:
    """Hand the `context` section to MindSpore; call it before the first tensor is made.

    Args:
        context: the section of a run configuration.
    Raises:
        UserError: there is no such device here, or the process computes on another one already.
    """
    _set_device(context)
    ms.set_context(mode=ms.GRAPH_MODE if context.is_graph_mode else ms.PYNATIVE_MODE)
    ms.set_recursion_limit(context.max_call_depth)
    keep_graphs(_folder_of_graphs(context))
    if context.save_graphs:
        ms.set_context(save_graphs=True, save_graphs_path=context.save_graphs_path)


def _folder_of_graphs(context: ContextSection) -> Path | None:
    chosen = os.environ.get(GRAPHS)
    if context.device_target != "CPU" or not (context.enable_compile_cache or chosen):
        return None
    return Path(context.compile_cache_path or chosen or user_cache("graphs")).absolute()


def _set_device(context: ContextSection) -> None:
    # MindSpore refuses even the device in use once it has computed anything.
    if ms.get_context("device_target") == context.device_target == "CPU":
        return
    try:
        if context.device_target == "Ascend":
            _set_ascend(context)
        else:
            ms.set_device(context.device_target)
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"context.device_target: {context.device_target} can't be used here: {reason}") from error


@cache
def _set_ascend(context: ContextSection) -> None:
    """Take an Ascend, and set what only it has; once, as MindSpore refuses some settings the second time."""
    ms.set_device("Ascend", context.device_id)
    ms.runtime.set_memory(
        increase_size=context.mempool_block_size,
        max_size=context.max_device_memory,
        optimize_level=context.memory_optimize_level,
    )
    if context.runtime_num_threads:
        ms.runtime.dispatch_threads_num(context.runtime_num_threads)
    compiler, ascend = context.jit_config, context.ascend_config
    ms.set_context(jit_config={"jit_level": compiler.jit_level, "infer_boost": compiler.infer_boost})
    ms.device_context.ascend.op_precision.precision_mode(ascend.precision_mode)
    ms.device_context.ascend.op_tuning.op_compile(ascend.jit_compile)
    if ascend.parallel_speed_up_json_path is not None:
        ms.set_context(ascend_config={"parallel_speed_up_json_path": ascend.parallel_speed_up_json_path})
    if context.enable_graph_kernel:
        ms.set_context(enable_graph_kernel=True)
    if context.deterministic == "ON":
        ms.set_deterministic(True)

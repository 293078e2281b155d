"""Prepares MindSpore for a run: device, mode, compile cache."""

from pathlib import Path

import mindspore as ms

from mf_config.sections.context import ContextSection


def prepare(context: ContextSection) -> None:
    """Hand `context` to MindSpore; call it before the first tensor is made.

    Args:
        context: the section of the run configuration.
    """
    if context.device_target == "Ascend":
        ms.set_device(context.device_target, context.device_id)
        ms.runtime.set_memory(max_size=context.max_device_memory)
    else:
        ms.set_device(context.device_target)
    ms.set_context(mode=ms.GRAPH_MODE if context.is_graph_mode else ms.PYNATIVE_MODE)
    ms.set_recursion_limit(context.max_call_depth)
    if context.enable_compile_cache:
        Path(context.compile_cache_path).mkdir(parents=True, exist_ok=True)
        ms.set_context(enable_compile_cache=True, compile_cache_path=context.compile_cache_path)
    if context.save_graphs:
        ms.set_context(save_graphs=True, save_graphs_path=context.save_graphs_path)

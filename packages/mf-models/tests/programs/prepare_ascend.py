"""Prepares MindSpore for an Ascend, in a process that `mf_parallel.simulation.simulate` started."""

from typing import Any

import mindspore as ms

from mf_config.sections.context import AscendSection, ContextSection, JitSection
from mf_models.device import prepare
from mf_models.kernels import select_kernels

CONTEXT = ContextSection(
    device_target="Ascend",
    max_device_memory="58GB",
    mempool_block_size="2GB",
    memory_optimize_level="O1",
    jit_config=JitSection(jit_level="O1"),
    ascend_config=AscendSection(precision_mode="must_keep_origin_dtype"),
    deterministic="ON",
)


def settings() -> dict[str, Any]:
    """What MindSpore was told, and what it says of it."""
    memory: list[dict[str, str]] = []
    precisions: list[str] = []
    set_memory, precision_mode = ms.runtime.set_memory, ms.device_context.ascend.op_precision.precision_mode

    def record_memory(**sizes: str) -> None:
        memory.append(sizes)
        set_memory(**sizes)

    def record_precision(mode: str) -> None:
        precisions.append(mode)
        precision_mode(mode)

    # MindSpore does not tell these two.
    ms.runtime.set_memory, ms.device_context.ascend.op_precision.precision_mode = record_memory, record_precision
    for _ in range(2):
        prepare(CONTEXT)
    found: dict[str, Any] = {name: ms.get_context(name) for name in ("device_target", "jit_level", "deterministic")}
    kernels = select_kernels().attention.__module__
    return found | {"kernels": kernels, "set_memory": memory, "precision_mode": precisions}

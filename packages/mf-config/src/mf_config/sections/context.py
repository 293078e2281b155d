"""`context`: the device and MindSpore's run-time settings."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_HOST_MEMORY = "a CPU run takes memory from the host"
_ASCEND_ONLY = "it is a setting of the Ascend compiler"
_NO_ASCEND = "there are no kernels for Ascend yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class JitSection:
    """`jit_config`: how hard the compiler works."""

    jit_level: Literal["O0", "O1", "O2"] = key(
        "O0 compiles as little as possible, O1 fuses operators, O2 hands the whole graph to the device.",
        "O0",
        mindspore="set_context(jit_config={'jit_level': …})",
    )
    infer_boost: Literal["on", "off"] = key("Faster graphs for prediction.", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class AscendSection:
    """`ascend_config`: settings of the Ascend compiler."""

    precision_mode: Literal[
        "force_fp16",
        "allow_fp32_to_fp16",
        "allow_mix_precision",
        "must_keep_origin_dtype",
        "force_fp32",
        "allow_fp32_to_bf16",
        "allow_mix_precision_fp16",
        "allow_mix_precision_bf16",
    ] = key("Which operators may run in another precision.", "force_fp16")
    jit_compile: bool = key("Compile operators while the graph runs.", False)
    parallel_speed_up_json_path: str | None = key("File of switches that overlap communication and computing.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSection:
    """What is handed to MindSpore before the first tensor is made."""

    mode: Literal[0, 1, "GRAPH_MODE", "PYNATIVE_MODE"] = key(
        "How cells run: 0 or GRAPH_MODE compiles them, 1 or PYNATIVE_MODE runs them operator by operator.",
        0,
        mindspore="set_context(mode)",
    )
    device_target: Literal["Ascend", "CPU"] = key(
        "The kind of device that computes.",
        "Ascend",
        pending=_NO_ASCEND,
        runs=("CPU",),
        mindspore="set_device(device_target)",
    )
    device_id: int = key(
        "Which of the host's devices to use; replaced by the launcher's choice in a run of several processes.",
        0,
        minimum=0,
        inert_on={"CPU": "the host's CPU is one device"},
        mindspore="set_device(device_id)",
    )
    max_device_memory: str = key(
        "The most memory that a process takes on its device, for example 58GB.",
        "1024GB",
        inert_on={"CPU": _HOST_MEMORY},
        mindspore="runtime.set_memory(max_size)",
    )
    mempool_block_size: str = key(
        "How much memory the pool takes from the device at a time.", "1GB", inert=_HOST_MEMORY, unit="GB"
    )
    memory_optimize_level: Literal["O0", "O1"] = key(
        "O1 reuses memory between operators at the price of speed.", "O0", inert=_HOST_MEMORY
    )
    max_call_depth: int = key(
        "The deepest nesting of calls that the graph compiler follows.",
        10000,
        minimum=1,
        mindspore="set_recursion_limit",
    )
    save_graphs: bool = key(
        "Write the compiler's intermediate graphs for debugging.", False, mindspore="set_context(save_graphs)"
    )
    save_graphs_path: str = key("Folder of the intermediate graphs.", "./graphs", needs="save_graphs")
    enable_dump: bool = key("Write the tensors of every operator.", False, inert="MindSpore reads no such setting")
    save_dump_path: str = key("Folder of the dumped tensors.", ".", inert="MindSpore reads no such setting")
    enable_graph_kernel: bool = key("Fuse small operators into one kernel.", False, inert=_ASCEND_ONLY)
    jit_config: JitSection = key("How hard the compiler works.", JitSection(), inert=_ASCEND_ONLY)
    jit_level: Literal["O0", "O1", "O2"] = key("As jit_config.jit_level, for prediction.", "O0", inert=_ASCEND_ONLY)
    infer_boost: Literal["on", "off"] = key("As jit_config.infer_boost.", "on", inert=_ASCEND_ONLY)
    ascend_config: AscendSection = key("Settings of the Ascend compiler.", AscendSection(), inert=_ASCEND_ONLY)
    runtime_num_threads: int = key(
        "Threads that launch operators.", 30, minimum=0, inert="MindSpore chooses as many as the host has cores"
    )
    deterministic: Literal["ON", "OFF"] = key(
        "Use operators whose result does not depend on timing.", "OFF", inert="runs on CPU are deterministic always"
    )

    @property
    def is_graph_mode(self) -> bool:
        """Whether cells are compiled."""
        return self.mode in (0, "GRAPH_MODE")

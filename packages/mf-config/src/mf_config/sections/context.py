"""`context`: the device and MindSpore's run-time settings."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_HOST_MEMORY = "a CPU run takes memory from the host"
_ASCEND_ONLY = "it is a setting of the Ascend compiler"
_NO_NPU_HAS_TRIED = "no NPU has tried it"
_ONE_JIT = "jit_config says it for all run modes"


@dataclass(frozen=True, slots=True, kw_only=True)
class JitSection:
    """`jit_config`: how hard the compiler works."""

    jit_level: Literal["O0", "O1", "O2"] = key(
        "O0 compiles as little as possible, O1 fuses operators, O2 hands the whole graph to the device.",
        "O0",
        mindspore="set_context(jit_config={'jit_level': …})",
    )
    infer_boost: Literal["on", "off"] = key(
        "Faster graphs for prediction.", "off", mindspore="set_context(jit_config={'infer_boost': …})"
    )


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
    ] = key(
        "Which operators may run in another precision.",
        "force_fp16",
        mindspore="device_context.ascend.op_precision.precision_mode",
    )
    jit_compile: bool = key(
        "Compile operators while the graph runs.", False, mindspore="device_context.ascend.op_tuning.op_compile"
    )
    parallel_speed_up_json_path: str | None = key(
        "File of switches that overlap communication and computing.",
        None,
        mindspore="set_context(ascend_config={'parallel_speed_up_json_path': …})",
    )


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
        "How much memory the pool takes from the device at a time.",
        "1GB",
        inert_on={"CPU": _HOST_MEMORY},
        unit="GB",
        mindspore="runtime.set_memory(increase_size)",
    )
    memory_optimize_level: Literal["O0", "O1"] = key(
        "O1 reuses memory between operators at the price of speed.",
        "O0",
        inert_on={"CPU": _HOST_MEMORY},
        mindspore="runtime.set_memory(optimize_level)",
    )
    max_call_depth: int = key(
        "The deepest nesting of calls that the graph compiler follows.",
        10000,
        minimum=1,
        mindspore="set_recursion_limit",
    )
    enable_compile_cache: bool = key(
        "Keep compiled graphs, so that the next start of the same run compiles nothing. A graph is taken only where "
        "everything that decides it is the same.",
        False,
        inert_on={"Ascend": _NO_NPU_HAS_TRIED},
        mindspore="MS_COMPILER_CACHE_ENABLE, one graph at a time",
    )
    compile_cache_path: str | None = key(
        "Folder of the kept graphs; null for the user's cache, ~/.cache/mf/graphs.",
        None,
        needs="enable_compile_cache",
        inert_on={"Ascend": _NO_NPU_HAS_TRIED},
    )
    save_graphs: bool = key(
        "Write the compiler's intermediate graphs for debugging.", False, mindspore="set_context(save_graphs)"
    )
    save_graphs_path: str = key("Folder of the intermediate graphs.", "./graphs", needs="save_graphs")
    enable_dump: bool = key("Write the tensors of every operator.", False, inert="MindSpore reads no such setting")
    save_dump_path: str = key("Folder of the dumped tensors.", ".", inert="MindSpore reads no such setting")
    enable_graph_kernel: bool = key(
        "Fuse small operators into one kernel.",
        False,
        inert_on={"CPU": _ASCEND_ONLY},
        mindspore="set_context(enable_graph_kernel)",
    )
    jit_config: JitSection = key("How hard the compiler works.", JitSection(), inert_on={"CPU": _ASCEND_ONLY})
    jit_level: Literal["O0", "O1", "O2"] = key("As jit_config.jit_level, for prediction.", "O0", inert=_ONE_JIT)
    infer_boost: Literal["on", "off"] = key("As jit_config.infer_boost.", "on", inert=_ONE_JIT)
    ascend_config: AscendSection = key(
        "Settings of the Ascend compiler.", AscendSection(), inert_on={"CPU": _ASCEND_ONLY}
    )
    runtime_num_threads: int = key(
        "Threads that launch operators; 0 for as many as MindSpore chooses.",
        30,
        minimum=0,
        inert_on={"CPU": "MindSpore chooses as many as the host has cores"},
        mindspore="runtime.dispatch_threads_num",
    )
    deterministic: Literal["ON", "OFF"] = key(
        "Use operators whose result does not depend on timing.",
        "OFF",
        inert_on={"CPU": "runs on CPU are deterministic always"},
        mindspore="set_deterministic",
    )

    @property
    def is_graph_mode(self) -> bool:
        """Whether cells are compiled."""
        return self.mode in (0, "GRAPH_MODE")

"""`context`: the device and MindSpore's run-time settings."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_NO_DEVICE_MEMORY = "a CPU run takes memory from the host"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSection:
    """What is handed to MindSpore before the first tensor is made."""

    mode: Literal[0, 1, "GRAPH_MODE", "PYNATIVE_MODE"] = key(
        "How cells run: 0 or GRAPH_MODE compiles them, 1 or PYNATIVE_MODE runs them operator by operator.", 0
    )
    device_target: Literal["Ascend", "CPU"] = key("The kind of device that computes.", "Ascend")
    device_id: int = key(
        "Which of the host's devices to use; replaced by the launcher's choice in a run of several processes.",
        0,
        minimum=0,
        inert_on={"CPU": "the host's CPU is one device"},
    )
    max_device_memory: str = key(
        "The most memory a process takes on its device, for example 58GB.",
        "1024GB",
        inert_on={"CPU": _NO_DEVICE_MEMORY},
    )
    max_call_depth: int = key("The deepest nesting of calls that the graph compiler follows.", 10000, minimum=1)
    save_graphs: bool = key("Write the compiler's intermediate graphs for debugging.", False)
    save_graphs_path: str = key("Folder of the intermediate graphs.", "./graphs")

    @property
    def is_graph_mode(self) -> bool:
        """Whether cells are compiled."""
        return self.mode in (0, "GRAPH_MODE")

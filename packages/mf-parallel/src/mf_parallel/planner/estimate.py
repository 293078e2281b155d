"""The whole answer for one layout on one device: memory, traffic, time, and what they amount to."""

from dataclasses import asdict, dataclass
from typing import Any

from mf_parallel.planner.card import DeviceCard
from mf_parallel.planner.layout import Layout
from mf_parallel.planner.memory import StageMemory, stage_memory
from mf_parallel.planner.timing import StepTime, seen_keys, step_time
from mf_parallel.planner.traffic import Traffic, stage_traffic


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step takes.

    Attributes:
        card: the device.
        kind: type of numbers of the computation.
        layout: the divided network.
        memory: bytes on a rank of each stage.
        traffic: what a rank of each stage sends.
        time: seconds.
    """

    card: DeviceCard
    kind: str
    layout: Layout
    memory: tuple[StageMemory, ...]
    traffic: tuple[tuple[Traffic, ...], ...]
    time: StepTime

    @property
    def peak(self) -> int:
        """Bytes on the rank that needs most."""
        return max(one.peak for one in self.memory)

    @property
    def fits(self) -> bool:
        """Whether every rank's memory holds what it needs."""
        return self.peak <= self.card.memory_bytes

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all ranks."""
        return self.layout.tokens_per_step / self.time.total

    @property
    def tokens_per_second_per_device(self) -> float:
        """Tokens of a rank."""
        return self.tokens_per_second / self.layout.devices

    @property
    def utilization(self) -> float:
        """Model FLOPs utilization: products and attention of the model, of the peak; recomputation does not count."""
        return self.tokens_per_second_per_device * model_flops(self.layout) / self.card.flops(self.kind, 1.0)

    def to_json(self) -> dict[str, Any]:
        """The estimate as plain data."""
        layout = self.layout
        return {
            "device": self.card.names[0],
            "compute_type": self.kind,
            "mesh": dict(zip(layout.weights.mesh.axes, layout.weights.mesh.degrees, strict=True)),
            "devices": layout.devices,
            "back_end": layout.back_end.value,
            "stages": [
                {
                    **asdict(memory),
                    "peak": memory.peak,
                    "blocks": layout.blocks(stage),
                    "traffic": list(map(asdict, sent)),
                }
                for stage, (memory, sent) in enumerate(zip(self.memory, self.traffic, strict=True))
            ],
            "memory_bytes": round(self.card.memory_bytes),
            "peak_bytes": self.peak,
            "fits": self.fits,
            "tokens_per_step": layout.tokens_per_step,
            "seconds": {**asdict(self.time), "total": self.time.total},
            "bubble": self.time.bubble,
            "tokens_per_second": self.tokens_per_second,
            "tokens_per_second_per_device": self.tokens_per_second_per_device,
            "model_flops_utilization": self.utilization,
        }


def estimate(layout: Layout, card: DeviceCard, asked_type: str) -> Estimate:
    """What a step of a layout takes.

    Args:
        layout: the divided network.
        card: the device.
        asked_type: the type of numbers that the run file asks for.
    """
    kind, stages = card.type_for(asked_type), range(layout.stages)
    memory = tuple(stage_memory(layout, stage, card, kind) for stage in stages)
    traffic = tuple(tuple(stage_traffic(layout, stage, kind)) for stage in stages)
    return Estimate(card, kind, layout, memory, traffic, step_time(layout, traffic, card, kind))


def model_flops(layout: Layout) -> float:
    """Operations for each token, forward and backward, of the undivided network; a query counts the keys that it sees.

    Source: Chowdhery et al. 2022, PaLM, appendix B, with causal attention counted as what it needs.
    """
    network, found = layout.network, 0.0
    for number, block in enumerate(network.blocks):
        for _, shape in block.shapes:
            if len(shape) == 2:
                found += shape[0] * shape[1]
            elif len(shape) == 3:
                found += block.chosen * shape[1] * shape[2]
        found += seen_keys(layout, number, True) * block.score_width
    return 6 * (found + network.heads_used * network.vocab_size * network.hidden_size)

"""What a device can do, read from a small JSON file; `cards` holds those of the devices that mf knows."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

_FOLDER = Path(__file__).with_name("cards")

_GIGA = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How much of what a device could do it does in training; measured, or fitted to measurements.

    Attributes:
        matrix: of the peak, in matrix products.
        attention: of the peak, in attention.
        memory: of the memory's bandwidth, in all other operators.
        link: of a link's bandwidth, in collectives.
        exposed: share of the time of collectives inside a pass that no computation hides.
    """

    matrix: float
    attention: float
    memory: float
    link: float
    exposed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCard:
    """A device.

    Attributes:
        names: what it is called; the first one is printed.
        memory_gib: memory for a run, GiB.
        peak_tflops: type of numbers to 10^12 operations a second.
        bandwidth_gb_s: bandwidth of its memory, 10^9 bytes a second.
        devices_per_node: devices that the fast links join.
        node_link_gb_s: what one device can send within its node, 10^9 bytes a second.
        far_link_gb_s: what one device can send to another node.
        fused_attention: whether attention keeps no scores, and skips keys that no query sees.
        only_type: the type in which everything is computed; None where the run file says it.
        shares: what of all this is reached.
        sources: where the numbers come from.
    """

    names: tuple[str, ...]
    memory_gib: float
    peak_tflops: Mapping[str, float]
    bandwidth_gb_s: float
    devices_per_node: int
    node_link_gb_s: float
    far_link_gb_s: float
    fused_attention: bool
    only_type: str | None
    shares: Shares
    sources: Mapping[str, str]

    @property
    def memory_bytes(self) -> float:
        """Memory for a run."""
        return self.memory_gib * 2**30

    def type_for(self, asked: str) -> str:
        """The type of numbers in which a run computes that asks for a type."""
        return self.only_type or asked

    def flops(self, kind: str, share: float) -> float:
        """Operations a second."""
        return self.peak_tflops[kind] * 1e12 * share

    @property
    def memory_rate(self) -> float:
        """Bytes a second that operators other than products move."""
        return self.bandwidth_gb_s * _GIGA * self.shares.memory

    def link_rate(self, span: int) -> float:
        """Bytes a second that a device sends in a group whose members stand within `span` neighbouring devices."""
        within = span <= self.devices_per_node
        return (self.node_link_gb_s if within else self.far_link_gb_s) * _GIGA * self.shares.link


def device_card(name: str) -> DeviceCard:
    """A card by a name of its device, or by the path of a JSON file.

    Raises:
        UserError: there is no such card, or the file is no card.
    """
    if name.endswith(".json"):
        return _read(Path(name))
    cards = list(known_cards())
    by_name = {_plain(one): card for card in cards for one in card.names}
    found = by_name.get(_plain(name))
    if found is None:
        near = nearest(name, [one for card in cards for one in card.names])
        hint = f" Did you mean {near}?" if near else ""
        allowed = name_values(card.names[0] for card in cards)
        raise UserError(f"--device {name}: no card has this name. Allowed: {allowed}, or a JSON file.{hint}")
    return found


def known_cards() -> Iterator[DeviceCard]:
    """The cards that come with mf."""
    return (_read(path) for path in sorted(_FOLDER.glob("*.json")))


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _read(path: Path) -> DeviceCard:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}. Allowed: a card, as --device has them.") from error
    except ValueError as error:
        raise UserError(f"{path}: is no JSON: {error}. Allowed: a card, as --device has them.") from error
    values = _fields(DeviceCard, data, str(path))
    values["shares"] = Shares(**_fields(Shares, values["shares"], f"{path}: shares"))
    values["names"] = tuple(values["names"])
    return DeviceCard(**values)


def _fields(cls: type, data: object, where: str) -> dict[str, Any]:
    names = {field.name for field in fields(cls)}
    found = dict(data) if isinstance(data, dict) else {}
    if set(found) != names:
        wrong = sorted(set(found) ^ names)
        raise UserError(f"{where}: {name_values(wrong)} missing or unknown. Allowed: {name_values(sorted(names))}.")
    return found

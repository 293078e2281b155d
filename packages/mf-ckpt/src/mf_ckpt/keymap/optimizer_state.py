"""Which weight a tensor of the optimizer's state belongs to.

A state tensor is named after its weight, with the name of the slot before or after it: `adam_m.model.norm.weight` or
`model.norm.weight.exp_avg`. What has no weight's name in it, such as a step count, stands for itself.
"""

from collections.abc import Container
from dataclasses import dataclass

from mf_ckpt.keymap.keymap import KeyMap
from mf_ckpt.keymap.mapped import MappedSource
from mf_ckpt.sources.combined import CombinedSource
from mf_ckpt.sources.renamed import RenamedSource
from mf_ckpt.sources.source import Source


@dataclass(frozen=True, slots=True)
class Slot:
    """What stands before and after a weight's name, dots included."""

    before: str
    after: str

    def of(self, weight: str) -> str:
        """The name of a weight's tensor in this slot."""
        return f"{self.before}{weight}{self.after}"


def owner(name: str, weights: Container[str]) -> tuple[Slot, str] | None:
    """The slot of a state tensor, and its weight.

    Args:
        name: a tensor of the optimizer's state.
        weights: the names of all weights.

    Returns:
        The longest weight's name that is a part of it; None where there is none.
    """
    words = name.split(".")
    for length in range(len(words) - 1, 0, -1):
        for start in range(len(words) - length + 1):
            weight = ".".join(words[start : start + length])
            if weight in weights:
                before, after = words[:start], words[start + length :]
                return Slot("".join(f"{word}." for word in before), "".join(f".{word}" for word in after)), weight
    return None


def translated(state: Source, weights: Source, keys: KeyMap) -> Source:
    """The optimizer's state under the names, and in the forms, that a key map gives to the weights.

    Args:
        state: the optimizer's state.
        weights: the weights before the translation.
        keys: the map of the weights.

    Returns:
        The translated state; tensors that belong to no weight keep their names.

    Raises:
        UserError: a slot lacks some of the weights that a row takes together.
    """
    by_slot: dict[Slot, dict[str, str]] = {}
    kept = []
    for name in state:
        found = owner(name, weights)
        if found is None:
            kept.append(name)
        else:
            slot, weight = found
            by_slot.setdefault(slot, {})[weight] = name
    sources = [RenamedSource.subset(state, kept)]
    for slot, names in by_slot.items():
        mapped = MappedSource(RenamedSource(state, names), keys)
        sources.append(RenamedSource(mapped, {slot.of(name): name for name in mapped}))
    return CombinedSource({name: source for source in sources for name in source}, "optimizer state")

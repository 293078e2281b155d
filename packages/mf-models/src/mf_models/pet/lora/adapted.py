"""A network with LoRA: its trained weights to and from the files of a Hugging Face PEFT adapter."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mindspore import Parameter, Tensor

from mf_ckpt import ArraySource, lora
from mf_ckpt.keymap.keymap import Step
from mf_ckpt.keymap.rows import apply
from mf_config.problems import UserError
from mf_models.config_keys.classes import SCORE
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.networks import parameters
from mf_models.pet.lora.keys import LoraKeys
from mf_models.pet.lora.targets import WEIGHT, Target
from mf_parallel.pieces import array_of


@dataclass(frozen=True, slots=True)
class Matrices:
    """The new parameters of one target.

    Attributes:
        a: [rank, in].
        b: name of each layer to its [out, rank].
    """

    a: Parameter
    b: dict[str, Parameter]


class LoraAdaptation:
    """What `attach` made of a network; see `mf_models.adaptation.Adaptation`.

    Attributes:
        targets: the matrices of the checkpoint that have a product beside them, and its parameters.
    """

    def __init__(
        self,
        section: LoraKeys,
        cell: CausalLanguageModel,
        targets: Sequence[tuple[Target, Matrices]],
        steps: Sequence[Step],
    ):
        """Takes the section, the network, its targets, and how its weights are stored."""
        self.targets = tuple(targets)
        self._section = section
        self._weights = parameters(cell)
        self._unfrozen = {
            name: step
            for step in steps
            for name in step.targets
            if any(self._weights[source].requires_grad for source in step.sources)
        }
        modules = [name.removesuffix(WEIGHT) for step in steps for name in step.targets if name.endswith(WEIGHT)]
        self._target_modules = _shortened({target.module for target, _ in targets}, modules)

    def files(self, base: str) -> Mapping[str, bytes]:
        """The two files of a PEFT adapter, with all products and the further weights that are trained."""
        arrays: dict[str, np.ndarray] = {}
        pairs, replaced = {}, {}
        for target, own in self.targets:
            a, b = f"{target.module}.A", f"{target.module}.B"
            arrays[a], arrays[b] = own.a.asnumpy(), self._stored_b(target, own)
            shape = (arrays[b].shape[0], arrays[a].shape[1])
            pairs[target.module + WEIGHT] = lora.LoraPair(
                a, b, target.rank, target.scale, shape[::-1] if target.is_turned else shape, target.is_turned
            )
        for name, step in self._unfrozen.items():
            arrays[name] = self._stored_weights(step)[name]
            replaced[name] = name
        settings = lora.LoraConfig(
            self._section.lora_rank, self._section.lora_alpha, document=self._document(base, replaced)
        )
        return lora.adapter_files(lora.Adapter(ArraySource(arrays), settings, pairs, replaced, "trained adapter"))

    def load(self, path: Path) -> None:
        """Take the trained weights from the folder of a PEFT adapter, or of a checkpoint that holds one.

        Raises:
            UserError: the adapter changes other weights than these, or in another way.
        """
        adapter = lora.open_adapter(path)
        problems = [*self._misfits(adapter), *self._untrained(adapter)]
        if problems:
            raise UserError(f"{path}: its adapter doesn't fit pet_config: {'; '.join(problems)}.")
        for target, own in self.targets:
            pair = adapter.pairs[target.module + WEIGHT]
            own.a.set_data(_tensor(adapter.tensors[pair.a]))
            for layer, part in self._parts_of_b(target, adapter.tensors[pair.b]).items():
                if layer in own.b:
                    own.b[layer].set_data(_tensor(part))
        for step in {step.sources: step for step in self._unfrozen.values()}.values():
            stored = [adapter.tensors[adapter.replaced[name]] for name in step.targets]
            for name, part in zip(step.sources, apply(step.row.inverse(), stored), strict=True):
                self._weights[name].set_data(_tensor(part))

    def _stored_b(self, target: Target, own: Matrices) -> np.ndarray:
        """The second matrix [out, rank] of a stored matrix; its rows are zero where a layer has no product."""
        parts = []
        for source in target.step.sources:
            layer = source.removesuffix(WEIGHT)
            rows = self._weights[source].shape[0]
            parts.append(own.b[layer].asnumpy() if layer in own.b else np.zeros((rows, target.rank), np.float32))
        (stored,) = apply(target.step.row, parts)
        return np.ascontiguousarray(stored.T) if target.is_turned else stored

    def _parts_of_b(self, target: Target, stored: np.ndarray) -> dict[str, np.ndarray]:
        """The inverse of `_stored_b`: each layer of the stored matrix to its [out, rank]."""
        parts = apply(target.step.row.inverse(), [np.ascontiguousarray(stored.T) if target.is_turned else stored])
        return {name.removesuffix(WEIGHT): part for name, part in zip(target.step.sources, parts, strict=True)}

    def _stored_weights(self, step: Step) -> dict[str, np.ndarray]:
        arrays = apply(step.row, [array_of(self._weights[name]) for name in step.sources])
        return dict(zip(step.targets, arrays, strict=True))

    def _misfits(self, adapter: lora.Adapter) -> Iterator[str]:
        """The targets whose product isn't in an adapter as the section wants it."""
        for target, own in self.targets:
            pair = adapter.pairs.get(target.module + WEIGHT)
            if pair is None:
                yield f"{target.module} has no LoRA in it"
                continue
            there = list(pair.shape[::-1] if target.is_turned else pair.shape)
            here = [sum(self._weights[source].shape[0] for source in target.step.sources), own.a.shape[1]]
            if (pair.rank, there) != (target.rank, here):
                yield f"{target.module} has rank {pair.rank} and shape {there} there, {target.rank} and {here} here"
            elif not np.isclose(pair.scale, target.scale, rtol=1e-6):
                yield f"{target.module} has scale {pair.scale:g} there, {target.scale:g} here"
            else:
                parts = self._parts_of_b(target, adapter.tensors[pair.b])
                yield from (f"{layer} is changed by it" for layer in parts if layer not in own.b and parts[layer].any())

    def _untrained(self, adapter: lora.Adapter) -> Iterator[str]:
        """What an adapter changes that isn't trained here, and the other way round."""
        modules = {target.module + WEIGHT for target, _ in self.targets}
        yield from (f"{name} is changed by it" for name in adapter.pairs if name not in modules)
        yield from (f"{name} is replaced by it" for name in adapter.replaced if name not in self._unfrozen)
        yield from (f"{name} is not in it" for name in self._unfrozen if name not in adapter.replaced)

    def _document(self, base: str, replaced: Iterable[str]) -> dict[str, object]:
        """The content of adapter_config.json."""
        section, targets = self._section, [target for target, _ in self.targets]
        modules = sorted({name.rpartition(".")[0] for name in replaced})
        return {
            "base_model_name_or_path": base,
            "bias": "none",
            "fan_in_fan_out": all(target.is_turned for target in targets),
            "inference_mode": True,
            "init_lora_weights": True,
            "lora_alpha": section.lora_alpha,
            "lora_dropout": section.lora_dropout,
            "modules_to_save": modules or None,
            "peft_type": "LORA",
            "r": section.lora_rank,
            # Dots are those of names, not of a regular expression.
            "rank_pattern": {re.escape(t.module): t.rank for t in targets if t.rank != section.lora_rank},
            "alpha_pattern": {re.escape(t.module): t.alpha for t in targets if t.alpha != section.lora_alpha},
            "target_modules": self._target_modules,
            "task_type": "SEQ_CLS" if SCORE in self._unfrozen else "CAUSAL_LM",
            "use_dora": False,
            "use_rslora": section.use_rslora,
        }


def _shortened(chosen: set[str], modules: Sequence[str]) -> list[str]:
    """The last parts of the chosen modules' names where no other module has them too, their full names otherwise."""
    short = {name.rpartition(".")[2] for name in chosen}
    return sorted(short if {name for name in modules if name.rpartition(".")[2] in short} == chosen else chosen)


def _tensor(array: np.ndarray) -> Tensor:
    return Tensor(np.array(array, np.float32))

"""Matrices that a GGUF file has in blocks of integers, as they are, under the names of a cell's parameters."""

from collections.abc import Collection

import numpy as np

from mf_ckpt import KeyMap, MappedSource, Source
from mf_ckpt.formats.gguf_file import BlockPart, GgufTensors
from mf_ckpt.sources.renamed import RenamedSource
from mf_models.layers.int8_linear import BLOCK, IntegerBlocks
from mf_models.model_config import ModelConfig
from mf_models.registry import family_of


class StoredBlocks:
    """The integers, scales and offsets of a file's matrices, of those in blocks of Q8_0, Q4_0 or Q4_1."""

    def __init__(self, tensors: GgufTensors, config: ModelConfig, changed: Collection[str] = ()):
        """Takes the open file, its model's configuration, and the matrices that are others in the model.

        Args:
            tensors: the file.
            config: the family's configuration.
            changed: Hugging Face names of matrices to which something was added.
        """
        family = family_of(config)
        maps = (family.forms(config)["gguf"].inverse, family.key_map(config).inverse)
        self._integers, self._scales, self._offsets = (
            _in_cell(BlockPart(tensors, part), tuple(tensors), maps, changed)
            for part in ("integers", "scales", "offsets")
        )

    def get(self, name: str) -> IntegerBlocks | None:
        """One matrix; only what it consists of is read.

        Args:
            name: the cell's parameter, such as `model.layers.0.attention.wq.weight`.

        Returns:
            Its blocks; None where the file has it in another type.
        """
        if name not in self._integers:
            return None
        rows, columns = self._integers.info(name).shape
        offset = self._offsets.get(name)
        return IntegerBlocks(
            integers_FGI=self._integers[name].reshape(rows, -1, BLOCK).view(np.int8),
            scale_FG=self._scales[name].view(np.float16),
            offset_FG=None if offset is None else offset.view(np.float16),
            columns=columns,
        )


def _in_cell(part: Source, names: tuple[str, ...], maps: tuple[KeyMap, KeyMap], changed: Collection[str]) -> Source:
    """A part of the blocks under the names of a cell's parameters.

    Args:
        part: names of the file's tensors to integers, scales or offsets; of those that have some.
        names: of all the file's tensors.
        maps: from the file's names to Hugging Face's, and from those to the cell's.
        changed: Hugging Face names that are left out.
    """
    to_hf, to_cell = maps
    stored, known = _alone(part, [name for name in names if to_hf.covers(name)], to_hf)
    unchanged = RenamedSource.subset(stored, [name for name in stored if name not in changed])
    return _alone(unchanged, known, to_cell)[0]


def _alone(part: Source, names: list[str], keys: KeyMap) -> tuple[Source, list[str]]:
    """What becomes of tensors that a map takes by themselves, and the new names of all tensors.

    Where several make one, their blocks may be of different types.
    """
    steps = keys.steps(names)
    alone = [step.sources[0] for step in steps if len(step.sources) == 1 and step.sources[0] in part]
    return MappedSource(RenamedSource.subset(part, alone), keys), [name for step in steps for name in step.targets]

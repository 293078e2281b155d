"""The tensors of a source under the names, and in the forms, of another program."""

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.keymap.keymap import KeyMap, Step
from mf_ckpt.keymap.rows.row import Part
from mf_ckpt.sources.source import Slices, Source, TableSource, bounded, extents, storage
from mf_ckpt.tensor_info import TensorInfo


class MappedSource(TableSource[tuple[Step, int]]):
    """The tensors of a source as a key map translates them; each part is made when it is asked for."""

    def __init__(self, source: Source, keys: KeyMap):
        """Takes the source and the table.

        Raises:
            UserError: names that no row takes, all of them in one message; or parts that are missing beside others.
        """
        steps = keys.steps(source)
        table = {name: (step, number) for step in steps for number, name in enumerate(step.targets)}
        super().__init__(table, "translated checkpoint")
        self._source = source
        self._infos: dict[str, TensorInfo] = {}

    def info(self, name: str) -> TensorInfo:
        """Type and shape of a target; raises `UserError` where the source doesn't have the form that its row needs."""
        if name not in self._infos:
            step, _ = self._entry(name)
            infos = step.row.infos([self._source.info(source) for source in step.sources])
            self._infos.update(zip(step.targets, infos, strict=True))
        return self._infos[name]

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a target or a part of it; see `Source.raw`."""
        info = self.info(name)
        full = bounded(name, slices, info.shape)
        out: Array = np.empty(extents(full), storage(info))
        self.raw_into(name, full, out)
        return out

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Make a part of a target in place; see `Source.raw_into`."""
        step, number = self._entry(name)
        parts = [Part(self._source, source) for source in step.sources]
        step.row.fill(number, bounded(name, slices, self.info(name).shape), out, parts)

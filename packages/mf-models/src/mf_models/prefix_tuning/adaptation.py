"""Learnt keys and values of a network: to and from files."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from mindspore import Parameter, Tensor

from mf_ckpt import ArraySource, compare
from mf_ckpt.disk.files import json_bytes, member, read_json
from mf_ckpt.formats.safetensors_file.tensors import open_file
from mf_ckpt.lora.peft import ADAPTER_CONFIG, WEIGHTS
from mf_ckpt.store.file_plan import one_file
from mf_config.problems import UserError
from mf_models.prefix_tuning.form import PrefixForm


class PrefixAdaptation:
    """What `attach` made of a network; see `mf_models.adaptation.Adaptation`.

    Its files have the names of those of Hugging Face PEFT, but another content, which no program takes for LoRA.

    Attributes:
        parameters: what is trained, by name.
    """

    def __init__(self, form: PrefixForm, parameters: Mapping[str, Parameter]):
        """Takes the form of the rows, and the parameters that make them."""
        self.parameters = parameters
        self._form = form

    def files(self, base: str) -> Mapping[str, bytes]:
        """The settings, and all trained parameters under their names."""
        arrays = {name: parameter.asnumpy() for name, parameter in self.parameters.items()}
        return {
            ADAPTER_CONFIG: json_bytes(self._form.settings(base)),
            WEIGHTS: b"".join(one_file(WEIGHTS, ArraySource(arrays), {"format": "pt"})),
        }

    def load(self, path: Path) -> None:
        """Take the trained parameters from a folder with such files.

        Raises:
            UserError: they are damaged, or of another method, number or width.
        """
        stored = open_file(member(path, WEIGHTS))
        form = form_in(path)
        for name in ("rows", "inner", "shared"):
            there, here = getattr(form, name), getattr(self._form, name)
            if there != here:
                raise UserError(f"{path}: its prefix doesn't fit pet_config: {name} is {there} there, {here} here.")
        shapes = {name: tuple(parameter.shape) for name, parameter in self.parameters.items()}
        compare(stored, shapes).check(str(path))
        for name, parameter in self.parameters.items():
            parameter.set_data(Tensor(np.array(stored[name], np.float32)))


def form_in(path: Path) -> PrefixForm:
    """The form of the prefix that a folder holds.

    Raises:
        UserError: it holds an adapter of another method, or one that is damaged.
    """
    return PrefixForm.of(read_json(member(path, ADAPTER_CONFIG)), str(path / ADAPTER_CONFIG))

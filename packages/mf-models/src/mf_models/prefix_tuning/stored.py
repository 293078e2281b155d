"""Prefixes that lie beside a base, in a checkpoint or in a folder of their own."""

from pathlib import Path

from mf_ckpt.disk.files import member, read_json
from mf_ckpt.lora import is_adapter
from mf_ckpt.lora.peft import ADAPTER_CONFIG
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.prefix_tuning.adaptation import form_in
from mf_models.prefix_tuning.attach import attach
from mf_models.prefix_tuning.form import METHOD


def has_prefix(path: Path) -> bool:
    """Whether a path is a folder that holds a prefix."""
    return is_adapter(path) and read_json(member(path, ADAPTER_CONFIG)).get("peft_type") == METHOD


def put_stored_prefix(path: Path, cell: CausalLanguageModel) -> None:
    """Put the prefix that a folder holds before the texts of a network; nothing where it holds none.

    Args:
        path: any path.
        cell: not compiled yet; its weights are not trained any more.

    Raises:
        UserError: the prefix is damaged, or doesn't fit the network.
    """
    if has_prefix(path):
        attach(form_in(path), cell, seed=0).load(path)

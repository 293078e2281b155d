"""The trainer of mf: pretrain, finetune and evaluate large language models on MindSpore from one run configuration."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mf_train.trainer import Trainer as Trainer

__all__ = ["Trainer"]


def __getattr__(name: str) -> Any:
    # On demand, because reading a configuration imports this package and must not wait for MindSpore.
    if name != "Trainer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("mf_train.trainer").Trainer

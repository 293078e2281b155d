"""Checkpoints of large language models: atomic, verified, sharded safetensors folders, read lazily, no framework."""

from mf_ckpt.files import CheckpointError
from mf_ckpt.headers import TensorInfo
from mf_ckpt.keymap import KeyMap
from mf_ckpt.reader import Reader
from mf_ckpt.reader import open_checkpoint as open
from mf_ckpt.retention import checkpoints, clean, find, latest, retire, step_name
from mf_ckpt.rows import Join, Rename, Split
from mf_ckpt.tensors import Tensors
from mf_ckpt.verification import Finding, verify
from mf_ckpt.writer import Writer

__all__ = [
    "CheckpointError",
    "Finding",
    "Join",
    "KeyMap",
    "Reader",
    "Rename",
    "Split",
    "TensorInfo",
    "Tensors",
    "Writer",
    "checkpoints",
    "clean",
    "find",
    "latest",
    "open",
    "retire",
    "step_name",
    "verify",
]

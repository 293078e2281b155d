"""Checkpoints of large language models: atomic, verified, sharded safetensors folders, read lazily, no framework."""

from mf_ckpt.arrays import ArraySource
from mf_ckpt.background import BackgroundSaver, Snapshot
from mf_ckpt.eager import load
from mf_ckpt.families import CheckpointFamily
from mf_ckpt.files import CheckpointError
from mf_ckpt.forms import in_hf_form
from mf_ckpt.headers import TensorInfo
from mf_ckpt.keymap import KeyMap
from mf_ckpt.layouts import Layout
from mf_ckpt.loading import Fit, check_layout, compare, resume_point
from mf_ckpt.mapped import CastSource, MappedSource
from mf_ckpt.merge import merge_lora
from mf_ckpt.placement_rules import PlacementRule, place
from mf_ckpt.reader import Reader
from mf_ckpt.reader import open_checkpoint as open
from mf_ckpt.retention import checkpoints, clean, find, latest, retire, step_name
from mf_ckpt.rows import Join, Permute, Rename, Split, Stack, Tie, Transpose, Unstack, Untie
from mf_ckpt.sliced import RankSource, SlicedSource
from mf_ckpt.source import Source
from mf_ckpt.tensors import Tensors
from mf_ckpt.transform import export, transform
from mf_ckpt.verification import Finding, verify
from mf_ckpt.writer import Writer

__all__ = [
    "ArraySource",
    "BackgroundSaver",
    "CastSource",
    "CheckpointError",
    "CheckpointFamily",
    "Finding",
    "Fit",
    "Join",
    "KeyMap",
    "Layout",
    "MappedSource",
    "Permute",
    "PlacementRule",
    "RankSource",
    "Reader",
    "Rename",
    "SlicedSource",
    "Snapshot",
    "Source",
    "Split",
    "Stack",
    "TensorInfo",
    "Tensors",
    "Tie",
    "Transpose",
    "Unstack",
    "Untie",
    "Writer",
    "check_layout",
    "checkpoints",
    "clean",
    "compare",
    "export",
    "find",
    "in_hf_form",
    "latest",
    "load",
    "merge_lora",
    "open",
    "place",
    "resume_point",
    "retire",
    "step_name",
    "transform",
    "verify",
]

"""Checkpoints of large language models: atomic, verified, sharded safetensors folders, read lazily, no framework."""

from mf_ckpt.conversion.merge_lora import merge_lora
from mf_ckpt.conversion.other_programs import in_hf_form
from mf_ckpt.conversion.transform import export, transform
from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.families import CheckpointFamily
from mf_ckpt.formats.safetensors_file.tensors import Tensors
from mf_ckpt.keymap.keymap import KeyMap
from mf_ckpt.keymap.mapped import MappedSource
from mf_ckpt.keymap.rows import Join, Permute, Rename, Split, Stack, Tie, Transpose, Unstack, Untie
from mf_ckpt.placement.layout import Layout
from mf_ckpt.placement.placement_rules import PlacementRule, place
from mf_ckpt.reading.fit import Fit, check_layout, compare
from mf_ckpt.reading.reader import Reader
from mf_ckpt.reading.reader import open_checkpoint as open
from mf_ckpt.reading.verification import Finding, verify
from mf_ckpt.sources.arrays import ArraySource
from mf_ckpt.sources.cast import CastSource
from mf_ckpt.sources.loading import load
from mf_ckpt.sources.sliced import RankSource, SlicedSource
from mf_ckpt.sources.source import Source
from mf_ckpt.store.background import BackgroundSaver, Snapshot
from mf_ckpt.store.run_folder import checkpoints, clean, find, latest, resume_point, retire, step_name
from mf_ckpt.store.writer import Writer
from mf_ckpt.tensor_info import TensorInfo

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

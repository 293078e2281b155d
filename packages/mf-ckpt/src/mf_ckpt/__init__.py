"""Checkpoints of large language models: atomic, verified, sharded safetensors folders, read lazily, no framework."""

from typing import TYPE_CHECKING

from mf_config.on_demand import names_on_demand

if TYPE_CHECKING:
    from mf_ckpt.conversion.merge_lora import merge_lora as merge_lora
    from mf_ckpt.conversion.other_programs import in_hf_form as in_hf_form
    from mf_ckpt.conversion.transform import export as export
    from mf_ckpt.conversion.transform import export_weights as export_weights
    from mf_ckpt.conversion.transform import transform as transform
    from mf_ckpt.disk.files import CheckpointError as CheckpointError
    from mf_ckpt.families import CheckpointFamily as CheckpointFamily
    from mf_ckpt.formats.safetensors_file.tensors import Tensors as Tensors
    from mf_ckpt.keymap.keymap import KeyMap as KeyMap
    from mf_ckpt.keymap.mapped import MappedSource as MappedSource
    from mf_ckpt.keymap.rows import Join as Join
    from mf_ckpt.keymap.rows import Permute as Permute
    from mf_ckpt.keymap.rows import Rename as Rename
    from mf_ckpt.keymap.rows import Split as Split
    from mf_ckpt.keymap.rows import Stack as Stack
    from mf_ckpt.keymap.rows import Tie as Tie
    from mf_ckpt.keymap.rows import Transpose as Transpose
    from mf_ckpt.keymap.rows import Unstack as Unstack
    from mf_ckpt.keymap.rows import Untie as Untie
    from mf_ckpt.placement.layout import Layout as Layout
    from mf_ckpt.placement.placement_rules import PlacementRule as PlacementRule
    from mf_ckpt.placement.placement_rules import place as place
    from mf_ckpt.reading.fit import Fit as Fit
    from mf_ckpt.reading.fit import check_layout as check_layout
    from mf_ckpt.reading.fit import compare as compare
    from mf_ckpt.reading.reader import Reader as Reader
    from mf_ckpt.reading.reader import open_checkpoint as open
    from mf_ckpt.reading.verification import Finding as Finding
    from mf_ckpt.reading.verification import verify as verify
    from mf_ckpt.sources.arrays import ArraySource as ArraySource
    from mf_ckpt.sources.cast import CastSource as CastSource
    from mf_ckpt.sources.loading import load as load
    from mf_ckpt.sources.sliced import RankSource as RankSource
    from mf_ckpt.sources.sliced import SlicedSource as SlicedSource
    from mf_ckpt.sources.source import Source as Source
    from mf_ckpt.store.background import BackgroundSaver as BackgroundSaver
    from mf_ckpt.store.background import Snapshot as Snapshot
    from mf_ckpt.store.run_folder import checkpoints as checkpoints
    from mf_ckpt.store.run_folder import clean as clean
    from mf_ckpt.store.run_folder import find as find
    from mf_ckpt.store.run_folder import latest as latest
    from mf_ckpt.store.run_folder import resume_point as resume_point
    from mf_ckpt.store.run_folder import retire as retire
    from mf_ckpt.store.run_folder import step_name as step_name
    from mf_ckpt.store.run_folder import thin as thin
    from mf_ckpt.store.writer import Writer as Writer
    from mf_ckpt.tensor_info import TensorInfo as TensorInfo

_HOMES = {
    "ArraySource": "mf_ckpt.sources.arrays",
    "BackgroundSaver": "mf_ckpt.store.background",
    "CastSource": "mf_ckpt.sources.cast",
    "CheckpointError": "mf_ckpt.disk.files",
    "CheckpointFamily": "mf_ckpt.families",
    "Finding": "mf_ckpt.reading.verification",
    "Fit": "mf_ckpt.reading.fit",
    "Join": "mf_ckpt.keymap.rows",
    "KeyMap": "mf_ckpt.keymap.keymap",
    "Layout": "mf_ckpt.placement.layout",
    "MappedSource": "mf_ckpt.keymap.mapped",
    "Permute": "mf_ckpt.keymap.rows",
    "PlacementRule": "mf_ckpt.placement.placement_rules",
    "RankSource": "mf_ckpt.sources.sliced",
    "Reader": "mf_ckpt.reading.reader",
    "Rename": "mf_ckpt.keymap.rows",
    "SlicedSource": "mf_ckpt.sources.sliced",
    "Snapshot": "mf_ckpt.store.background",
    "Source": "mf_ckpt.sources.source",
    "Split": "mf_ckpt.keymap.rows",
    "Stack": "mf_ckpt.keymap.rows",
    "TensorInfo": "mf_ckpt.tensor_info",
    "Tensors": "mf_ckpt.formats.safetensors_file.tensors",
    "Tie": "mf_ckpt.keymap.rows",
    "Transpose": "mf_ckpt.keymap.rows",
    "Unstack": "mf_ckpt.keymap.rows",
    "Untie": "mf_ckpt.keymap.rows",
    "Writer": "mf_ckpt.store.writer",
    "check_layout": "mf_ckpt.reading.fit",
    "checkpoints": "mf_ckpt.store.run_folder",
    "clean": "mf_ckpt.store.run_folder",
    "compare": "mf_ckpt.reading.fit",
    "export": "mf_ckpt.conversion.transform",
    "export_weights": "mf_ckpt.conversion.transform",
    "find": "mf_ckpt.store.run_folder",
    "in_hf_form": "mf_ckpt.conversion.other_programs",
    "latest": "mf_ckpt.store.run_folder",
    "load": "mf_ckpt.sources.loading",
    "merge_lora": "mf_ckpt.conversion.merge_lora",
    "open": "mf_ckpt.reading.reader:open_checkpoint",
    "place": "mf_ckpt.placement.placement_rules",
    "resume_point": "mf_ckpt.store.run_folder",
    "retire": "mf_ckpt.store.run_folder",
    "step_name": "mf_ckpt.store.run_folder",
    "thin": "mf_ckpt.store.run_folder",
    "transform": "mf_ckpt.conversion.transform",
    "verify": "mf_ckpt.reading.verification",
}

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
    "export_weights",
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
    "thin",
    "transform",
    "verify",
]

# Command lines import this package and must not wait for all that it offers.
__getattr__ = names_on_demand(__name__, _HOMES)

"""The rows of a key map, one module for each kind."""

from mf_ckpt.keymap.rows.join import Join, Split
from mf_ckpt.keymap.rows.permute import Permute
from mf_ckpt.keymap.rows.rename import Rename
from mf_ckpt.keymap.rows.row import Part, Row, apply
from mf_ckpt.keymap.rows.stack import Stack, Unstack
from mf_ckpt.keymap.rows.tie import Tie, Untie
from mf_ckpt.keymap.rows.transpose import Transpose

__all__ = [
    "Join",
    "Part",
    "Permute",
    "Rename",
    "Row",
    "Split",
    "Stack",
    "Tie",
    "Transpose",
    "Unstack",
    "Untie",
    "apply",
]

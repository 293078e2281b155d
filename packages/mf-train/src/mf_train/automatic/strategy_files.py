"""Compares the strategy file of a compiled step with one of an earlier run."""

from collections.abc import Mapping
from pathlib import Path

from mf_ckpt.formats.mindspore_ckpt.cuts import cuts_of
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_ckpt.formats.mindspore_ckpt.strategy import read_strategy
from mf_config.problems import UserError
from mf_parallel.names import collapse


def check_strategy(written: Path, earlier: Path) -> None:
    """Refuse a step that is divided otherwise than an earlier one.

    Args:
        written: the file of the step.
        earlier: that of the earlier step, on the same rank.

    Raises:
        UserError: they divide a parameter differently, or one of them has parameters that the other lacks; or a file
            can't be read.
    """
    now, before = _layouts(written), _layouts(earlier)
    names = dict.fromkeys((*now, *before))
    differing = [name for name in names if name not in now or name not in before or not _alike(now[name], before[name])]
    if differing:
        named = ", ".join(text for text, _ in collapse(differing))
        raise UserError(
            f"parallel.strategy_ckpt_load_file: MindSpore divides parameters otherwise than {earlier} says: {named}. "
            "Allowed: the settings of the run that wrote it, or no file."
        )


def _layouts(path: Path) -> Mapping[str, ParallelLayout]:
    (layouts,) = read_strategy(path).stages.values()
    return layouts


def _alike(one: ParallelLayout, other: ParallelLayout) -> bool:
    return cuts_of(one) == cuts_of(other)

"""`mf-ckpt reshard`: a checkpoint cut for another mesh."""

import time
from argparse import Namespace
from pathlib import Path

from mf_ckpt.cli.output import ProgressLine, note_adapter, open_path, print_written
from mf_ckpt.conversion.transform import transform
from mf_ckpt.families import CheckpointFamily, family_of
from mf_ckpt.placement.layout import Layout
from mf_ckpt.placement.placement_rules import check_even, place, rules_of
from mf_ckpt.placement.rule_file import read_rules
from mf_ckpt.reading.reader import Reader
from mf_config.command_line import OK
from mf_config.layout import AXES, Mesh
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest


def run(arguments: Namespace) -> int:
    """Write the checkpoint as the mesh cuts it; returns the exit status."""
    started = time.monotonic()
    reader, destination = open_path(arguments.source), Path(arguments.destination)
    mesh = parse_mesh(arguments.mesh)
    note_adapter(reader)
    layout = None
    if mesh.size > 1:
        known = _known(reader)
        rules = read_rules(Path(arguments.rules)) if arguments.rules else known.rules
        if not rules:
            raise UserError(_no_rules(reader))
        layout = place(
            reader.weights,
            reader.optimizer,
            mesh,
            rules,
            ties=known.ties,
            shard_optimizer=arguments.shard_optimizer,
        )
        if not arguments.allow_uneven:
            _check_even(layout)
    transform(reader, destination, layout=layout, progress=ProgressLine())
    print_written(destination, time.monotonic() - started, arguments.json)
    return OK


def parse_mesh(text: str) -> Mesh:
    """The mesh of a command line.

    Args:
        text: axes with their degrees, such as `tp=4,pp=2`.

    Raises:
        UserError: it isn't of this form, or names an unknown axis.
    """
    degrees: dict[str, int] = {}
    for part in text.split(","):
        axis, _, degree = part.partition("=")
        if axis not in AXES:
            guess = nearest(axis, AXES)
            hint = f" Did you mean {guess}?" if guess else ""
            raise UserError(f"--mesh: no axis {axis!r}. Allowed: {name_values(AXES)}.{hint}")
        if axis in degrees or not degree.isdecimal() or int(degree) < 1:
            raise UserError(f"--mesh: {part!r}. Allowed: each axis once, with a degree of at least 1: tp=4,pp=2.")
        degrees[axis] = int(degree)
    return Mesh.of(**degrees)


def _check_even(layout: Layout) -> None:
    try:
        check_even(layout)
    except UserError as error:
        raise UserError(f"{error}\nOr --allow-uneven: the first ranks get more.") from None


def _known(reader: Reader) -> CheckpointFamily:
    """What the model's family says, else what the source's own layout does; nothing where there is neither."""
    family = family_of(reader.config) if reader.config else None
    if family is None or not family.rules:
        layout = reader.layout
        family = CheckpointFamily(tuple(rules_of(layout)), ties=layout.ties) if layout else CheckpointFamily()
    return family


def _no_rules(reader: Reader) -> str:
    return (
        f"{reader.path}: nothing says how its tensors may be cut: no installed model family knows its config.json, and "
        "it has no layout.json. Allowed: --rules FILE."
    )

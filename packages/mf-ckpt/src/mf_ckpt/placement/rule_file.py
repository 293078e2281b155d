"""Placement rules in a file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mf_ckpt.placement.placement_rules import PlacementRule
from mf_config.layout import Fused, Placement, Shard
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

_STAGES = ("first", "last")


def read_rules(path: Path) -> list[PlacementRule]:
    """Rules from a TOML file, a table `[[rule]]` for each.

    Example:
        [[rule]]
        pattern = "model.layers.{layer}.self_attn.q_proj.weight"
        cut = [{ dim = 0, axis = "tp", unit = 128 }]

    Raises:
        UserError: the file is missing or not of this form; `parts` in a cut are the lengths of joined matrices.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is not TOML: {error}") from None
    entries = data.get("rule")
    if not isinstance(entries, list) or set(data) != {"rule"}:
        raise UserError(f"{path}: Allowed: tables [[rule]] and nothing else.")
    rules = []
    for number, entry in enumerate(entries, start=1):
        try:
            rules.append(_rule(entry))
        except UserError as error:
            raise UserError(f"{path}: rule {number}: {error}") from None
    return rules


def _rule(entry: Any) -> PlacementRule:
    if not isinstance(entry, dict):
        raise UserError("must be a table")
    _check_keys(entry, ("pattern", "cut", "stage", "pad_to"))
    pattern, cuts = entry.get("pattern"), entry.get("cut", [])
    stage, pad_to = entry.get("stage", ""), entry.get("pad_to", 1)
    if not isinstance(pattern, str) or not isinstance(cuts, list):
        raise UserError("needs a pattern, a text, and may have a cut, a list")
    if stage not in ("", *_STAGES) or type(pad_to) is not int or pad_to < 1:
        raise UserError(f"stage {stage!r}, pad_to {pad_to!r}. Allowed: stage first or last, pad_to from 1.")
    return PlacementRule(pattern, tuple(map(_division, cuts)), stage, pad_to)


def _division(entry: Any) -> Placement:
    if not isinstance(entry, dict):
        raise UserError('a cut must be a table such as {{ dim = 0, axis = "tp" }}')
    _check_keys(entry, ("dim", "axis", "unit", "parts"))
    dim, axis, unit, parts = entry.get("dim"), entry.get("axis"), entry.get("unit", 1), entry.get("parts")
    if type(dim) is not int or not isinstance(axis, str) or type(unit) is not int:
        raise UserError("a cut needs dim, a whole number, and axis, a text, and may have unit, a whole number")
    if parts is None:
        return Shard(dim, axis, unit)
    if not isinstance(parts, list) or not all(type(part) is int for part in parts):
        raise UserError("parts of a cut must be a list of whole numbers")
    return Fused(dim, axis, tuple(parts), unit)


def _check_keys(entry: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in entry:
        if key not in known:
            guess = nearest(key, known)
            hint = f" Did you mean {guess}?" if guess else ""
            raise UserError(f"unknown key {key!r}. Allowed: {name_values(known)}.{hint}")

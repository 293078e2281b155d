"""What becomes of each key that a file gives: nothing is accepted and then silently without effect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.bind import MISSING, Written
from mf_config.problems import Problem, Severity, name_values
from mf_config.schema import ALL_MODES


@dataclass(frozen=True, slots=True)
class Use:
    """What a run makes of a configuration's keys.

    Attributes:
        run_mode: what the run does; a key that it doesn't read has no effect.
        device_target: the device, for the keys that count on others only.
    """

    run_mode: str
    device_target: str


def report_effects(written: Mapping[str, Written], use: Use) -> Iterator[Problem]:
    """Report the keys that have no effect, and those that keep the run from starting.

    Args:
        written: what stands in the file, sections before their keys.
        use: what reads it.
    Yields:
        A note for each key or section without effect (the keys below it are not mentioned again), a blocker for each
        value that this version can't run with, a warning for each deprecated key.
    """
    settled: set[str] = set()
    for path, entry in written.items():
        if not settled.isdisjoint(_parents(path)):
            continue
        key = entry.key
        if key is not None and key.deprecated:
            yield Problem(entry.location, path, f"is deprecated {key.deprecated}", severity=Severity.WARNING)
        if reason := _without_effect(path, entry, written, use):
            settled.add(path)
            yield Problem(entry.location, path, f"has no effect: {reason}", severity=Severity.NOTE)
        elif blocker := _blocker(path, entry):
            settled.add(path)
            yield blocker


def _parents(path: str) -> Iterator[str]:
    """The paths of the sections around a key, itself left out."""
    for index, character in enumerate(path):
        if character in ".[":
            yield path[:index]


def _without_effect(path: str, entry: Written, written: Mapping[str, Written], use: Use) -> str:
    """Why what stands at `path` counts for nothing; empty where it counts."""
    inert_component = entry.component.inert if entry.component else ""
    key = entry.key
    if key is None:
        return inert_component
    if key.modes and use.run_mode in ALL_MODES and use.run_mode not in key.modes:
        return f"run_mode {use.run_mode} does not read it"
    if key.needs and use.run_mode in (key.needs_in or ALL_MODES) and _is_off(_switch(path, key.needs), written):
        return f"{key.needs} is off"
    return key.inert or key.inert_on.get(use.device_target, "") or inert_component


def _switch(path: str, needs: str) -> str:
    """The full path of the switch: a plain name is a key of the same section."""
    section = path.rpartition(".")[0]
    return needs if "." in needs or not section else f"{section}.{needs}"


def _is_off(switch: str, written: Mapping[str, Written]) -> bool:
    """Whether a switch is not on; every switch is off where the file doesn't give it."""
    return switch not in written or not written[switch].value


def _blocker(path: str, entry: Written) -> Problem | None:
    """Why a run can't start with what stands at `path`."""
    if entry.component and entry.component.pending:
        what = f"{entry.text} is checked, but can't be run yet: {entry.component.pending}"
        return Problem(entry.location, path, what, severity=Severity.BLOCKER)
    key = entry.key
    if key is None or not key.pending or entry.value is MISSING:
        return None
    runnable: tuple[Any, ...] = key.runs or (entry.default,)
    if entry.value in runnable:
        return None
    what = f"{entry.text} is valid, but can't be run yet: {key.pending}"
    # A list, because a value may be a section.
    different = [value for place, value in enumerate(runnable) if value not in runnable[:place]]
    shown = name_values("unset" if value is None else value for value in different)
    return Problem(entry.location, path, what, shown, severity=Severity.BLOCKER)

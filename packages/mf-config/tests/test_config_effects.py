from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.bind import Binding, bind_section
from mf_config.effects import Use, report_effects
from mf_config.schema import ComponentOf, component, key
from mf_config.yaml_reader import read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    size: int = key("Size.", 1)
    odd: int = key("Odd.", 1, inert="nobody asks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    old: int = key("Old.", 0, inert="nobody asks")
    slow: int = key("Slow.", 0, inert_on={"CPU": "it is fast"})
    steps: int = key("Steps.", 1, modes=("train",))
    part: Part = key("Part.", Part())
    unread: Part = key("Part that only training reads.", Part(), modes=("train",))
    record: bool = key("Switch.", False)
    record_from: int = key("First step.", 1, needs="record")
    record_to: int = key("Last step.", 1, needs="record", needs_in=("train",))
    ranks: int = key("Ranks.", 1, pending="there is one rank")
    kind: str = key("Kind.", "fast", pending="only slow and slower", runs=("slow", "slower"))
    extras: dict[str, Any] | None = key("Extras.", None, pending="there are none", runs=(None, {}))
    former: int = key("Former.", 0, deprecated="since 1.0: write old")
    tool: Annotated[Any, ComponentOf("optimizer")] | None = key("Tool.", None)
    tools: tuple[Annotated[Any, ComponentOf("optimizer")], ...] = key("Tools.", ())


def effects(text: str, mode: str = "train", device: str = "CPU") -> list[str]:
    binding = Binding()
    bind_section(Whole, read_text(text, "run.yaml").root, "", binding)
    assert binding.problems == []
    return [str(problem) for problem in report_effects(binding.written, Use(mode, device))]


def test_what_counts_is_not_mentioned() -> None:
    assert effects("steps: 3\npart: {size: 2}\nranks: 1\nkind: slower\n") == []


def test_keys_without_effect_are_noted_with_the_reason() -> None:
    assert effects("old: 3\nslow: 3\n") == [
        "run.yaml:1: old: note: has no effect: nobody asks.",
        "run.yaml:2: slow: note: has no effect: it is fast.",
    ]
    assert len(effects("old: 3\nslow: 3\n", device="Ascend")) == 1


def test_a_section_that_the_run_mode_does_not_read_is_noted_once() -> None:
    text = "unread:\n  size: 3\n  odd: 1\nsteps: 2\n"
    assert effects(text, mode="predict") == [
        "run.yaml:2: unread: note: has no effect: run_mode predict does not read it.",
        "run.yaml:4: steps: note: has no effect: run_mode predict does not read it.",
    ]
    assert effects(text) == ["run.yaml:3: unread.odd: note: has no effect: nobody asks."]


def test_a_misspelt_run_mode_hides_nothing() -> None:
    assert effects("steps: 2\nold: 1\n", mode="fintune") == ["run.yaml:2: old: note: has no effect: nobody asks."]


def test_a_key_counts_only_while_its_switch_is_on() -> None:
    off = "run.yaml:1: record_from: note: has no effect: record is off."
    assert effects("record_from: 3\n") == [off]
    assert effects("record_from: 3\nrecord: False\n") == [off]
    assert effects("record_from: 3\nrecord: True\n") == []


def test_a_switch_may_matter_in_some_run_modes_only() -> None:
    assert effects("record_to: 3\n") == ["run.yaml:1: record_to: note: has no effect: record is off."]
    assert effects("record_to: 3\n", mode="eval") == []


def test_a_value_that_can_not_be_run_blocks_the_run() -> None:
    assert effects("ranks: 4\nkind: fast\nextras: {}\n") == [
        "run.yaml:1: ranks: blocks the run: 4 is valid, but can't be run yet: there is one rank. Allowed: 1.",
        "run.yaml:2: kind: blocks the run: fast is valid, but can't be run yet: only slow and slower. "
        "Allowed: slow, slower.",
    ]


def test_a_section_that_can_not_be_run_blocks_the_run() -> None:
    (found,) = effects("extras: {a: 1}\n")
    assert found.startswith("run.yaml:1: extras: blocks the run: ")
    assert found.endswith("can't be run yet: there are none. Allowed: unset, {}.")


def test_a_deprecated_key_is_warned_of() -> None:
    assert effects("former: 1\n") == ["run.yaml:1: former: warning: is deprecated since 1.0: write old."]


@component("optimizer", "Later", pending="it is not written yet")
@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A tool to come."""

    odd: int = key("Odd.", 1, inert="nobody asks")


@component("optimizer", "Idle", inert="it only uploads")
@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """A tool that does nothing here."""


def test_components_speak_for_all_their_keys(monkeypatch: Any) -> None:
    monkeypatch.setattr("mf_config.bind.components", lambda kind: {"Later": Later, "Idle": Idle})
    assert effects("tool: {type: Later, odd: 3}\ntools:\n- type: Idle\n- {type: Later}\n") == [
        "run.yaml:1: tool: blocks the run: Later is checked, but can't be run yet: it is not written yet.",
        "run.yaml:3: tools[0]: note: has no effect: it only uploads.",
        "run.yaml:4: tools[1]: blocks the run: Later is checked, but can't be run yet: it is not written yet.",
    ]

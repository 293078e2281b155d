from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.components import components
from mf_config.outline import Entry, Part, outline, parts, sections_in
from mf_config.schema import ALL_MODES, REQUIRED, ComponentOf, component, key
from mf_config.sections.context import ContextSection


def entries(path: str) -> list[Entry]:
    return [entry for entry in outline() if entry.path == path]


def test_every_key_of_the_file_and_its_components_is_listed(toys: None) -> None:
    paths = [entry.path for entry in outline()]
    assert {"seed", "context.device_target", "model.model_config.seq_length", "callbacks[].every"} <= set(paths)
    assert paths.index("runner_config") < paths.index("runner_config.epochs") < paths.index("model")


def test_an_entry_knows_where_it_comes_from(toys: None) -> None:
    (entry,) = entries("optimizer.betas")
    assert (entry.name, entry.component, entry.default) == ("betas", ("ToyAdam", "toy_adam"), (0.9, 0.999))
    assert entry.part.owner is components("optimizer")["ToyAdam"]
    assert entry.type_text == "a list of numbers"


def test_a_key_of_two_components_is_listed_for_each(toys: None) -> None:
    assert [entry.component for entry in entries("optimizer.learning_rate")] == [("ToyAdam", "toy_adam"), ("ToySgd",)]


def test_run_modes_come_from_the_nearest_that_names_them(toys: None) -> None:
    (seed,), (momentum,) = entries("seed"), entries("optimizer.momentum")
    assert seed.modes == ALL_MODES
    assert momentum.modes == ("train", "finetune")


def test_required_keys_have_no_default(toys: None) -> None:
    assert entries("model.arch.type")[0].default is REQUIRED
    assert entries("context")[0].default == ContextSection()


def test_a_repeated_section_is_not_listed_twice(toys: None) -> None:
    paths = [entry.path for entry in outline()]
    assert "train_dataset_task.dataset_config" in paths
    assert not [path for path in paths if path.startswith("train_dataset_task.dataset_config.")]


def test_sections_that_a_field_may_hold(toys: None) -> None:
    loader = components("data_loader")["ToyLoader"]
    annotation = ContextSection | tuple[Annotated[Any, ComponentOf("data_loader")], ...] | None
    assert list(sections_in(annotation)) == [("", ContextSection, "type"), ("[]", loader, "type")]
    assert list(sections_in(dict[str, ContextSection])) == [(".*", ContextSection, "type")]
    assert list(sections_in(int | None)) == []


def test_every_section_is_listed_with_what_it_is_for(toys: None) -> None:
    listed = {(part.path, part.tag.names[0] if part.tag else ""): part.doc for part in parts()}
    assert listed["optimizer", "ToyAdam"] == "Adam."
    assert listed["metric", "ToyMetric"] == "Counts."
    assert listed["model", ""] == "A model family with its sizes."
    assert next(iter(listed)) == ("", "")


@component("shelf", "Shelf", pending="no wood", inert="no wall")
@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Holds books."""

    books: int = key("How many.", 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Holds shelves and rooms."""

    left: Shelf = key("One shelf.", Shelf())
    right: dict[str, Any] | None = key("Free.", None, inert="it is a door")
    inner: "Room | None" = key("A room in the room.", None, pending="one floor")


def test_reasons_of_a_section_hold_for_its_keys() -> None:
    left, right, inner = Part("", Room).entries
    (shelf,) = left.parts()
    (books,) = shelf.entries
    assert (books.path, books.inert, books.pending) == ("left.books", "no wall", "no wood")
    assert (left.inert, right.inert, inner.pending) == ("", "it is a door", "one floor")


def test_sections_that_hold_each_other_are_followed_once() -> None:
    assert [list(entry.parts()) for entry in Part("", Room).entries][2] == []

from collections.abc import Callable
from pathlib import Path

import pytest

from mf_config.document import load
from mf_config.nodes import Document, Mapping, Node, Scalar, Sequence
from mf_config.problems import ConfigError, Location

Write = Callable[..., str]


def plain(node: Node) -> object:
    """The node as dicts, lists and texts."""
    if isinstance(node, Mapping):
        return {name: plain(child) for name, child in node.entries.items()}
    return [plain(item) for item in node.items] if isinstance(node, Sequence) else node.text


def messages(document: Document) -> list[str]:
    return [str(problem) for problem in document.problems]


def refusal(name: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(name)
    return str(caught.value)


def test_a_file_alone(write: Write) -> None:
    document = load(write("a: 1\n"))
    assert (document.file, document.sources, document.problems) == ("run.yaml", ("run.yaml",), ())
    assert plain(document.root) == {"a": "1"}


def test_bases_are_merged_beneath_section_by_section(write: Write) -> None:
    write("seed: 1\nmodel:\n  model_config: {type: LlamaConfig, hidden_size: 48, num_layers: 2}\n", "base/model.yaml")
    write("seed: 7\nrunner_config: {epochs: 1, batch_size: 4}\ncallbacks: [{type: A}, {type: B}]\n", "base/run.yaml")
    write(
        "base_config: ['base/model.yaml', 'base/run.yaml']\nrunner_config:\n  epochs: 5\n"
        "model:\n  model_config:\n    hidden_size: 64\ncallbacks:\n  - type: C\n",
        "child.yaml",
    )
    document = load("child.yaml")
    assert plain(document.root) == {
        "seed": "7",
        "model": {"model_config": {"type": "LlamaConfig", "hidden_size": "64", "num_layers": "2"}},
        "runner_config": {"epochs": "5", "batch_size": "4"},
        "callbacks": [{"type": "C"}],
    }
    assert document.sources == ("base/model.yaml", "base/run.yaml", "child.yaml")
    assert document.root.entries["seed"].location == Location("base/run.yaml", 1, 7)
    assert document.root.key_locations["callbacks"] == Location("child.yaml", 7, 1)


def test_bases_are_found_beside_the_file_that_names_them(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a: 1\n", "deep/lower/ground.yaml")
    write("base_config: lower/ground.yaml\nb: 2\n", "deep/middle.yaml")
    write("base_config: deep/middle.yaml\n", "top.yaml")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert plain(load("../top.yaml").root) == {"a": "1", "b": "2"}


def test_one_base_may_be_reached_on_two_ways(write: Write) -> None:
    write("a: 1\n", "ground.yaml")
    write("base_config: ground.yaml\nb: 2\n", "left.yaml")
    write("base_config: ground.yaml\nc: 3\n", "right.yaml")
    assert plain(load(write("base_config: [left.yaml, right.yaml]\n")).root) == {"a": "1", "b": "2", "c": "3"}


@pytest.mark.parametrize("nothing", ["", "''", "~", "None", "[]"])
def test_no_base(write: Write, nothing: str) -> None:
    assert plain(load(write(f"base_config: {nothing}\na: 1\n")).root) == {"a": "1"}


def test_a_missing_base_names_the_file_that_asks_for_it(write: Write) -> None:
    write("a: 1\n", "base/model.yaml")
    assert refusal(write("seed: 1\nbase_config: base/modell.yaml\n")) == (
        "run.yaml:2: base_config: no file 'base/modell.yaml'. Allowed: a path relative to this file. "
        "Did you mean base/model.yaml?"
    )


def test_a_cycle_of_bases_is_named_with_every_place(write: Write) -> None:
    write("base_config: run.yaml\n", "other.yaml")
    write("a: 1\nbase_config: [other.yaml]\n")
    write("base_config: run.yaml\n", "outside.yaml")
    cycle = "run.yaml:2:15 -> other.yaml:1:14 -> run.yaml"
    expected = f"other.yaml:1: base_config: the base files form a cycle: {cycle}. Allowed: no cycles."
    assert refusal("run.yaml") == expected
    assert refusal("outside.yaml") == expected
    assert "cycle: self.yaml:1:14 -> self.yaml." in refusal(write("base_config: self.yaml\n", "self.yaml"))


def test_the_number_of_base_files_is_bounded(write: Write) -> None:
    write("a: 1\n", "level0.yaml")
    for level in range(1, 8):
        write(f"base_config: [level{level - 1}.yaml, level{level - 1}.yaml]\n", f"level{level}.yaml")
    assert load("level4.yaml").sources == tuple(f"level{level}.yaml" for level in range(5))
    assert "base_config: too many base files are named. Allowed: 32 in all." in refusal("level7.yaml")


@pytest.mark.parametrize(
    ("text", "found"),
    [("base_config: {a: 1}\n", "a section"), ("base_config: [[a]]\n", "a list"), ("base_config: ['']\n", "''")],
)
def test_a_base_is_a_name(write: Write, text: str, found: str) -> None:
    expected = f"run.yaml:1: base_config: {found} is not a file name. Allowed: a file name or a list of them."
    assert refusal(write(text)) == expected


@pytest.mark.parametrize("name", ['"a\\0b"', "x" * 300])
def test_a_base_of_an_impossible_name(write: Write, name: str) -> None:
    assert refusal(write(f"base_config: {name}\n")).endswith("is not the name of a file. Allowed: a file name.")


def test_a_syntax_error_in_a_base_is_placed_there(write: Write) -> None:
    write("a:\n\tb: 1\n", "base.yaml")
    assert refusal(write("base_config: base.yaml\n")) == ("base.yaml:2: a tab indents this line. Allowed: spaces only.")


def test_duplicates_of_all_files_travel_with_the_document(write: Write) -> None:
    write("a: 1\na: 2\n", "base.yaml")
    document = load(write("base_config: base.yaml\nb: 1\nb: 2\n"), ["c={d: 1, d: 2}"])
    assert messages(document) == [
        "run.yaml:3: b: key written twice: first at line 2, column 1, again at line 3, column 1 (1 there, 2 here). "
        "Allowed: one definition.",
        "base.yaml:2: a: key written twice: first at line 1, column 1, again at line 2, column 1 (1 there, 2 here). "
        "Allowed: one definition.",
        "command line:--set: c.d: key written twice (1 there, 2 here). Allowed: one definition.",
    ]
    assert plain(document.root) == {"a": "1", "b": "1"}


def test_overrides_are_yaml_and_the_last_one_wins(write: Write) -> None:
    overrides = [
        "a=5",
        "b.c=[1, 2]",
        "new.section.key=x",
        "b.d=",
        "a=6",
        "text=x=y",
        "l.1.n=9",
        "l[0].n = 8",
        "m[1][0]=7",
    ]
    document = load(write("a: 1\nb: {c: 0, keep: 1}\nl:\n  - n: 1\n  - n: 2\nm: [[1], [2]]\n"), overrides)
    assert plain(document.root) == {
        "a": "6",
        "b": {"c": ["1", "2"], "keep": "1", "d": ""},
        "l": [{"n": "8"}, {"n": "9"}],
        "m": [["1"], ["7"]],
        "new": {"section": {"key": "x"}},
        "text": "x=y",
    }
    assert messages(document) == []


def test_an_overridden_value_stands_on_the_command_line_and_its_section_in_the_file(write: Write) -> None:
    root = load(write("b:\n  c: 0\n"), ["b.c=1"]).root
    section = root.entries["b"]
    assert isinstance(section, Mapping)
    assert str(section.key_locations["c"]) == str(section.entries["c"].location) == "command line:--set"
    assert root.key_locations["b"] == Location("run.yaml", 1, 1)


def test_an_override_never_changes_what_an_alias_shares(write: Write) -> None:
    document = load(write("a: &x {b: 1}\nc: *x\n"), ["c.b=2"])
    assert plain(document.root) == {"a": {"b": "1"}, "c": {"b": "2"}}


def test_an_override_of_an_anchor_leaves_its_aliases(write: Write) -> None:
    document = load(write("a: &x {b: 1}\nc: *x\nd: {<<: *x}\n"), ["a.b=2"])
    assert plain(document.root) == {"a": {"b": "2"}, "c": {"b": "1"}, "d": {"b": "1"}}


@pytest.mark.parametrize("override", ["seed", "a..b=1", "=1", "a[x]=1", "a[]=1", "[0]=1", "a[0]b=1", ".a=1", "a.[0]=1"])
def test_what_is_no_override(write: Write, override: str) -> None:
    document = load(write("a: 1\n"), [override])
    expected = f"{override!r} is not an override. Allowed: KEY.PATH=VALUE, a list's element as KEY[0]."
    assert messages(document) == [f"command line:--set: {expected}"]
    assert plain(document.root) == {"a": "1"}


def test_every_wrong_override_is_reported(write: Write) -> None:
    overrides = ["l.2=1", "l[2]=1", "l.x=1", "e.0=1", "n[0]=1", "a[0]=1", "a=[1", "a=1"]
    document = load(write("l: [1, 2]\ne: []\na: 0\n"), overrides)
    assert messages(document) == [
        "command line:--set: l.2: the list has no element '2'. Allowed: 0 to 1.",
        "command line:--set: l[2]: the list has no element '2'. Allowed: 0 to 1.",
        "command line:--set: l.x: the list has no element 'x'. Allowed: 0 to 1.",
        "command line:--set: e.0: the list has no element '0'. Allowed: a whole list.",
        "command line:--set: n[0]: there is no list to have an element [0]. Allowed: a whole list.",
        "command line:--set: a[0]: there is no list to have an element [0]. Allowed: a whole list.",
        "command line:--set: a: a comma or the closing ] is missing. Allowed: [first, second].",
    ]
    assert plain(document.root) == {"l": ["1", "2"], "e": [], "a": "1"}


def test_base_files_are_no_matter_of_overrides(write: Write) -> None:
    document = load(write("a: 1\n"), ["base_config=other.yaml"])
    expected = "base files are merged before overrides are applied. Allowed: base_config in a file."
    assert messages(document) == [f"command line:--set: base_config: {expected}"]


def test_a_path_of_endless_depth_is_no_override(write: Write) -> None:
    document = load(write("a: 1\n"), [".".join("a" * 5000) + "=1"])
    assert "is not an override" in messages(document)[0]


def test_a_file_of_overrides_is_merged_in_its_turn(write: Write) -> None:
    write("a: 8\nb: {e: 4}\n", "base.yaml")
    over = write("base_config: base.yaml\nb:\n  d: 3\nl: [9]\n", "over.yaml")
    document = load(write("a: 1\nb: {c: 0, d: 1}\nl: [1, 2]\n"), ["a=5", "l[1]=3", f"@{over}", "b.d=7"])
    assert plain(document.root) == {"a": "8", "b": {"c": "0", "d": "7", "e": "4"}, "l": ["9"]}
    assert document.sources == ("run.yaml", "base.yaml", "over.yaml")


def test_what_a_file_of_overrides_sets_stands_there_and_its_section_where_it_was(write: Write) -> None:
    over = write("\nb:\n  c: 1\nd:\n  e: 2\n", "over.yaml")
    root = load(write("b:\n  c: 0\n"), [f"@{over}"]).root
    section = root.entries["b"]
    assert isinstance(section, Mapping)
    assert section.key_locations["c"] == Location("over.yaml", 3, 3)
    assert [root.key_locations[name] for name in "bd"] == [Location("run.yaml", 1, 1), Location("over.yaml", 4, 1)]


def test_a_file_of_overrides_never_changes_what_an_alias_shares(write: Write) -> None:
    over = write("a: {b: 2}\n", "over.yaml")
    assert plain(load(write("a: &x {b: 1}\nc: *x\n"), [f"@{over}"]).root) == {"a": {"b": "2"}, "c": {"b": "1"}}


def test_a_file_of_overrides_that_is_missing_stops_all(write: Write) -> None:
    write("a: 2\n", "over.yaml")
    path = write("a: 1\n")
    with pytest.raises(ConfigError, match=r"^ovr\.yaml: no such file\. Did you mean over\.yaml\?$"):
        load(path, ["@ovr.yaml"])
    assert messages(load(path, ["@"])) == ["command line:--set: '@' names no file. Allowed: @FILE."]


def test_scalars_keep_their_quotation_marks(write: Write) -> None:
    entries = load(write("a: '1'\n"), ["b='2'", "c=3"]).root.entries
    assert [node.quoted for node in entries.values() if isinstance(node, Scalar)] == [True, True, False]

from pathlib import Path

import pytest

from mf_config.nodes import Mapping, Node, Scalar, Sequence
from mf_config.problems import ConfigError, Location
from mf_config.yaml_reader import read_file, read_text, read_value

OVERRIDE = Location("command line:--set", 0)


def plain(node: Node) -> object:
    """The node as dicts, lists and texts."""
    if isinstance(node, Mapping):
        return {name: plain(child) for name, child in node.entries.items()}
    return [plain(item) for item in node.items] if isinstance(node, Sequence) else node.text


def content(text: str) -> object:
    reading = read_text(text, "run.yaml")
    assert reading.problems == ()
    return plain(reading.root)


def messages(text: str) -> list[str]:
    return [str(problem) for problem in read_text(text, "run.yaml").problems]


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_text(text, "run.yaml")
    return str(caught.value)


def test_scalars_stay_text_until_a_field_takes_them() -> None:
    text = "a: 1e-5\nb: 010\nc: yes\nd: 1:30\ne: 2024-01-01\nf: '3'\ng: ~\nh:\n"
    assert content(text) == {
        "a": "1e-5",
        "b": "010",
        "c": "yes",
        "d": "1:30",
        "e": "2024-01-01",
        "f": "3",
        "g": "~",
        "h": "",
    }


def test_a_scalar_knows_whether_it_was_quoted() -> None:
    entries = read_text("a: 1\nb: '1'\nc: \"1\"\nd: |\n  1\n", "run.yaml").root.entries
    assert [node.quoted for node in entries.values() if isinstance(node, Scalar)] == [False, True, True, True]


def test_every_key_and_value_knows_its_line_and_column() -> None:
    root = read_text("# first\na:\n  b:\n    - 1\n    - {c: 2}\n", "run.yaml").root
    section = root.entries["a"]
    assert isinstance(section, Mapping)
    items = section.entries["b"]
    assert isinstance(items, Sequence)
    assert root.key_locations["a"] == Location("run.yaml", 2, 1)
    assert section.key_locations["b"] == Location("run.yaml", 3, 3)
    assert [item.location for item in items.items] == [Location("run.yaml", 4, 7), Location("run.yaml", 5, 7)]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "\ufeff"])
def test_an_empty_file_is_an_empty_mapping(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    reading = read_file(path)
    assert (plain(reading.root), reading.problems) == ({}, ())


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes("\ufeff# 随机种子\r\nseed: 42\r\noutput_dir: './输出'\r\n".encode())
    reading = read_file(path)
    assert plain(reading.root) == {"seed": "42", "output_dir": "./输出"}
    assert reading.root.key_locations["seed"].line == 2


def test_every_duplicate_key_is_reported_at_once() -> None:
    text = "a: 1\nb:\n  c: 2\n  c: 4\n  d: [{e: 1, e: x}]\na:\n  x: 1\n'a': 3\n"
    assert messages(text) == [
        "run.yaml:4: b.c: key written twice: first at line 3, column 3, again at line 4, column 3 (2 there, 4 here). "
        "Allowed: one definition.",
        "run.yaml:5: b.d[0].e: key written twice: first at line 5, column 8, again at line 5, column 14 "
        "(1 there, x here). Allowed: one definition.",
        "run.yaml:6: a: key written twice: first at line 1, column 1, again at line 6, column 1. "
        "Allowed: one definition.",
        "run.yaml:8: a: key written twice: first at line 1, column 1, again at line 8, column 1 (1 there, 3 here). "
        "Allowed: one definition.",
    ]
    assert plain(read_text(text, "run.yaml").root) == {"a": "1", "b": {"c": "2", "d": [{"e": "1"}]}}


def test_tags_are_reported_and_never_followed() -> None:
    assert messages("a: !!python/object/apply:os.system [ls]\nb: !ENV home\nc: !!int 3\n") == [
        "run.yaml:1: a: the tag !!python/object/apply:os.system is not read. Allowed: plain values.",
        "run.yaml:2: b: the tag !ENV is not read. Allowed: plain values.",
    ]


def test_a_tag_says_more_than_quotation_marks() -> None:
    root = read_text("a: !!str 5\nb: !!bool 'true'\nc: !!float 1e-5\nd: 'true'\n", "run.yaml").root
    assert {name: node.quoted for name, node in root.entries.items()} == {"a": True, "b": False, "c": False, "d": True}


def test_keys_are_text() -> None:
    assert messages("a: 1\n? [b]\n: 2\n") == ["run.yaml:2: a list or mapping is used as a key. Allowed: text."]
    assert content("1: a\n") == {"1": "a"}


@pytest.mark.parametrize(("text", "found"), [("- a\n", "a list"), ("hello\n", "hello")])
def test_the_top_level_is_a_mapping(text: str, found: str) -> None:
    assert refusal(text) == f"run.yaml:1: {found} is all there is. Allowed: keys with values, `key: value`."


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes("seed: 1\n# 种子\n".encode("gbk"))
    with pytest.raises(ConfigError) as caught:
        read_file(path, "run.yaml")
    assert str(caught.value) == "run.yaml:2: byte 10 is not UTF-8. Allowed: a text file in UTF-8."


def test_a_missing_file_names_a_similar_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run_llama.yaml").touch()
    with pytest.raises(ConfigError, match=r"^run_lama\.yaml: no such file\. Did you mean run_llama\.yaml\?$"):
        read_file(Path("run_lama.yaml"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^here: can't be read: Is a directory\.$"):
        read_file(tmp_path, "here")


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", "3"), ("", ""), ("  ", ""), ("[1, {a: 2}]", ["1", {"a": "2"}]), ("'a # b'", "a # b"), ("a#b", "a#b")],
)
def test_the_value_of_an_override(text: str, value: object) -> None:
    node = read_value(text, OVERRIDE, "seed")
    assert plain(node) == value
    assert node.location == OVERRIDE


@pytest.mark.parametrize("text", ["What is # this?", "# all of it"])
def test_no_part_of_an_override_is_lost_as_a_comment(text: str) -> None:
    comment = text[text.index("#") :]
    allowed = "quotation marks around a value with ' #'"
    expected = f"command line:--set: input_data: {comment} is a comment to YAML. Allowed: {allowed}."
    with pytest.raises(ConfigError) as caught:
        read_value(text, OVERRIDE, "input_data")
    assert str(caught.value) == expected


def test_mistakes_in_an_override_name_its_key() -> None:
    with pytest.raises(ConfigError) as caught:
        read_value("{a: 1, a: 2}", OVERRIDE, "model")
    expected = "command line:--set: model.a: key written twice (1 there, 2 here). Allowed: one definition."
    assert str(caught.value) == expected


def test_a_file_beyond_the_limit_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("#" * (1 << 20))
    assert read_file(path).problems == ()
    path.write_text("#" + "\t" * (1 << 20))
    with pytest.raises(
        ConfigError, match=r"^run: is too large for a configuration\. Allowed: at most 1048576 bytes\.$"
    ):
        read_file(path, "run")


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(ConfigError, match=r"is not the name of a file\.$"):
        read_file(Path("a\0b"))

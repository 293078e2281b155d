from mf_config.nodes import Mapping, Node, Sequence
from mf_config.problems import Location
from mf_config.yaml_reader import read_text


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


def test_keys_beside_a_merge_key_win_wherever_they_stand() -> None:
    text = "base: &base {a: 1, b: 2}\nover:\n  a: 9\n  <<: *base\n  c: 3\n"
    assert content(text) == {"base": {"a": "1", "b": "2"}, "over": {"a": "9", "c": "3", "b": "2"}}


def test_sections_that_are_merged_together_may_not_disagree() -> None:
    text = "x: &x {a: 1, m: {p: 1}}\ny: &y {m: {p: 2}, a: 2, b: 2}\nz:\n  <<: [*x, *y]\n"
    assert messages(text) == [
        "run.yaml:4: z.m: merged sections disagree: a section at line 1, column 14, a section at line 2, column 8. "
        "Allowed: one value, or the key beside <<.",
        "run.yaml:4: z.a: merged sections disagree: 1 at line 1, column 8, 2 at line 2, column 19. "
        "Allowed: one value, or the key beside <<.",
    ]


def test_merged_sections_may_repeat_each_other_and_be_overruled() -> None:
    text = "x: &x {a: 1, s: {p: [1], q: 2}, b: 3}\ny: &y {b: 4, s: {q: 2, p: [1]}, a: 1}\n"
    text += "z:\n  <<: [*x, *y]\n  b: 5\n"
    root = content(text)
    assert isinstance(root, dict)
    assert root["z"] == {"b": "5", "a": "1", "s": {"p": ["1"], "q": "2"}}


def test_one_merge_key_a_section() -> None:
    assert messages("x: &x {a: 1}\ny: &y {b: 1}\nz:\n  <<: *x\n  <<: *y\n") == [
        "run.yaml:5: z.<<: key written twice: first at line 4, column 3, again at line 5, column 3. "
        "Allowed: one definition."
    ]


def test_merged_sections_may_merge_others_and_be_used_again() -> None:
    text = """\
first:
  <<: &defaults
    <<: &base
      source: staging
    source: production
second: *defaults
third:
  <<: {batch_size: 2, shuffle: True}
  batch_size: 8
"""
    assert content(text) == {
        "first": {"source": "production"},
        "second": {"source": "production"},
        "third": {"batch_size": "8", "shuffle": "True"},
    }


def test_merged_keys_keep_the_place_where_they_were_written() -> None:
    root = read_text("x: &x\n  a: 1\ny:\n  <<: *x\n", "run.yaml").root
    merged = root.entries["y"]
    assert isinstance(merged, Mapping)
    assert merged.key_locations == {"a": Location("run.yaml", 2, 3)}


def test_only_sections_can_be_merged() -> None:
    allowed = "Allowed: an alias of a section, or a list of them."
    assert messages("x: &x 3\ny:\n  <<: [*x]\nz: {<<: a}\n") == [
        f"run.yaml:3: y.<<: 3 from line 1, column 4, can't be merged. {allowed}",
        f"run.yaml:4: z.<<: a can't be merged. {allowed}",
    ]


def test_a_quoted_merge_mark_is_a_key() -> None:
    assert content("'<<': {a: 1}\n") == {"<<": {"a": "1"}}

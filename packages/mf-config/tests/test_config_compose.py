import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mf_config import yaml_reader
from mf_config.compose import compose
from mf_config.decoding import examine
from mf_config.document import load
from mf_config.nodes import Mapping, Node, Scalar, Sequence
from mf_config.problems import ConfigError
from mf_config.yaml_reader import read_text


def plain(node: Node) -> object:
    """The node as dicts, lists and texts."""
    if isinstance(node, Mapping):
        return {name: plain(child) for name, child in node.entries.items()}
    return [plain(item) for item in node.items] if isinstance(node, Sequence) else node.text


def located(node: Node | None) -> object:
    """All that a node holds, in a form that can be compared."""
    if isinstance(node, Mapping):
        entries = [(name, node.key_locations[name], located(child)) for name, child in node.entries.items()]
        return (node.location, entries)
    if isinstance(node, Sequence):
        return (node.location, [located(item) for item in node.items])
    return node and (node.location, node.text, node.quoted)


def messages(text: str) -> list[str]:
    return [str(problem) for problem in read_text(text, "run.yaml").problems]


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_text(text, "run.yaml")
    return str(caught.value)


def test_an_alias_is_the_object_of_its_anchor() -> None:
    entries = read_text("a: &x {b: 1}\nc: *x\nd: [*x]\n", "run.yaml").root.entries
    assert entries["a"] is entries["c"]
    assert isinstance(entries["d"], Sequence) and entries["d"].items[0] is entries["a"]


def test_aliases_stand_for_keys_values_and_nothing() -> None:
    text = "a: &x name\n*x : 1\nb: &y\nc: *y\n&z d: 2\ne: *z\n"
    root = read_text(text, "run.yaml").root
    assert plain(root) == {"a": "name", "name": "1", "b": "", "c": "", "d": "2", "e": "d"}
    assert root.key_locations["name"].line == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: &defaults {x: 1}\nb: &other 2\nc:\n  <<: *default\n",
            "4: c.<<: *default at line 4, column 7 has no anchor. Allowed: &defaults at line 1, column 4, "
            "&other at line 2, column 4. Did you mean *defaults?",
        ),
        ("a: *x\n", "1: a: *x at line 1, column 4 has no anchor. Allowed: an anchor &x above."),
        (
            "a: *x\nb: &x 1\n",
            "1: a: *x at line 1, column 4 comes before its anchor at line 2, column 4. "
            "Allowed: an anchor above its alias.",
        ),
        (
            "a: &x\n  b: *x\n",
            "2: a.b: *x at line 2, column 6 stands inside its own anchor at line 1, column 4. Allowed: no cycles.",
        ),
        (
            "a: &x [1, *x]\n",
            "1: a[1]: *x at line 1, column 11 stands inside its own anchor at line 1, column 4. Allowed: no cycles.",
        ),
        (
            "a: &x\n  <<: *x\n",
            "2: a.<<: *x at line 2, column 7 stands inside its own anchor at line 1, column 4. Allowed: no cycles.",
        ),
    ],
)
def test_an_alias_without_an_anchor_above_it(text: str, message: str) -> None:
    assert refusal(text) == f"run.yaml:{message}"


def test_every_alias_without_an_anchor_is_reported_with_what_else_is_wrong() -> None:
    lines = refusal("a: 1\na: 2\nb: *x\nc: [*y]\n").splitlines()
    assert [line.split(":")[1] for line in lines[:-1]] == ["2", "3", "4"]
    assert lines[-1] == "3 errors in run.yaml"


def test_an_anchor_of_the_same_name_names_both_places() -> None:
    assert messages("a: &x 1\nb: &x 2\n") == [
        "run.yaml:2: b: the anchor &x is written twice: first at line 1, column 4, again at line 2, column 4. "
        "Allowed: a name of its own for each anchor."
    ]


def bomb(levels: int, form: str) -> str:
    """Each level uses the one below nine times: 9 ** levels values."""
    lines = [f"a0: &a0 {form.format(*['x'] * 9)}"]
    lines += [f"a{level}: &a{level} {form.format(*[f'*a{level - 1}'] * 9)}" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "form",
    ["[{}, {}, {}, {}, {}, {}, {}, {}, {}]", "{{a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}}}"],
)
def test_an_alias_bomb_is_refused_without_expanding_it(form: str) -> None:
    assert messages(bomb(4, form)) == []
    expected = "more than 100000 keys and values, counting each alias with all that it stands for."
    assert refusal(bomb(40, form)).endswith(expected)


def test_a_bomb_of_merge_keys_is_refused() -> None:
    lines = ["a0: &a0 {k0: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}, *a{n - 1}], k{n}: 1}}" for n in range(1, 40)]
    assert "more than 100000 keys and values" in refusal("\n".join(lines) + "\n")


def test_the_number_of_values_without_aliases_is_bounded_too() -> None:
    assert messages("a: [" + "1," * 99_990 + "]\n") == []
    assert "more than 100000 keys and values" in refusal("a: [" + "1," * 100_000 + "]\n")


@pytest.mark.parametrize("depth", [150, 1000, 60_000])
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_absurd_nesting_is_refused(opening: str, depth: int) -> None:
    assert refusal(opening * depth + "\n").endswith("nested more than 100 levels deep.")


def test_a_hundred_levels_are_read() -> None:
    assert messages("a: " + "[" * 99 + "]" * 99) == []


def test_nesting_counts_through_aliases() -> None:
    inner = "[" * 60 + "]" * 60
    fits, exceeds = "[" * 40 + "*x" + "]" * 40, "[" * 41 + "*x" + "]" * 41
    assert messages(f"a: &x {inner}\nb: {fits}\n") == []
    assert refusal(f"a: &x {inner}\nb: {exceeds}\n") == "run.yaml:2: nested more than 100 levels deep."


WORDS = (
    "a b c: d: - -- + 1 1e-5 0x1 010 1:30 yes ~ null None = == << <<: &x *x &y *y ! !! !!str !a !<x> != | > |- >+ "
    "|2 >1- [ ] { } , [] {} : ? ?x # #c ' \" '' \"\" 'a' \"b\" \\ \\n \\t \\x41 \\u2028 \\U0001F600 \\ud800 \\q @ ` % "
    "$ ^ %YAML %TAG --- ... a:b a#b it's 小 é 😀 word-word /path/x.y key: k2: -1 <"
)
SPACES = [" ", "  ", "    ", "\n", "\n  ", "\n    ", "\n- ", "\n\n", "\r\n", "\r", "\t", "\x85", "\u2028", "\u2029"]
ODD = ["\ufeff", "\xa0", "\u3000", "\x00", "\x07", "\x7f", "\ud800", "\ufffe", ": ", ", ", " #", "- ", "? ", "x" * 1030]
PIECES = [*WORDS.split(" "), *SPACES, *ODD]

LINES = st.tuples(
    st.sampled_from(["", "  ", "    ", "   ", "- ", "  - ", "\t"]),
    st.sampled_from(["a: ", "b: ", "c:", "<<: ", "'q': ", "? ", "", "- ", "&x k: "]),
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    st.sampled_from(["", " # note", " ", "\t", "\r"]),
).map("".join)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=16).map("".join) | st.lists(LINES, max_size=8).map("\n".join)
ENDS = st.sampled_from(["", "\n", "\n", "\n", "\r\n"])


@pytest.mark.property
@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@settings(max_examples=800, deadline=None)
@given(TEXTS, ENDS)
def test_both_parsers_give_equal_nodes_or_both_refuse(body: str, end: str) -> None:
    text = body + end
    try:
        quick = yaml_reader._compose_quickly(text, "run.yaml")
    except ConfigError as error:
        with pytest.raises(ConfigError) as caught:
            yaml_reader._compose(text, "run.yaml")
        assert caught.value.problems == error.problems
        return
    if quick is not None:
        exact = yaml_reader._compose(text, "run.yaml")
        assert located(quick.root) == located(exact.root)
        assert quick.problems == exact.problems


def test_reading_works_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x {b: 1}\nc: [*x, 'd']\n"
    quick = read_text(text, "run.yaml")
    monkeypatch.setattr(yaml_reader, "_FAST_LOADER", None)
    assert located(read_text(text, "run.yaml").root) == located(quick.root)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
def test_libyaml_reads_what_real_files_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "_LOADER", None)
    text = "\ufeff# 种子\r\nseed: 42\r\na: &x {b: ['c', \"d\"]}\r\ne: *x\r\nf: |\r\n  text\r\ng: \"m['r'] != 's'\"\r\n"
    assert read_text(text.removeprefix("\ufeff"), "run.yaml").root.entries["f"].location.line == 5


@pytest.mark.property
@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_read_and_examined_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any", numbered=True) / "run.yaml"
    path.write_bytes(content)
    try:
        document = load(path)
    except ConfigError as error:
        assert error.problems
    else:
        examine(document)


@pytest.mark.property
@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(["a", "a.b", "a[0]", "a.0", "callbacks[0].type", ""]))
def test_any_override_is_applied_or_reported(tmp_path_factory: pytest.TempPathFactory, value: str, path: str) -> None:
    file = tmp_path_factory.getbasetemp() / "overridden.yaml"
    file.write_text("a: [{b: 1}]\nb: &x {c: 1}\n", encoding="utf-8")
    document = load(file, [f"{path}={value}"])
    assert all(str(problem.location) == "command line:--set" for problem in document.problems)


def test_the_events_decide_alone() -> None:
    composed = compose(yaml.parse("a: [1, 'b']\n", Loader=yaml.BaseLoader), "run.yaml")
    assert isinstance(composed.root, Mapping) and plain(composed.root) == {"a": ["1", "b"]}
    assert isinstance(composed.root.entries["a"], Sequence)
    items = [item for item in composed.root.entries["a"].items if isinstance(item, Scalar)]
    assert [item.quoted for item in items] == [False, True]

import pytest
import yaml

from mf_config.migration.migrate import Migration, migrate_text
from mf_config.migration.rule import Add, Move, Remove, Rename, Rule, Value

RULES: tuple[Rule, ...] = (
    Rename("**.old_name", "new_name", why="renamed"),
    Move("from.moved", "to.arrived", why="moved"),
    Move("from.item", "list.[Kind].item", why="moved into a list"),
    Move("whole", "outer.whole", why="moved deeper"),
    Remove("from.dead", why="dead"),
    Value("mode", "wrng", "wrong", why="misspelt"),
    Add("extra.implied", "'yes please'", why="implied"),
)


def migrate(text: str) -> Migration:
    return migrate_text(text, "old.yaml", RULES)


def by_hand(text: str) -> str:
    """The only thing left to a person, after checking that the text was left alone."""
    result = migrate(text)
    assert (result.text, result.changes) == (text, ())
    (note,) = result.refused
    return str(note)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n    old_name  :   1 # why\n", "a:\n    new_name  :   1 # why\n"),
        ("a: {x: 1, old_name: 2}  # flow\n", "a: {x: 1, new_name: 2}  # flow\n"),
        ("'old_name': 1\n", "'new_name': 1\n"),
        ('"old_name": 1', '"new_name": 1'),
        ("? old_name\n: 1\n", "? new_name\n: 1\n"),
        ("a:\n- old_name: 1\n  b: 2\n", "a:\n- new_name: 1\n  b: 2\n"),
        ("中: 文\nold_name: 漢字 # 註\n", "中: 文\nnew_name: 漢字 # 註\n"),
        ("old_name: |\n  old_name: text\n", "new_name: |\n  old_name: text\n"),
    ],
)
def test_a_name_changes_where_it_stands(before: str, after: str) -> None:
    assert migrate(before).text == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mode: wrng\n", "mode: wrong\n"),
        ("mode: 'wrng'   # so\n", "mode: 'wrong'   # so\n"),
        ("mode: &m wrng\n", "mode: &m wrong\n"),
        ('{"mode": "wrng"}\n', '{"mode": "wrong"}\n'),
    ],
)
def test_a_value_changes_where_it_stands(before: str, after: str) -> None:
    assert migrate(before).text == after


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_and_the_missing_one_at_the_end_stay(line_end: str) -> None:
    before = line_end.join(["to:", "  x: 1", "from:", "  y: 2", "  moved: 3"])
    after = line_end.join(["to:", "  x: 1", "  arrived: 3", "from:", "  y: 2", ""])
    assert migrate(before).text == after


def test_a_moved_key_takes_its_comments_and_depth_along() -> None:
    before = (
        "to:\n    x: 1\n    # x: 0\n\nfrom:\n  y: 2\n\n  # own\n  # own too\n  moved:  # behind\n    - a\n"
        "    # inside\n    - b: |\n        text\n\n        more\n  # of z\n  z: 3\n"
    )
    after = (
        "to:\n    x: 1\n    # x: 0\n    # own\n    # own too\n    arrived:  # behind\n      - a\n      # inside\n"
        "      - b: |\n          text\n\n          more\n\nfrom:\n  y: 2\n\n  # of z\n  z: 3\n"
    )
    assert migrate(before).text == after


def test_a_missing_section_is_made_below_the_one_that_the_key_leaves() -> None:
    assert migrate("from:\n  y: 2\n  moved: 3\nz: 1\n").text == "from:\n  y: 2\nto:\n  arrived: 3\nz: 1\n"


def test_a_section_that_is_left_empty_goes_and_its_comments_stay() -> None:
    before = "# about from\nfrom:  # here\n  # gone\n\n  moved: 3\nz: 1\n"
    assert migrate(before).text == "# about from\n# here\n  # gone\n\nto:\n  arrived: 3\nz: 1\n"


def test_an_empty_section_takes_a_key() -> None:
    assert migrate("to:\nfrom:\n  y: 1\n  moved: 3\n").text == "to:\n  arrived: 3\nfrom:\n  y: 1\n"


def test_a_section_moves_deeper() -> None:
    assert migrate("whole:\n  a:\n  - 1\n").text == "outer:\n  whole:\n    a:\n    - 1\n"
    assert migrate("outer:\n  x: 1\nwhole: {a: 1}\n").text == "outer:\n  x: 1\n  whole: {a: 1}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "list:\n- type: Kind\n  x: 1\n- type: Other\nfrom:\n  y: 1\n  item: 2\n",
            "list:\n- type: Kind\n  x: 1\n  item: 2\n- type: Other\nfrom:\n  y: 1\n",
        ),
        (
            "list:\n- type: Other\nfrom:\n  y: 1\n  item: 2\n",
            "list:\n- type: Other\n- type: Kind\n  item: 2\nfrom:\n  y: 1\n",
        ),
        ("from:\n  item: 2\n", "list:\n  - type: Kind\n    item: 2\n"),
    ],
)
def test_a_key_moves_into_an_item_of_a_list(before: str, after: str) -> None:
    assert migrate(before).text == after


def test_a_removed_key_leaves_the_comments_above() -> None:
    assert migrate("from:\n  # these two\n  dead: [1,\n    2]\n  y: 1\n").text == "from:\n  # these two\n  y: 1\n"


def test_an_implied_key_is_added_once() -> None:
    added = "extra:\n  x: 1\n  implied: 'yes please'\n"
    assert migrate("extra:\n  x: 1\n").text == added
    assert migrate(added).text == added


def test_two_equal_values_become_one() -> None:
    assert migrate("old_name: 1\nnew_name: 1\n").text == "new_name: 1\n"


def test_two_different_values_are_left_to_a_person() -> None:
    assert by_hand("old_name: 1\nnew_name: 2\n") == (
        "old.yaml:1: old_name: write new_name by hand: new_name is given too, at line 2, with another value: keep one."
    )


def test_the_new_key_wins_where_upstream_reads_it_alone() -> None:
    rules = [Move("a.b", "c.d", why="dead", new_wins=True)]
    result = migrate_text("a:\n  x: 1\n  b: True\nc:\n  d: False\n", "f", rules)
    assert result.text == "a:\n  x: 1\nc:\n  d: False\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("from: {moved: 1, y: 2}\n", "its section is written in flow style"),
        ("from: {dead: 1, y: 2}\n", "its section is written in flow style"),
        ("to: {x: 1}\nfrom:\n  moved: 1\n  y: 2\n", "to is not a section of indented lines"),
        ("to:\n- 1\nfrom:\n  moved: 1\n  y: 2\n", "to is not a section of indented lines"),
        ("list:\n  a: 1\nfrom:\n  item: 1\n  y: 2\n", "list is not a list of indented lines"),
        ("list: [{type: Kind}]\nfrom:\n  item: 1\n  y: 2\n", "list is not a list of indented lines"),
        ("list:\n- {type: Kind}\nfrom:\n  item: 1\n  y: 2\n", "is not written in indented lines there"),
        ("to: 5\nfrom:\n  moved: 1\n  y: 2\n", "to is not a section of indented lines"),
        ("to: &t\n  x: 1\nz: *t\nfrom:\n  moved: 1\n  y: 2\n", "to is shared through an anchor"),
        ("from:\n  moved: &m 1\n  y: *m\n", "it has an anchor"),
        ("from:\n  moved:\n    k: &m 1\n  y: *m\n", "it has an anchor"),
        ("from:\n  dead: &m 1\n  y: *m\n", "it has an anchor"),
        ("from: &f\n  moved: 1\n  y: 2\nz: *f\n", "the section is shared with z.moved"),
        ("x: &x wrng\nmode: *x\n", "the value is shared through an anchor"),
        ("mode: &x wrng\nz: *x\n", "the value is shared through an anchor"),
    ],
)
def test_what_cannot_be_done_safely_is_left_to_a_person(text: str, reason: str) -> None:
    assert reason in by_hand(text)


def test_an_edit_in_a_shared_section_counts_once() -> None:
    before = "a: &a\n  old_name: 1\nb: *a\nc:\n  <<: *a\n"
    result = migrate(before)
    assert result.text == before.replace("old_name", "new_name")
    assert [note.path for note in result.changes] == ["a.old_name"]


def test_a_key_of_a_shared_section_stays_where_it_means_something_else_elsewhere() -> None:
    rules = [Rename("a.x", "y", why="renamed")]
    result = migrate_text("a: &a\n  x: 1\nb: *a\n", "f", rules)
    assert not result.changes
    assert "the section is shared with b.x" in str(result.refused[0])


def test_a_key_goes_below_a_merge_key() -> None:
    before = "k: &k {x: 1}\nlist:\n- type: Kind\n  <<: *k\nfrom:\n  y: 1\n  item: 2\n"
    after = "k: &k {x: 1}\nlist:\n- type: Kind\n  <<: *k\n  item: 2\nfrom:\n  y: 1\n"
    assert migrate(before).text == after


def test_what_a_later_rule_makes_room_for_is_done_too() -> None:
    rules = [Rename("**.a", "b", why="renamed"), Remove("**.b.gone", why="dead")]
    result = migrate_text("x:\n  a: 1\n  b:\n    gone: 2\n", "f", rules)
    assert (result.text, result.refused) == ("x:\n  b: 1\n", ())


def test_an_alias_may_move() -> None:
    result = migrate("n: &n 1\nfrom:\n  y: 2\n  moved: *n\n")
    assert result.text == "n: &n 1\nfrom:\n  y: 2\nto:\n  arrived: *n\n"


def test_lines_are_counted_in_the_original() -> None:
    result = migrate("from:\n  dead: 1\n  y: 1\n  moved: 2\na:\n  old_name: 3\n")
    assert [(note.location.line, note.path) for note in result.changes] == [
        (2, "from.dead"),
        (4, "from.moved"),
        (6, "a.old_name"),
    ]
    assert yaml.safe_load(result.text) == {"from": {"y": 1}, "to": {"arrived": 2}, "a": {"new_name": 3}}

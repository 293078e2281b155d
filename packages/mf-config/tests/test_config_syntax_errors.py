import pytest

from mf_config.problems import ConfigError, Location
from mf_config.yaml_reader import read_text

QUOTES = "Allowed: quotation marks around the value."
SPACES = "Allowed: as many spaces as the other keys of the section."
COLON = (
    "a colon is not expected here: the line is indented wrongly, or the value before it has one. "
    "Allowed: one key a line, or quotation marks around a value with a colon."
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n\tb: 1\n", "2: a tab indents this line. Allowed: spaces only."),
        ("a:\n  b: 1\n \tc: 2\n", "3: a tab indents this line. Allowed: spaces only."),
        ("a: 1\nb:\tx\n", "2: a tab stands where only spaces may separate. Allowed: spaces only."),
        ("a: @x\n", f"1: a value can't begin with @. {QUOTES}"),
        ("a: `x`\n", f"1: a value can't begin with `. {QUOTES}"),
        ("a: %x\n", f"1: a value can't begin with %. {QUOTES}"),
        ("a: {path}/x\n", f"1: text follows a complete value. {QUOTES}"),
        ("a: [1]]\n", f"1: a bracket or comma is not expected here. {QUOTES}"),
        ("a: b: c\n", f"1: {COLON}"),
        ("a: 1\n b: 2\n", f"2: {COLON}"),
        ("a: 1\n- b\n", "2: the indentation fits no section above (in what begins at line 1, column 1). " + SPACES),
        (
            "a:\n    b: 1\n  c: 2\n",
            "3: the indentation fits no section above (in what begins at line 1, column 1). " + SPACES,
        ),
        ("a: - b\n", "1: a dash is not expected here. Allowed: each item of a list on a line of its own."),
        (
            "a: 1\nb\nc: 3\n",
            "2: a colon is missing, or this text belongs to the value above. Allowed: `key: value`.",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "2: a second document begins here; the first begins at line 1, column 1. Allowed: one document a file.",
        ),
        ("a: 'x\nb: 1\n", "3: a quotation mark is never closed (in what begins at line 1, column 4)."),
        (
            'a: "C:\\data"\n',
            "1: a backslash in double quotation marks begins an escape sequence. "
            "Allowed: single quotation marks around text with backslashes.",
        ),
        (
            "a: 1\nb: [1, 2\nc: 3\n",
            "3: a comma or the closing ] is missing (in what begins at line 2, column 4). Allowed: [first, second].",
        ),
        (
            "a: {b: 1\n",
            "2: a comma or the closing } is missing (in what begins at line 1, column 4). Allowed: "
            "{key: value, key: value}.",
        ),
        ("a: 1\nb: \x07\n", "2: character U+0007 is not allowed in YAML."),
        ('a: 1\nb: "\\Uffffffff"\n', "2: the digits stand for no character or YAML version."),
        ('a: "\\ud83d\\ude00"\n', "1: a: an escape sequence stands for half a character. Allowed: the character."),
    ],
)
def test_a_syntax_error_in_the_words_of_a_user(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_text(text, "run.yaml")
    assert str(caught.value) == f"run.yaml:{message}"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb:\tx\n", 2, 3),
        ("a: 小 # 模型\nb: 小: c\n", 2, 5),
        ("a: 1\r\nb: \x07\r\n", 2, 4),
        ("a: '\u2028'\nb: @\n", 3, 4),
        ("😀: 1\nb: 😀 \x00\n", 2, 6),
    ],
)
def test_a_syntax_error_knows_its_column_in_characters(text: str, line: int, column: int) -> None:
    with pytest.raises(ConfigError) as caught:
        read_text(text, "run.yaml")
    assert caught.value.problems[0].location == Location("run.yaml", line, column)

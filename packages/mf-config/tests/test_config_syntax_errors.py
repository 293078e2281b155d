import pytest

from mf_config.problems import ConfigError
from mf_config.yaml_reader import read_text

QUOTES = "Allowed: quotation marks around the value."
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
        ("a: {path}/x\n", f"1: text follows a complete value (in what begins at line 1). {QUOTES}"),
        ("a: b: c\n", f"1: {COLON}"),
        ("a: 1\n b: 2\n", f"2: {COLON}"),
        ("a: 1\n---\nb: 2\n", "2: a second document begins here. Allowed: one document a file."),
        ("a: 'x\nb: 1\n", "3: a quotation mark is never closed (in what begins at line 1)."),
        ("a: *x\n", "1: not valid YAML: found undefined alias 'x'."),
        (
            "a: &x 1\nb: &x 2\n",
            "2: an anchor of this name stands above. Allowed: a name of its own for each anchor.",
        ),
        (
            "a:\n    b: 1\n  c: 2\n",
            "3: the indentation fits no section above (in what begins at line 1). "
            "Allowed: as many spaces as the other keys of the section.",
        ),
        (
            "a: 1\nb: [1, 2\nc: 3\n",
            "3: not valid YAML: expected ',' or ']', but got ':' (in what begins at line 2).",
        ),
        ("a: 1\nb: \x07\n", "2: character U+0007 is not allowed in YAML."),
    ],
)
def test_a_syntax_error_in_the_words_of_a_user(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_text(text, "run.yaml")
    assert str(caught.value) == f"run.yaml:{message}"

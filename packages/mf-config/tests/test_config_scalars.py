import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.nodes import Scalar
from mf_config.problems import Location
from mf_config.scalars import (
    Parsed,
    ScalarError,
    is_null,
    means_unset,
    parse_bool,
    parse_float,
    parse_int,
    parse_text,
    parse_untyped,
)


def plain(text: str) -> Scalar:
    return Scalar(text, False, Location("run.yaml", 1))


def quoted(text: str) -> Scalar:
    return Scalar(text, True, Location("run.yaml", 1))


def refusal(parse: Callable[[Scalar], Parsed], scalar: Scalar) -> tuple[str, str, str]:
    with pytest.raises(ScalarError) as caught:
        parse(scalar)
    return caught.value.what, caught.value.allowed, caught.value.suggestion


@given(st.floats(allow_nan=False))
def test_every_float_python_writes_is_read_back(number: float) -> None:
    assert parse_float(plain(repr(number))) == Parsed(number)


@given(st.integers(-(10**38), 10**38))
def test_every_integer_python_writes_is_read_back(number: int) -> None:
    assert parse_int(plain(str(number))) == Parsed(number)
    assert parse_int(plain(f"{number:_}")) == Parsed(number)


@given(st.text() | st.from_regex(r"[+-]?[0-9_.]*([eE][+-]?[0-9]*)?(inf|nan)?", fullmatch=True), st.booleans())
def test_any_text_is_read_or_refused(text: str, is_quoted: bool) -> None:
    scalar = Scalar(text, is_quoted, Location("run.yaml", 1))
    for parse, type_ in ((parse_bool, bool), (parse_int, int), (parse_float, float)):
        try:
            parsed = parse(scalar)
        except ScalarError as error:
            assert error.what and error.allowed
        else:
            assert type(parsed.value) is type_
    assert parse_text(scalar) == Parsed(text)
    parse_untyped(scalar)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e-5", 1e-5),
        ("1.e-5", 1e-5),
        ("1E-7", 1e-7),
        ("2e5", 2e5),
        ("1e+4", 1e4),
        (".5", 0.5),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("3", 3.0),
        ("4_096", 4096.0),
        ("010", 10.0),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("inf", math.inf),
    ],
)
def test_spellings_of_a_float(text: str, number: float) -> None:
    parsed = parse_float(plain(text))
    assert parsed == Parsed(number)
    assert type(parsed.value) is float


@pytest.mark.parametrize(
    "text",
    ["", ".", "-", "e5", ".e5", "1e", "1:30", "1,5", "0x10", "1 e5", "one", "True", "nan", ".nan", "+-inf", "..inf"],
)
def test_no_float(text: str) -> None:
    shown = text or "''"
    assert refusal(parse_float, plain(text)) == (f"{shown} is not a number", "a number", "")


def test_a_float_beyond_the_largest_is_not_infinity() -> None:
    assert refusal(parse_float, plain("1e999")) == ("1e999 is too large", "a number up to 1.8e308", "")


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("-0", 0), ("+7", 7), ("-7", -7), ("4_096", 4096), ("10", 10)])
def test_spellings_of_an_integer(text: str, number: int) -> None:
    assert parse_int(plain(text)) == Parsed(number)


@pytest.mark.parametrize(
    ("text", "decimal"), [("010", "10"), ("08", "8"), ("-010", "-10"), ("+01", "+1"), ("00", "0"), ("0_1", "1")]
)
def test_a_leading_zero_is_refused_with_the_decimal(text: str, decimal: str) -> None:
    expected = (f"{text} is ambiguous (octal or decimal?)", "an integer", decimal)
    assert refusal(parse_int, plain(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["1:30", "1.5", "0x10", "0o10", "0b1", "2024-01-01", "\u0661", "ten", "", "True", "1__0", "_1", "inf", "1e999"],
)
def test_no_integer(text: str) -> None:
    shown = text or "''"
    assert refusal(parse_int, plain(text)) == (f"{shown} is not an integer", "an integer", "")


@pytest.mark.parametrize(("text", "number"), [("8.0", 8), ("1e4", 10000), ("1000000.0", 1000000), ("-2.", -2)])
def test_a_whole_number_in_float_spelling_is_taken_with_a_warning(text: str, number: int) -> None:
    assert parse_int(plain(text)) == Parsed(number, f"{text} is taken as the integer {number}")


def test_an_absurdly_long_integer_is_refused() -> None:
    what, allowed, _ = refusal(parse_int, plain("1" * 5000))
    assert what == "1" * 60 + "… is too large"
    assert allowed == "an integer of at most 40 digits"


@pytest.mark.parametrize("word", ["true", "True", "TRUE", "yes", "Yes", "on", "ON"])
def test_words_for_true(word: str) -> None:
    assert parse_bool(plain(word)) == Parsed(True)


@pytest.mark.parametrize("word", ["false", "False", "FALSE", "no", "No", "off", "Off"])
def test_words_for_false(word: str) -> None:
    assert parse_bool(plain(word)) == Parsed(False)


def test_a_misspelt_boolean_is_refused_with_the_right_one() -> None:
    assert refusal(parse_bool, plain("Flase")) == ("Flase is not a boolean", "True, False", "False")
    assert refusal(parse_bool, quoted("Ture")) == ("'Ture' is not a boolean", "True, False", "True")


@pytest.mark.parametrize("text", ["0", "1", "", "y", "n", "None"])
def test_no_boolean(text: str) -> None:
    assert refusal(parse_bool, plain(text))[1:] == ("True, False", "")


def test_values_in_quotation_marks_are_taken_with_a_warning() -> None:
    assert parse_bool(quoted("False")) == Parsed(False, "the text 'False' is taken as a boolean")
    assert parse_int(quoted("5")) == Parsed(5, "the text '5' is taken as an integer")
    assert parse_float(quoted("2e-5")) == Parsed(2e-5, "the text '2e-5' is taken as a number")


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL", "None"])
def test_spellings_of_not_set(text: str) -> None:
    assert is_null(plain(text)) and not is_null(quoted(text))
    assert means_unset(plain(text)) and means_unset(quoted(text))


@pytest.mark.parametrize("text", ["none", "nil", "0", "NONE", " "])
def test_other_words_are_set(text: str) -> None:
    assert not is_null(plain(text)) and not means_unset(plain(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("3", 3),
        ("3.0", 3.0),
        ("1e-5", 1e-5),
        ("010", "010"),
        ("None", None),
        ("", None),
        ("1:30", "1:30"),
        ("0x10", "0x10"),
        ("2024-01-01", "2024-01-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
    ],
)
def test_an_untyped_value_is_read_by_its_looks(text: str, value: object) -> None:
    parsed = parse_untyped(plain(text))
    assert parsed == Parsed(value)  # type: ignore[arg-type]
    assert type(parsed.value) is type(value)
    assert parse_untyped(quoted(text)) == Parsed(text)

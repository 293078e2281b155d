import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_infer.search.stopping import StopStrings


def through(stops, pieces):
    """The pieces that get through, the flushed end last, and whether a stop string was found."""
    filtered = StopStrings(stops)
    got = [filtered.push(piece) for piece in pieces]
    return [*got, filtered.finish()], filtered.found


def test_without_stop_strings_text_passes_at_once():
    assert through([], ["a", "", "bc"]) == (["a", "", "bc", ""], False)


def test_a_stop_string_across_pieces_is_held_back_and_cut():
    assert through(["sh m"], [" ma", "sh", " m", "y"]) == ([" ma", "", "", "", ""], True)


def test_what_only_looked_like_a_stop_string_is_given_later():
    assert through(["abcd"], ["xab", "c", "e"]) == (["x", "", "abce", ""], False)


def test_the_end_flushes_what_was_held_back():
    assert through([" myXYZ"], ["al", " my"]) == (["al", "", " my"], False)


def test_the_earliest_place_wins():
    assert through(["d", "b"], ["abcd"]) == (["a", ""], True)
    assert through(["bcd", "ab"], ["xabcd"]) == (["x", ""], True)


def test_an_overlapping_beginning_is_found():
    assert through(["aab"], ["a", "a", "a", "b"]) == (["", "", "a", "", ""], True)


def test_nothing_passes_after_a_stop_string():
    assert through(["."], ["a.b", "c"]) == (["a", "", ""], True)


short = st.text("ab", min_size=1, max_size=3)


@pytest.mark.property
@given(st.lists(short, max_size=3), st.lists(st.text("abc", max_size=4), max_size=8))
def test_pieces_join_to_the_text_before_the_first_complete_stop_string(stops, pieces):
    got, found = through(stops, pieces)
    seen, expected = "", None
    for piece in pieces:
        seen += piece
        places = [seen.find(stop) for stop in stops if stop in seen]
        if places:
            expected = seen[: min(places)]
            break
    assert found == (expected is not None)
    assert "".join(got) == (seen if expected is None else expected)

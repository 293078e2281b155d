from mf_infer.request import Request
from mf_infer.sampling_params import SamplingParams


class Letters:
    """Stands for a `TextStream`: token n is the n-th letter, 25 ends inside a character."""

    def push(self, token_id):
        return "" if token_id == 25 else chr(ord("a") + token_id)

    def finish(self):
        return "\ufffd"


def answered(token_ids, *, end_ids=(), room=100, text=True, **settings):
    request = Request([1, 2, 3], SamplingParams(**settings), end_ids, room, Letters() if text else None)
    for token_id in token_ids:
        if request.finish_reason is None:
            request.append(token_id)
    return request


def test_a_new_request_has_room_for_max_tokens_or_less():
    assert answered([], max_tokens=5).limit == 5
    assert answered([], max_tokens=5, room=2).limit == 2


def test_without_room_or_tokens_the_answer_is_empty_and_ends_by_length():
    for request in (answered([], max_tokens=0), answered([], max_tokens=9, room=0)):
        assert (request.finish_reason, request.token_ids, request.pieces) == ("length", [], [])


def test_it_ends_after_max_tokens_and_flushes_its_text():
    request = answered([4, 5, 6], max_tokens=2)
    assert (request.finish_reason, request.token_ids, "".join(request.pieces)) == ("length", [4, 5], "ef\ufffd")


def test_an_end_token_counts_but_adds_no_text():
    request = answered([4, 9, 5], end_ids=[9])
    assert (request.finish_reason, request.token_ids, "".join(request.pieces)) == ("stop", [4, 9], "e\ufffd")


def test_ignore_eos_takes_the_end_token_as_any_other_but_not_stop_token_ids():
    request = answered([9, 4, 8], end_ids=[9], ignore_eos=True, stop_token_ids=[8])
    assert (request.finish_reason, request.token_ids, "".join(request.pieces)) == ("stop", [9, 4, 8], "je\ufffd")


def test_a_stop_string_ends_it_with_the_token_that_completes_it():
    request = answered([0, 1, 2, 3], stop="bc")
    assert (request.finish_reason, request.token_ids, "".join(request.pieces)) == ("stop", [0, 1, 2], "a")


def test_text_held_back_for_a_stop_string_is_given_at_the_end():
    request = answered([0, 1], stop="bc", max_tokens=2)
    assert (request.finish_reason, "".join(request.pieces)) == ("length", "ab\ufffd")


def test_a_stop_string_in_the_flushed_text_counts():
    request = answered([0, 25], stop="\ufffd", max_tokens=2)
    assert (request.finish_reason, "".join(request.pieces)) == ("stop", "a")


def test_without_a_tokenizer_there_are_tokens_and_no_text():
    request = answered([4, 5], text=False, max_tokens=2)
    assert (request.finish_reason, request.token_ids, "".join(request.pieces)) == ("length", [4, 5], "")


def test_seen_length_and_last_token_follow_the_answer():
    request = answered([])
    assert (request.last_id, request.length, request.seen) == (3, 3, {1, 2, 3})
    request.append(7)
    assert (request.last_id, request.length, request.seen) == (7, 4, {1, 2, 3, 7})


def test_requests_without_a_seed_get_different_ones():
    assert len({answered([]).seed for _ in range(10)}) == 10
    assert answered([], seed=5).seed == 5


def test_abort_ends_only_what_has_not_ended():
    running, ended = answered([]), answered([4], max_tokens=1)
    running.abort()
    ended.abort()
    assert (running.finish_reason, ended.finish_reason) == ("abort", "length")

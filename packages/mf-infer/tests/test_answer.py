from mf_infer.outputs import TokenLogprobs
from mf_infer.sampling_params import SamplingParams
from mf_infer.search.answer import Answer, Ending


class Letters:
    """Stands for a `PieceReader`: token n is the n-th letter, 25 ends inside a character."""

    def read(self, ids, final=False):
        letters = ("" if token_id == 25 else chr(ord("a") + token_id) for token_id in ids)
        return "".join(letters) + "\ufffd" * final


def answered(token_ids, *, end_ids=(), room=100, text=True, **settings):
    answer = Answer(Ending.of(SamplingParams(**settings), end_ids, room), Letters() if text else None)
    for token_id in token_ids:
        if answer.finish_reason is None:
            answer.append(token_id)
    return answer


def content(answer):
    return answer.finish_reason, answer.token_ids, "".join(answer.pieces)


def test_there_is_room_for_max_tokens_or_less():
    assert Ending.of(SamplingParams(max_tokens=5), (), 100).limit == 5
    assert Ending.of(SamplingParams(max_tokens=5), (), 2).limit == 2


def test_without_room_or_tokens_the_answer_is_empty_and_ends_by_length():
    for answer in (answered([], max_tokens=0), answered([], max_tokens=9, room=0)):
        assert content(answer) == ("length", [], "")


def test_it_ends_after_max_tokens_and_flushes_its_text():
    assert content(answered([4, 5, 6], max_tokens=2)) == ("length", [4, 5], "ef\ufffd")


def test_an_end_token_counts_but_adds_no_text():
    assert content(answered([4, 9, 5], end_ids=[9])) == ("stop", [4, 9], "e\ufffd")


def test_ignore_eos_takes_the_end_token_as_any_other_but_not_stop_token_ids():
    answer = answered([9, 4, 8], end_ids=[9], ignore_eos=True, stop_token_ids=[8])
    assert content(answer) == ("stop", [9, 4, 8], "je\ufffd")


def test_a_stop_string_ends_it_with_the_token_that_completes_it():
    assert content(answered([0, 1, 2, 3], stop="bc")) == ("stop", [0, 1, 2], "a")


def test_text_held_back_for_a_stop_string_is_given_at_the_end():
    assert content(answered([0, 1], stop="bc", max_tokens=2)) == ("length", [0, 1], "ab\ufffd")


def test_a_stop_string_in_the_flushed_text_counts():
    assert content(answered([0, 25], stop="\ufffd", max_tokens=2)) == ("stop", [0, 25], "a")


def test_without_a_tokenizer_there_are_tokens_and_no_text():
    assert content(answered([4, 5], text=False, max_tokens=2)) == ("length", [4, 5], "")


def test_abort_ends_only_what_has_not_ended():
    running, ended = answered([4]), answered([4], max_tokens=1)
    running.abort()
    ended.abort()
    assert (running.finish_reason, ended.finish_reason) == ("abort", "length")


def test_the_output_has_log_probabilities_only_where_they_are_asked_for():
    answer = answered([], max_tokens=1)
    record = TokenLogprobs(3, -0.5, ())
    answer.append(3, record)
    assert answer.output(with_logprobs=True).logprobs == [record]
    assert answer.output(with_logprobs=False).logprobs is None

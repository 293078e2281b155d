import numpy as np
import pytest

from mf_config.problems import UserError
from mf_infer.prompts import as_list, encode_prompt


class Words:
    """Stands for a tokenizer: each word is its length."""

    def encode(self, text):
        return [len(word) for word in text.split()]


def test_text_is_encoded_and_tokens_are_taken_as_they_are():
    assert encode_prompt("a bb", Words(), 10) == [1, 2]
    assert encode_prompt({"prompt_token_ids": [3, 4]}, None, 10) == [3, 4]
    ids = encode_prompt({"prompt_token_ids": np.array([3, 9], np.int64)}, None, 10)
    assert ids == [3, 9]
    assert all(type(token_id) is int for token_id in ids)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("", "prompt: it is empty, and the tokenizer adds no token to it. Allowed: at least one token."),
        (
            {"prompt_token_ids": []},
            "prompt: it is empty, and the tokenizer adds no token to it. Allowed: at least one token.",
        ),
        ({"prompt_token_ids": [1, 10]}, "prompt: token 10 is not in the model's vocabulary. Allowed: 0 to 9."),
        ({"prompt_token_ids": [-1]}, "prompt: token -1 is not in the model's vocabulary. Allowed: 0 to 9."),
        ({"prompt_token_ids": [1.5]}, "prompt_token_ids: [1.5] can't be read. Allowed: a list of integers."),
        ({"prompt_token_ids": 7}, "prompt_token_ids: 7 can't be read. Allowed: a list of integers."),
        ({"ids": [1]}, "prompt: {'ids': [1]} can't be read. Allowed: text, or {'prompt_token_ids': [...]}."),
        (7, "prompt: 7 can't be read. Allowed: text, or {'prompt_token_ids': [...]}."),
    ],
)
def test_what_is_no_prompt_is_refused(prompt, message):
    with pytest.raises(UserError) as caught:
        encode_prompt(prompt, Words(), 10)
    assert str(caught.value) == message


def test_text_needs_a_tokenizer():
    with pytest.raises(UserError, match=r"the model has no tokenizer, so it can't read text\."):
        encode_prompt("text", None, 10)


def test_one_prompt_or_several():
    one = {"prompt_token_ids": [1]}
    assert as_list("a") == ["a"]
    assert as_list(one) == [one]
    assert as_list(["a", one]) == ["a", one]
    assert as_list(()) == []

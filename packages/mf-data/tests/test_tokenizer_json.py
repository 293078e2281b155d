import hashlib
import json
import shutil

import pytest
import tokenizers

from mf_config.problems import UserError
from mf_data.tokenizers.loading import load_tokenizer


def golden(data):
    return json.loads((data / "bpe_chat" / "golden_encodings.json").read_text(encoding="utf-8"))


def text_of(record):
    text = record["text"]
    return text if isinstance(text, str) else text["repeat"][0] * text["repeat"][1]


def has_golden_ids(ids, expected) -> bool:
    if isinstance(expected, list):
        return ids == expected
    digests = [
        hashlib.sha256(json.dumps(ids, separators=separators).encode()).hexdigest()
        for separators in ((",", ":"), (", ", ": "))
    ]
    return len(ids) == expected["count"] and expected["sha256_of_compact_json"] in digests


def test_ids_are_the_golden_ones_for_every_string(bpe_chat, data):
    records = golden(data)
    assert len(records) == 46
    batch = bpe_chat.encode_batch([text_of(record) for record in records], add_special_tokens=False)
    for record, ids in zip(records, batch, strict=True):
        assert has_golden_ids(ids, record["ids"]), record["text"]
        assert bpe_chat.encode(text_of(record), add_special_tokens=False) == ids
        assert bpe_chat.encode(text_of(record)) == record["with_bos_starts"] + ids


def test_decoding_gives_the_golden_text(bpe_chat, data):
    for record in golden(data):
        ids = bpe_chat.encode(text_of(record), add_special_tokens=False)
        assert bpe_chat.decode(ids, skip_special_tokens=False) == text_of(record)
        if record["decoded_skip_special"] is not None:
            assert bpe_chat.decode(ids) == record["decoded_skip_special"]


def test_roles_come_from_the_config_beside(bpe_chat):
    assert (bpe_chat.bos_id, bpe_chat.eos_id, bpe_chat.pad_id) == (1, 4, 0)
    assert bpe_chat.special_ids == {0, 1, 2, 3, 4}
    assert bpe_chat.vocab_size == 900


def test_special_tokens_in_text_stay_text_where_they_are_not_allowed(bpe_chat):
    text = "<|start|>user<|end|> <|pad|>"
    ids = bpe_chat.encode(text, add_special_tokens=False, parse_special_tokens=False)
    assert not bpe_chat.special_ids & set(ids)
    assert bpe_chat.decode(ids) == text
    assert bpe_chat.encode("a", parse_special_tokens=False) == [1, 69]


def test_ids_of_a_padded_vocabulary_decode_to_nothing(bpe_chat):
    assert bpe_chat.decode([69, 900, 959, 70]) == "ab"
    assert bpe_chat.bytes_of(931) == b""


def test_added_tokens_with_any_characters_are_written_out(data, tmp_path):
    backend = tokenizers.Tokenizer.from_file(str(data / "bpe_chat" / "tokenizer.json"))
    backend.add_special_tokens(["<end of 文>"])
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("<end of 文>", add_special_tokens=False) == [900]
    assert tokenizer.bytes_of(900).decode() == tokenizer.decode([900], skip_special_tokens=False) == "<end of 文>"


def test_saving_loses_nothing(bpe_chat, data, tmp_path):
    bpe_chat.save(tmp_path / "new")
    again = load_tokenizer(tmp_path / "new" / "tokenizer.json")
    text = "<|start|>user\nhi 你好<|end|>"
    assert again.encode(text) == bpe_chat.encode(text)
    assert (again.bos_id, again.eos_id, again.pad_id) == (1, 4, 0)
    config = json.loads((data / "bpe_chat" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "new" / "tokenizer_config.json").read_text(encoding="utf-8")) == config
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["tokenizer.json", "tokenizer_config.json"]


def test_a_file_that_asks_for_equal_lengths_still_encodes_whole_texts(data, tmp_path):
    backend = tokenizers.Tokenizer.from_file(str(data / "bpe_chat" / "tokenizer.json"))
    backend.enable_truncation(3)
    backend.enable_padding(length=8)
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode_batch(["hello", "a"], add_special_tokens=False) == [[262, 299, 83], [69]]
    assert len(tokenizer.encode("hello hello")) == 7


def test_without_a_config_no_token_has_a_role(data, tmp_path):
    shutil.copy(data / "bpe_chat" / "tokenizer.json", tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id) == (None, None, None)


def test_roles_may_be_given_as_objects(data, tmp_path):
    shutil.copy(data / "bpe_chat" / "tokenizer.json", tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "<|eot|>"}, "pad_token": null}')
    assert load_tokenizer(tmp_path).eos_id == 2


def test_a_role_outside_the_vocabulary_is_a_new_token(data, tmp_path):
    shutil.copy(data / "bpe_chat" / "tokenizer.json", tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<eos>"}')
    tokenizer = load_tokenizer(tmp_path)
    assert (tokenizer.eos_id, tokenizer.vocab_size) == (900, 901)


@pytest.mark.parametrize(
    ("definition", "config", "message"),
    [
        ("{", "{}", r"tokenizer\.json:1: not JSON"),
        ("[]", "{}", r"tokenizer\.json:1: a JSON list is not a tokenizer"),
        ("{}", "{}", r"tokenizer\.json: not a tokenizer: .*Model missing"),
        (None, "\n{x", r"tokenizer_config\.json:2: not JSON"),
    ],
)
def test_broken_files_are_named(data, tmp_path, definition, config, message):
    shutil.copy(data / "bpe_chat" / "tokenizer.json", tmp_path)
    if definition is not None:
        (tmp_path / "tokenizer.json").write_text(definition)
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(UserError, match=message) as caught:
        load_tokenizer(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no such file\. Allowed: a directory with tokenizer\.json"):
        load_tokenizer(tmp_path)


def test_bytes_that_are_no_utf8_are_named(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(b'{"\xff": 1}')
    with pytest.raises(UserError, match="not UTF-8"):
        load_tokenizer(tmp_path)

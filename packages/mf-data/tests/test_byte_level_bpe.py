import hashlib
import os
import shutil
import subprocess
import sys

import pytest

from mf_config.problems import UserError
from mf_data.document import Document
from mf_data.tokenizers.byte_level_bpe import ByteLevelBPETokenizer, SpecialTokens, train_byte_level_bpe
from mf_data.tokenizers.loading import load_tokenizer

TEXTS = [f"The {word} of the {other} is {word}{other}. 你好\n" for word in "abcdefgh" for other in "xyzuvw"]
DOCUMENTS = [Document(str(i), text) for i, text in enumerate(TEXTS)]


def section(folder, **keys) -> ByteLevelBPETokenizer:
    return ByteLevelBPETokenizer(tokenizer_file=str(folder / "tokenizer.json"), **{"vocab_size": 280, **keys})


def nothing():
    raise AssertionError("the documents must not be read")
    yield


def test_special_tokens_come_first_and_text_begins_with_bos():
    tokenizer = train_byte_level_bpe(TEXTS, 280, SpecialTokens())
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 1, 2)
    assert tokenizer.vocab_size == 280
    ids = tokenizer.encode("the a")
    assert ids[0] == 1
    assert tokenizer.decode(ids) == "the a"


def test_the_most_frequent_pair_is_the_first_merge():
    # "ab" occurs 30 times, "cd" 10 times, every other pair less: 256 bytes, 3 special tokens, then the merges.
    tokenizer = train_byte_level_bpe(["ab"] * 30 + ["cd"] * 10, 261, SpecialTokens())
    assert [tokenizer.bytes_of(i) for i in (259, 260)] == [b"ab", b"cd"]
    assert tokenizer.encode("abcd", add_special_tokens=False) == [259, 260]


def test_any_text_round_trips():
    tokenizer = train_byte_level_bpe(TEXTS, 280, SpecialTokens())
    for text in ("", " ", "\t\n  x", "日本 😀", "\x00\x7f", "</s> <s>"):
        assert tokenizer.decode(tokenizer.encode(text, parse_special_tokens=False)) == text


def test_too_little_text_says_how_many_entries_it_gives():
    with pytest.raises(UserError, match=r"vocab_size: 5000, but the training text gives (\d+) entries"):
        train_byte_level_bpe(TEXTS, 5000, SpecialTokens())


def test_training_is_the_same_in_any_process(tmp_path):
    program = (
        "import sys; from pathlib import Path\n"
        "from mf_data.loaders.python_library import PythonLibraryDataLoader\n"
        "from mf_data.tokenizers.byte_level_bpe import SpecialTokens, train_byte_level_bpe\n"
        "texts = [d.text for d in PythonLibraryDataLoader(split='eval').documents()]\n"
        "train_byte_level_bpe(texts, 1000, SpecialTokens()).save(Path(sys.argv[1]))\n"
    )
    digests = set()
    for seed, threads in (("0", "1"), ("77", "3")):
        folder = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", program, str(folder)], env=environment, check=True)
        content = b"".join((folder / name).read_bytes() for name in ("tokenizer.json", "tokenizer_config.json"))
        digests.add(hashlib.sha256(content).hexdigest())
    assert len(digests) == 1


def test_it_is_trained_once_and_loaded_ever_after(tmp_path):
    trained = section(tmp_path / "new").open(DOCUMENTS)
    loaded = section(tmp_path / "new").open(nothing())
    assert loaded.encode(TEXTS[0]) == trained.encode(TEXTS[0])
    assert (loaded.bos_id, loaded.eos_id, loaded.pad_id) == (1, 2, 0)


def test_without_training_text_the_file_must_exist(tmp_path):
    with pytest.raises(UserError, match=r"tokenizer\.json: no such file"):
        section(tmp_path).open(None)
    section(tmp_path).open(DOCUMENTS)
    assert section(tmp_path).open(None).vocab_size == 280


def test_special_tokens_are_those_of_the_section(tmp_path):
    tokenizer = section(tmp_path, bos_token="<B>", eos_token="<E>", pad_token="<E>").open(DOCUMENTS)
    assert tokenizer.encode("<B><E>", add_special_tokens=False) == [tokenizer.bos_id, tokenizer.eos_id]
    assert tokenizer.eos_id == tokenizer.pad_id


def test_a_file_of_another_size_is_refused(tmp_path):
    section(tmp_path).open(DOCUMENTS)
    with pytest.raises(
        UserError, match=r"has 280 entries, but vocab_size is 270\. Allowed: vocab_size: 280, or remove"
    ):
        section(tmp_path, vocab_size=270).open(nothing())


def test_a_file_with_other_special_tokens_is_refused(tmp_path):
    section(tmp_path).open(DOCUMENTS)
    with pytest.raises(UserError, match=r"eos_token is '</s>', but the configuration says '<E>'"):
        section(tmp_path, eos_token="<E>").open(nothing())


def test_a_file_without_roles_is_refused(tmp_path, data):
    shutil.copy(data / "bpe_chat" / "tokenizer.json", tmp_path)
    with pytest.raises(UserError, match=r"bos_token is none, but the configuration says '<\|bos\|>'"):
        section(tmp_path, vocab_size=900, bos_token="<|bos|>").open(nothing())


def test_an_existing_tokenizer_is_used_as_it_is(tmp_path, data):
    shutil.copytree(data / "bpe_chat", tmp_path / "model")
    before = (tmp_path / "model" / "tokenizer.json").read_bytes()
    keys = {"vocab_size": 900, "bos_token": "<|bos|>", "eos_token": "<|end|>", "pad_token": "<|pad|>"}
    tokenizer = section(tmp_path / "model", **keys).open(nothing())
    assert tokenizer.encode("hello") == [1, 262, 299, 83]
    assert (tmp_path / "model" / "tokenizer.json").read_bytes() == before


def test_a_failed_training_leaves_no_file(tmp_path):
    with pytest.raises(UserError, match="the training text gives"):
        section(tmp_path / "new", vocab_size=5000).open(DOCUMENTS)
    assert not (tmp_path / "new").exists()


def test_conflicting_keys_are_found(tmp_path):
    fine = section(tmp_path)
    assert fine.problems() == []
    bad = ByteLevelBPETokenizer(tokenizer_file="out/tok.json", bos_token="</s>", pad_token="")
    assert [name for name, _, _ in bad.problems()] == ["tokenizer_file", "bos_token", "pad_token"]


def test_what_is_saved_is_what_was_trained(tmp_path):
    trained = train_byte_level_bpe(TEXTS, 280, SpecialTokens())
    trained.save(tmp_path)
    assert load_tokenizer(tmp_path).encode_batch(TEXTS) == trained.encode_batch(TEXTS)

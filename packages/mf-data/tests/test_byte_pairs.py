"""tiktoken's ranks, and pairs of `vocab.json` and `merges.txt`; the vocabulary is that of `data/bpe_chat`.

`data/byte_pairs/golden.json` was made with tiktoken 0.14.0 (`single_digits` of texts in normal form C, `three_digits`)
and transformers 4.46.3 (`GPT2Tokenizer`, `Qwen2Tokenizer` with the files that `files` below writes).
"""

import base64
import json

import pytest

from mf_config.problems import UserError
from mf_data.tokenizers.byte_table import unspell
from mf_data.tokenizers.chatglm import ChatGLM4Tokenizer
from mf_data.tokenizers.gpt2 import GPT2Tokenizer
from mf_data.tokenizers.llama3 import Llama3Tokenizer
from mf_data.tokenizers.loading import load_tokenizer
from mf_data.tokenizers.qwen import QwenTokenizer
from mf_data.tokenizers.qwen2 import Qwen2Tokenizer

SIZE = 895


@pytest.fixture(scope="module")
def golden(data):
    return json.loads((data / "byte_pairs" / "golden.json").read_text())


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """A folder with the vocabulary in both forms."""
    folder = tmp_path_factory.mktemp("byte_pairs")
    definition = json.loads((data / "bpe_chat" / "tokenizer.json").read_text(encoding="utf-8"))
    special = {token["content"] for token in definition["added_tokens"]}
    tokens = [token for token in definition["model"]["vocab"] if token not in special]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in definition["model"]["merges"]]
    vocabulary = json.dumps({token: number for number, token in enumerate(tokens)}, ensure_ascii=False)
    (folder / "vocab.json").write_text(vocabulary, encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    lines = [f"{base64.b64encode(unspell(token)).decode()} {rank}\n" for rank, token in enumerate(tokens)]
    (folder / "ranks").mkdir()
    (folder / "ranks" / "tokenizer.model").write_text("".join(lines))
    return folder


@pytest.fixture
def ranks(files) -> str:
    return str(files / "ranks" / "tokenizer.model")


@pytest.fixture
def pair(files) -> dict[str, str]:
    return {"vocab_file": str(files / "vocab.json"), "merges_file": str(files / "merges.txt")}


@pytest.mark.golden
@pytest.mark.parametrize(
    ("cls", "name"),
    [(QwenTokenizer, "single_digits"), (Llama3Tokenizer, "three_digits"), (ChatGLM4Tokenizer, "three_digits")],
)
def test_ids_of_ranks_are_those_of_tiktoken(ranks, golden, cls, name):
    tokenizer = cls(vocab_file=ranks).open(None)
    assert tokenizer.encode_batch(golden["texts"], add_special_tokens=False) == golden[name]


@pytest.mark.golden
@pytest.mark.parametrize(
    ("cls", "name", "more"),
    [(GPT2Tokenizer, "gpt2", {"pad_token": "<pad>"}), (Qwen2Tokenizer, "qwen2", {})],
)
def test_ids_of_merges_are_those_of_hugging_face(pair, golden, cls, name, more):
    tokenizer = cls(**pair, **more).open(None)
    assert tokenizer.encode_batch(golden["texts"]) == golden[name]
    assert tokenizer.encode_batch(golden["special_texts"]) == golden[f"{name}_special"]


def test_special_tokens_stand_behind_the_vocabulary(ranks, pair):
    qwen = QwenTokenizer(vocab_file=ranks).open(None)
    assert qwen.encode("<|endoftext|><|im_start|><|extra_204|>") == [SIZE, SIZE + 1, SIZE + 207]
    assert (qwen.eos_id, qwen.vocab_size) == (SIZE, SIZE + 208)
    llama = Llama3Tokenizer(vocab_file=ranks, add_bos_token=True, add_eos_token=True).open(None)
    assert llama.encode("<|eot_id|>") == [SIZE, SIZE + 9, SIZE + 1]
    assert (llama.pad_id, llama.vocab_size) == (SIZE + 2, SIZE + 256)
    assert llama.decode([SIZE + 255], skip_special_tokens=False) == "<|reserved_special_token_250|>"
    assert Qwen2Tokenizer(**pair).open(None).encode("<|im_end|>") == [SIZE + 2]


def test_glm4_begins_each_text_with_its_two_tokens(ranks, tmp_path):
    tokenizer = ChatGLM4Tokenizer(vocab_file=ranks).open(None)
    assert tokenizer.encode("") == [SIZE + 2, SIZE + 4]
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path).encode("<|user|>") == [SIZE + 2, SIZE + 4, SIZE + 7]
    literal = ChatGLM4Tokenizer(vocab_file=ranks, encode_special_tokens=True).open(None)
    assert SIZE + 7 not in literal.encode("<|user|>")


def test_bytes_that_are_no_text_become_what_errors_says(pair):
    half = [GPT2Tokenizer(**pair).open(None).encode("熱")[0]]
    for errors, expected in (("replace", "\ufffd"), ("ignore", "")):
        assert GPT2Tokenizer(**pair, errors=errors).open(None).decode(half) == expected
    with pytest.raises(UserError, match="no UTF-8"):
        GPT2Tokenizer(**pair, errors="strict").open(None).decode(half)


def test_a_text_may_get_a_space_of_its_own(pair):
    spaced = GPT2Tokenizer(**pair, add_prefix_space=True).open(None)
    assert spaced.encode("hello") == GPT2Tokenizer(**pair).open(None).encode(" hello")


def test_files_are_recognised(files, ranks, golden, tmp_path):
    assert load_tokenizer(files).encode_batch(golden["texts"]) == golden["gpt2"]
    with pytest.raises(UserError, match=r"does not say whose it is.*ChatGLM4Tokenizer"):
        load_tokenizer(ranks)
    (tmp_path / "qwen.tiktoken").write_bytes((files / "ranks" / "tokenizer.model").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "QWenTokenizer"}')
    assert load_tokenizer(tmp_path).encode_batch(golden["texts"]) == golden["single_digits"]


@pytest.mark.parametrize(("line", "number"), [("IQ== x", 2), ("???? 1", 2), ("IQ==", 2)])
def test_a_broken_line_of_ranks_is_named(tmp_path, line, number):
    (tmp_path / "tokenizer.model").write_text(f"IQ== 0\n{line}\n")
    with pytest.raises(UserError, match=rf"tokenizer\.model:{number}: not a token in base64"):
        Llama3Tokenizer(vocab_file=str(tmp_path / "tokenizer.model")).open(None)


def test_merges_of_another_vocabulary_are_named(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "ab": 2}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\nb c\n")
    with pytest.raises(UserError, match=r"merges\.txt:3: 'b' and 'c' are not two tokens"):
        load_tokenizer(tmp_path)
    (tmp_path / "vocab.json").write_text('{"a": "0"}')
    with pytest.raises(UserError, match=r"vocab\.json: the id of 'a' is '0'"):
        load_tokenizer(tmp_path)

from dataclasses import dataclass

import numpy as np
import pytest

from mf_config.problems import UserError
from mf_data.datasets import causal_language_model
from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.document import Document
from mf_data.opening import open_dataset
from mf_data.tokenizers.byte_level_bpe import SpecialTokens, train_byte_level_bpe
from mf_data.tokenizers.loading import load_tokenizer


@dataclass
class Texts:
    """A loader of texts."""

    texts: list[str]
    shuffle: bool = False
    num_samples: int | None = None

    def documents(self):
        return (Document(str(number), text) for number, text in enumerate(self.texts))


def ids_of(rows) -> list[int]:
    return rows[np.arange(len(rows))]["input_ids"].ravel().tolist()


def test_documents_follow_each_other_with_begin_and_end(bpe_chat):
    # "hello" is 262 299 83 in golden_encodings.json; 1 begins a text, 4 ends it.
    rows = open_dataset(Texts(["hello", "", "hello"]), CausalLanguageModelDataset(), bpe_chat, 2)
    assert ids_of(rows) == [1, 262, 299, 83, 4, 1, 262, 299, 83]
    assert rows[np.array([0])]["input_ids"].shape == (1, 3)
    assert rows.dropped_tokens == 1


def test_special_tokens_written_out_in_a_document_are_text(bpe_chat):
    ids = ids_of(open_dataset(Texts(["a<|end|>b"]), CausalLanguageModelDataset(), bpe_chat, 0))
    assert bpe_chat.decode(ids) == "a<|end|>b"
    assert [token_id for token_id in ids if token_id in bpe_chat.special_ids] == [1, 4]


def test_text_is_kept_whole(bpe_chat, monkeypatch):
    monkeypatch.setattr(causal_language_model, "_CHARACTERS_AT_ONCE", 500)
    texts = [f"document {i}: " + "words and 你好 " * (i % 7) for i in range(40)]
    done = []
    rows = open_dataset(Texts(texts), CausalLanguageModelDataset(), bpe_chat, 0, done.append)
    assert bpe_chat.decode(ids_of(rows)) == "".join(texts)
    assert ids_of(rows).count(4) == 40
    assert done == sorted(done)
    assert done[-1] == len("".join(texts).encode())
    assert 3 < len(done) < 10


def test_num_samples_spreads_the_rows_over_all_of_the_text(bpe_chat):
    texts = [f"document {i:03d}" for i in range(100)]
    rows = open_dataset(Texts(texts, num_samples=10), CausalLanguageModelDataset(), bpe_chat, 7)
    everything = open_dataset(Texts(texts), CausalLanguageModelDataset(), bpe_chat, 7)
    chosen = [row.tolist() for row in rows[np.arange(10)]["input_ids"]]
    at = [everything[np.arange(len(everything))]["input_ids"].tolist().index(row) for row in chosen]
    assert at[0] == 0
    assert at[-1] >= len(everything) * 0.85
    assert at == sorted(set(at))


def test_an_end_token_that_the_tokenizer_adds_is_not_doubled(tmp_path):
    from tokenizers import Tokenizer, processors

    train_byte_level_bpe(["some text"] * 3, 259, SpecialTokens()).save(tmp_path)
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    backend.save(str(tmp_path / "tokenizer.json"))
    rows = open_dataset(Texts(["a", "b"]), CausalLanguageModelDataset(), load_tokenizer(tmp_path), 3)
    assert ids_of(rows)[1::2] == [2, 2]


def test_padding_is_the_end_token_where_there_is_no_pad_token(data, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((data / "bpe_chat" / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|eot|>"}')
    rows = open_dataset(Texts(["hello"]), CausalLanguageModelDataset(), load_tokenizer(tmp_path), 1)
    assert rows.padding == {"input_ids": 2}


def test_a_tokenizer_without_end_token_is_refused(data, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((data / "bpe_chat" / "tokenizer.json").read_bytes())
    with pytest.raises(UserError, match="no end token"):
        open_dataset(Texts(["hello"]), CausalLanguageModelDataset(), load_tokenizer(tmp_path), 1)


def test_too_little_text_is_refused(bpe_chat):
    with pytest.raises(UserError, match=r"has 5 tokens, which fill no row of seq_length \+ 1 = 9"):
        open_dataset(Texts(["hello"]), CausalLanguageModelDataset(), bpe_chat, 8)

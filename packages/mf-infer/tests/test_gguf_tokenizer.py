import json
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest

from mf_config.problems import UserError
from mf_data.chat.template import ChatTemplate
from mf_data.tokenizers.loading import load_tokenizer
from mf_infer.loading.gguf_tokenizer import gguf_documents, gguf_tokenizer

CHAT = Path(__file__).parent / "data" / "tiny_chat"
TOKENIZER = json.loads((CHAT / "tokenizer.json").read_text())
RECORDS = json.loads((CHAT / "golden.json").read_text())["records"]
CONTROL, NORMAL = 3, 1


def header(**changes):
    """What a GGUF file of tiny_chat would say of its tokenizer."""
    vocabulary = TOKENIZER["model"]["vocab"]
    special = {entry["content"] for entry in TOKENIZER["added_tokens"]}
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in TOKENIZER["model"]["merges"]]
    entries = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": tokens,
        "merges": merges,
        "token_type": [CONTROL if token in special else NORMAL for token in tokens],
        "bos_token_id": 1,
        "eos_token_id": 4,
        "add_bos_token": True,
    }
    settings = json.loads((CHAT / "tokenizer_config.json").read_text())
    return {f"tokenizer.ggml.{key}": value for key, value in {**entries, **changes}.items()} | {
        "tokenizer.chat_template": settings["chat_template"]
    }


def test_text_has_the_ids_of_the_tokenizer_json():
    tokenizer = gguf_tokenizer(header(), "model.gguf")
    assert (tokenizer.bos_id, tokenizer.eos_id) == (1, 4)
    for record in RECORDS:
        if record["kind"] == "completion":
            assert tokenizer.encode(record["prompt"]) == record["prompt_ids"]
            assert tokenizer.decode(record["ids"]) == record["text"]


def test_the_chat_template_is_among_its_settings():
    tokenizer = gguf_tokenizer(header(), "model.gguf")
    record = next(record for record in RECORDS if record["kind"] == "chat")
    template = ChatTemplate.from_settings(tokenizer.settings)
    assert template.encode(record["messages"], tokenizer, add_generation_prompt=True) == record["prompt_ids"]


def test_it_becomes_the_files_of_a_hugging_face_folder(tmp_path):
    (point,) = entry_points(group="mf.gguf_documents", name="tokenizer")
    assert point.load() is gguf_documents
    documents = gguf_documents(SimpleNamespace(metadata=header(), path=Path("model.gguf")))
    assert sorted(documents) == ["tokenizer.json", "tokenizer_config.json"]
    assert documents["tokenizer_config.json"]["tokenizer_class"] == "PreTrainedTokenizerFast"
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document))
    tokenizer = load_tokenizer(tmp_path)
    assert (tokenizer.bos_id, tokenizer.eos_id) == (1, 4)
    for record in RECORDS:
        if record["kind"] == "completion":
            assert tokenizer.encode(record["prompt"]) == record["prompt_ids"]
    record = next(record for record in RECORDS if record["kind"] == "chat")
    template = ChatTemplate.from_settings(tokenizer.settings)
    assert template.encode(record["messages"], tokenizer, add_generation_prompt=True) == record["prompt_ids"]
    assert gguf_documents(SimpleNamespace(metadata={}, path=Path("model.gguf"))) == {}


def test_digits_are_cut_as_the_file_says():
    one_by_one, together = (gguf_tokenizer(header(pre=pre), "m").encode("2024 cats") for pre in ("smollm", "gpt-2"))
    assert [gguf_tokenizer(header(), "m").decode([token]) for token in one_by_one[1:5]] == list("2024")
    assert len(one_by_one) >= len(together)


def test_a_file_without_a_tokenizer_has_none():
    assert gguf_tokenizer({"general.architecture": "llama"}, "model.gguf") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "llama"}, "tokenizer.ggml.model: 'llama' is not read."),
        ({"pre": "gpt-5"}, "tokenizer.ggml.pre: 'gpt-5' is not read. Allowed:"),
    ],
)
def test_other_kinds_are_refused_by_name(changes, message):
    with pytest.raises(UserError) as caught:
        gguf_tokenizer(header(**changes), "model.gguf")
    assert str(caught.value).startswith(f"model.gguf: {message}")

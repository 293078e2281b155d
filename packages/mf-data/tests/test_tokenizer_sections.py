"""The sections of tokenizers, written as MindFormers users write them."""

import pytest

from mf_config import ConfigError
from mf_config.components import components
from mf_config.schema import tag_of

END = "<|endoftext|>"
GLM = "bos_token: '<sop>', eos_token: '<eop>', end_token: '</s>', mask_token: '[MASK]', gmask_token: '[gMASK]'"
LLAMA = "unk_token: '<unk>', bos_token: '<s>', eos_token: '</s>', pad_token: '<unk>'"

SECTIONS = {
    "LlamaTokenizer": (f"{LLAMA}, vocab_file: ''", {"vocab_file": None, "add_bos_token": True, "legacy": True}),
    "LlamaTokenizerFast": (
        "unk_token: 'None', vocab_file: 'None', tokenizer_file: '', pad_token: '<\uff5cend▁of▁sentence\uff5c>'",
        {"unk_token": None, "tokenizer_file": None, "pad_token": "<\uff5cend▁of▁sentence\uff5c>", "eos_token": "</s>"},
    ),
    "Baichuan2Tokenizer": (f"{LLAMA}, vocab_file: path/to/tokenizer.model", {"add_bos_token": False}),
    "InternLMTokenizer": ("vocab_file: ./tokenizer.model", {"pad_token": "</s>", "add_bos_token": True}),
    "InternLM2Tokenizer": ("pad_token: '</s>'", {"decode_with_prefix_space": False, "unk_token": "<unk>"}),
    "ChatGLM2Tokenizer": (GLM, {"gmask_token": "[gMASK]", "pad_token": "<pad>", "vocab_file": None}),
    "ChatGLM3Tokenizer": (GLM, {"mask_token": "[MASK]", "end_token": "</s>"}),
    "ChatGLM4Tokenizer": (
        'vocab_file: /path/to/tokenizer.model, chat_template: "[gMASK]<sop>{% for item in messages %}{% endfor %}"',
        {"eos_token": END, "chat_template": "[gMASK]<sop>{% for item in messages %}{% endfor %}"},
    ),
    "GPT2Tokenizer": ("max_length: 2049", {"max_length": 2049, "unk_token": END, "add_prefix_space": False}),
    "Qwen2Tokenizer": (
        f"model_max_length: 32768, vocab_file: /path/vocab.json, merges_file: /path/merges.txt, pad_token: '{END}'",
        {"model_max_length": 32768, "merges_file": "/path/merges.txt", "bos_token": None},
    ),
    "QwenTokenizer": ("vocab_file: /path/qwen.tiktoken", {"pad_token": END, "errors": "replace"}),
    "QwenVLTokenizer": ("max_length: 32", {"vocab_file": "qwen.tiktoken", "image_pad_tag": "<imgpad>"}),
    "Llama3Tokenizer": ("model_max_length: 8192", {"bos_token": "<|begin_of_text|>", "add_bos_token": False}),
    "CogVLM2Tokenizer": (
        "add_bos_token: False, max_length: 2048, pad_token: '<|reserved_special_token_0|>'",
        {"eos_token": "<|end_of_text|>", "num_reserved_special_tokens": 256},
    ),
}


PENDING = {"QwenVLTokenizer"}
"""Tokenizers that are checked only."""


@pytest.mark.parametrize("name", SECTIONS)
def test_tokenizers_are_read(section_of, name):
    text, expected = SECTIONS[name]
    section = section_of("tokenizer", f"{{type: {name}, {text}, additional_special_tokens: ['<|im_start|>']}}")
    assert type(section) is components("tokenizer")[name]
    assert {key: getattr(section, key) for key in expected} == expected
    assert section.additional_special_tokens == ("<|im_start|>",)
    assert bool(tag_of(type(section)).pending) == (name in PENDING)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{type: LlamaTokeniser}", "Did you mean LlamaTokenizer?"),
        ("{type: Qwen2Tokenizer, merge_file: m}", "section.merge_file: unknown key."),
        ("{type: Qwen2Tokenizer, model_max_length: 0}", "section.model_max_length: 0 is out of range."),
        ("{type: GPT2Tokenizer, errors: repair}", "Allowed: strict, ignore, replace."),
        ("{type: LlamaTokenizer, add_bos_token: 1}", "section.add_bos_token: 1 is not a boolean."),
        ("{type: ChatGLM2Tokenizer, padding_side: lefft}", "Did you mean left?"),
    ],
)
def test_mistakes_are_named(section_of, text, message):
    with pytest.raises(ConfigError) as raised:
        section_of("tokenizer", text)
    assert message in str(raised.value)


def test_every_tokenizer_is_tried_here():
    tried = {components("tokenizer")[name] for name in (*SECTIONS, "ByteLevelBPETokenizer")}
    assert tried == set(components("tokenizer").values())

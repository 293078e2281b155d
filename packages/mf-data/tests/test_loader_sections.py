"""The sections of loaders and handlers, written as MindFormers users write them."""

import pytest

from mf_config import ConfigError
from mf_config.components import components
from mf_config.schema import tag_of

SECTIONS = {
    "MindDataset": ("{dataset_dir: '', shuffle: True, num_samples: 256}", {"dataset_dir": None, "num_samples": 256}),
    "TFRecordDataset": ("{dataset_files: [a.tfrecord], shuffle: files}", {"dataset_files": ("a.tfrecord",)}),
    "MultipleChoiceDataLoader": (
        "{dataset_dir: /path/to/mmlu/test, examples_dir: /path/to/mmlu/dev, num_examples: 5, answer_form: letter}",
        {"dataset_dir": "/path/to/mmlu/test", "num_examples": 5},
    ),
    "ADGenDataLoader": (
        "{dataset_dir: /path/to/AdvertiseGen/dev.json, shuffle: False, phase: eval, version: 3, "
        "origin_columns: ['content', 'summary']}",
        {"phase": "eval", "version": 3, "shuffle": False, "origin_columns": ("content", "summary")},
    ),
    "ToolAlpacaDataLoader": ("{dataset_dir: /path/to/tool_alpaca.jsonl, shuffle: True}", {"shuffle": True}),
    "CommonDataLoader": (
        "{path: json, data_files: alpaca.json, "
        "handler: {type: AlpacaInstructDataHandler, seq_length: 4096, tokenizer_name: llama2_7b}}",
        {"split": "train", "input_columns": ("input_ids", "labels")},
    ),
    "SFTDataLoader": (
        "{dataset_dir: d, dataset_name: alpaca, tokenizer: {type: LlamaTokenizer}, max_length: 513}",
        {"max_length": 513, "shuffle": False},
    ),
    "TrainingDataLoader": ("{dataset_dir: d, tokenizer: llama2_7b}", {"tokenizer": "llama2_7b", "samples_num": 10000}),
    "IndexedDataLoader": ("{path_prefix: wiki_text, mmap: False}", {"path_prefix": "wiki_text", "mmap": False}),
    "MultiSourceDataLoader": (
        "{sub_data_loader: [{type: ADGenDataLoader}, {type: MindDataset}], dataset_ratios: [0.25, 0.75], "
        "samples_count: 100, shuffle: infile}",
        {"dataset_ratios": (0.25, 0.75), "shuffle": "infile", "shuffle_buffer_size": 320},
    ),
    "BaseMultiModalDataLoader": (
        "{annotation_file: conversation_file.json, shuffle: True}",
        {"annotation_file": "conversation_file.json"},
    ),
    "SQuADDataLoader": ("{dataset_dir: squad, stage: dev}", {"stage": "dev", "doc_stride": 128}),
    "CLUENERDataLoader": ("{dataset_dir: cluener, column_names: [text, label_id]}", {"stage": "train"}),
    "WMT16DataLoader": ("{dataset_dir: wmt16}", {"column_names": None}),
    "Flickr8kDataLoader": ("{dataset_dir: flickr8k, stage: all}", {"stage": "all"}),
    "MultiImgCapDataLoader": (
        "{dataset_dir: d, annotation_files: [a.json], image_dirs: [images]}",
        {"image_dirs": ("images",), "repeat_images": False},
    ),
    "Cifar100DataLoader": ("{dataset_dir: cifar, fine_label: False}", {"fine_label": False, "shuffle": False}),
}

READY = {
    *("MindDataset", "ADGenDataLoader", "ToolAlpacaDataLoader", "CommonDataLoader", "SFTDataLoader"),
    *(
        "IndexedDataLoader",
        "MultiSourceDataLoader",
        "TFRecordDataset",
        "TrainingDataLoader",
        "MultipleChoiceDataLoader",
    ),
}
"""Loaders that read something; the others are only checked."""


def named(text: str, name: str) -> str:
    return f"{{type: {name}, {text[1:]}"


@pytest.mark.parametrize("name", SECTIONS)
def test_loaders_are_read(section_of, name):
    text, expected = SECTIONS[name]
    section = section_of("data_loader", named(text, name))
    assert type(section) is components("data_loader")[name]
    assert {key: getattr(section, key) for key in expected} == expected
    assert bool(tag_of(type(section)).pending) == (name not in READY)


def test_the_parts_of_a_loader_are_read(section_of):
    loader = section_of("data_loader", named(SECTIONS["CommonDataLoader"][0], "CommonDataLoader"))
    assert type(loader.handler).__name__ == "AlpacaInstructDataHandler"
    assert (loader.handler.seq_length, loader.handler.tokenizer_name) == (4096, "llama2_7b")
    loader = section_of("data_loader", named(SECTIONS["SFTDataLoader"][0], "SFTDataLoader"))
    assert type(loader.tokenizer).__name__ == "LlamaTokenizer"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{type: MindDataset, shuffle: Flase}",
            "section.shuffle: Flase is not a boolean. Allowed: True, False. Did you mean False?",
        ),
        (
            "{type: TFRecordDataset, shuffle: infile}",
            "section.shuffle: infile is not a boolean.",
        ),
        ("{type: ADGenDataLoader, version: 4}", "section.version: 4 is not allowed. Allowed: 1, 2, 3."),
        ("{type: ADGenDataLoader, origin_columns: [content]}", "section.origin_columns: ['content'] is not a pair."),
        ("{type: IndexedDataLoader, multimodal: True}", "Did you mean mutilmodal?"),
        (
            "{type: MultiSourceDataLoader, sub_data_loader: [{type: A}], dataset_ratios: [0.5, 0.5], samples_count: 9}",
            "section.dataset_ratios: has 2 numbers for 1 loaders. Allowed: one number a loader.",
        ),
        (
            "{type: MultiSourceDataLoader, sub_data_loader: [{type: A}], dataset_ratios: [0.5], samples_count: 9}",
            "section.dataset_ratios: the shares sum to 0.5. Allowed: shares that sum to 1.",
        ),
        (
            "{type: MultiSourceDataLoader, sub_data_loader: [{type: A}], dataset_ratios: [1]}",
            "section.samples_count: is missing, and dataset_ratios needs it.",
        ),
        ("{type: MultiSourceDataLoader}", "section.sub_data_loader: is missing. Allowed: a list."),
        ("{type: SFTDataLoader, file_format: xml}", "section.file_format: xml is not allowed."),
    ],
)
def test_mistakes_are_named(section_of, text, message):
    with pytest.raises(ConfigError) as raised:
        section_of("data_loader", text)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("AlpacaInstructDataHandler", ""),
        ("CodeAlpacaInstructDataHandler", ", prompt_key: text"),
        ("AdgenInstructDataHandler", ", output_columns: [prompt, answer]"),
        ("LlavaInstructDataHandler", ", image_dir: images"),
    ],
)
def test_handlers_are_read(section_of, name, own):
    text = f"{{type: {name}, seq_length: 2048, tokenizer: {{type: LlamaTokenizer, vocab_file: m.model}}{own}}}"
    handler = section_of("data_handler", text)
    assert type(handler) is components("data_handler")[name]
    assert (handler.seq_length, handler.tokenizer.vocab_file) == (2048, "m.model")


def test_every_loader_and_handler_is_tried_here():
    own = {"PythonLibraryDataLoader", "TextDataLoader"}
    assert set(SECTIONS) | own == set(components("data_loader"))
    assert len(components("data_handler")) == 9

"""What a tiny run needs and no repository holds: vocabularies, rows, conversations and weights, made once a folder."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import mf_ckpt
from mf_config.components import type_name
from mf_data.loaders.python_library import PythonLibraryDataLoader
from mf_data.opening import open_tokenizer
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_data.tokenizers.byte_level_bpe import SpecialTokens, train_byte_level_bpe
from mf_data.tokenizers.byte_table import unspell
from mf_models.initializers import initialize
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.weights import to_checkpoint_names

ROWS = 6
"""Of each data set: three steps of two rows."""

ROW_LENGTH = 64 + 1
"""Ids of a stored row: seq_length of the overrides, and one further."""

ADVERTISEMENT = {"content": "coat#blue#wool", "summary": "A blue coat of wool."}
TOOL_USE = {
    "conversations": [
        {"role": "user", "content": "Rain?"},
        {"role": "tool", "name": "weather", "parameters": {"city": "Bonn"}, "observation": "rain"},
        {"role": "assistant", "content": "Yes."},
    ],
}
"""Records of the form that the loaders of pairs and of conversations with tools read."""

TEXT = "The import statement combines two operations; it searches for the named module, then it binds the results. "
VOCABULARY = 512
"""Entries of the trained vocabulary, special tokens included."""

SPECIAL_TOKENS = SpecialTokens(bos="<|startoftext|>", eos="<|endoftext|>", pad="<|pad|>")
"""That the tokenizers of GPT-2 and Qwen look for their end token in the vocabulary decides its name."""

SENTENCE_PIECE = Path(__file__).parents[2] / "packages" / "mf-data" / "tests" / "data" / "spm_bpe" / "tokenizer.model"
"""Nothing here trains SentencePiece models, so that of the tests serves."""


class Materials:
    """Files in a folder, each made when it is first asked for."""

    def __init__(self, folder: Path):
        """Takes the folder, which is made where there is none."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def vocabulary(self, tokenizer: str) -> Mapping[str, Path]:
        """The files of a tokenizer: key of its section to file.

        Args:
            tokenizer: the section's type.
        """
        if tokenizer in ("GPT2Tokenizer", "Qwen2Tokenizer"):
            return {"vocab_file": self._pair[0], "merges_file": self._pair[1]}
        if tokenizer in ("ChatGLM4Tokenizer", "QwenTokenizer", "Llama3Tokenizer"):
            return {"vocab_file": self._ranks}
        return {"vocab_file": SENTENCE_PIECE}

    def data(self, loader: Any, task: Any, tokenizer: Any) -> Path:
        """A file that a loader reads.

        Args:
            loader: its section.
            task: the section of what makes rows of it.
            tokenizer: the section of the tokenizer that makes the rows; only stored rows ask for it.
        """
        kind = type_name(loader)
        if kind == "MindDataset":
            classes = type_name(task) == "TextClassificationDataset"
            name = f"{type_name(tokenizer)}{'-classes' if classes else ''}.mindrecord"
            return self._made(name, lambda path: _write_rows(path, tokenizer, classes))
        record = ADVERTISEMENT if kind == "ADGenDataLoader" else TOOL_USE
        return self._made(f"{kind}.json", lambda path: path.write_text(f"{json.dumps(record)}\n" * ROWS))

    def place_of_weights(self, config: ModelConfig) -> Path:
        """Where the weights of a network lie, once they are drawn; files that describe the same network share them."""
        return self._folder / f"weights-{hashlib.sha256(repr(config.to_hf()).encode()).hexdigest()[:12]}"

    def draw_weights(self, config: ModelConfig) -> None:
        """Write a checkpoint of drawn weights, unless it is there."""

        def write(place: Path) -> None:
            cell = build(config)
            initialize(cell, seed=0)
            with mf_ckpt.Writer(place) as writer:
                for name, array in to_checkpoint_names(config, cell):
                    writer.add(name, array)
                writer.add_json("config.json", config.to_hf())

        self._made(self.place_of_weights(config).name, write)

    @cached_property
    def _trained(self) -> Mapping[str, Any]:
        """The model of a byte-level BPE tokenizer as tokenizer.json has it: `vocab` and `merges`."""

        def train(folder: Path) -> None:
            texts = (document.text for document in PythonLibraryDataLoader(split="eval").documents())
            train_byte_level_bpe(texts, VOCABULARY, SPECIAL_TOKENS).save(folder)

        file = self._made("tokenizer", train) / "tokenizer.json"
        model: Mapping[str, Any] = json.loads(file.read_text("utf-8"))["model"]
        return model

    @cached_property
    def _pair(self) -> tuple[Path, Path]:
        """The trained vocabulary in GPT-2's form."""
        vocab, merges = self._trained["vocab"], self._trained["merges"]
        lines = "".join(f"{left} {right}\n" for left, right in merges)
        return (
            self._made("vocab.json", lambda path: path.write_text(json.dumps(vocab))),
            self._made("merges.txt", lambda path: path.write_text(f"#version: 0.2\n{lines}", "utf-8")),
        )

    @cached_property
    def _ranks(self) -> Path:
        """The trained vocabulary in tiktoken's form: every byte, then what each merge makes."""
        tokens = [bytes([value]) for value in range(256)]
        tokens += [unspell(left + right) for left, right in self._trained["merges"]]
        lines = [f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(dict.fromkeys(tokens))]
        return self._made("ranks.tiktoken", lambda path: path.write_text("".join(lines)))

    def _made(self, name: str, make: Callable[[Path], object]) -> Path:
        """A file or folder, which `make` writes where there is none."""
        path = self._folder / name
        if not path.exists():
            make(path)
        return path


def _write_rows(path: Path, tokenizer: Any, classes: bool) -> None:
    """Write rows of ids, labels and mask to a MindRecord file; with `classes`, the label of a row is a class."""
    width = ROW_LENGTH - 1 if classes else ROW_LENGTH
    ids = np.resize(np.array(open_tokenizer(tokenizer, None).encode(TEXT), np.int32), (ROWS, width))
    columns = ("input_ids", "labels", "target_ids", "attention_mask")
    with MindRecordWriter(path, columns, header_bytes=1 << 16, page_bytes=1 << 16) as writer:
        for number, row in enumerate(ids):
            labels = np.array([number % 2], np.int32) if classes else row
            writer.add(dict(zip(columns, (row, labels, labels, np.ones_like(row)), strict=True)))

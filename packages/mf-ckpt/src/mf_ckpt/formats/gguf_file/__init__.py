"""GGUF files, the form in which llama.cpp keeps models: tensors (also quantised ones) and metadata, read lazily."""

from mf_ckpt.formats.gguf_file.blocks import QuantizedInfo
from mf_ckpt.formats.gguf_file.integers import BlockPart
from mf_ckpt.formats.gguf_file.source import GgufTensors, is_gguf, open_gguf

__all__ = ["BlockPart", "GgufTensors", "QuantizedInfo", "is_gguf", "open_gguf"]

"""What several test modules share."""

from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Annotated, Any

import pytest
from hypothesis import settings

from mf_config import ComponentOf, decode_as, key, load
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.loading import load_tokenizer

# A busy machine is no defect: examples that write files have no deadline.
settings.register_profile("mf-data", deadline=None)
settings.load_profile("mf-data")

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    return DATA


@pytest.fixture(scope="session")
def bpe_chat() -> Tokenizer:
    """A byte-level BPE tokenizer of 900 entries; its golden files were made by an independent implementation."""
    return load_tokenizer(DATA / "bpe_chat")


@pytest.fixture
def section_of(tmp_path: Path) -> Callable[[str, str], Any]:
    """Reads the YAML text of a section of a kind, as a run configuration is read; raises `ConfigError`."""

    def read(kind: str, text: str) -> Any:
        holder = make_dataclass(
            "Holder", [("section", Annotated[Any, ComponentOf(kind)], key("The section."))], frozen=True
        )
        path = tmp_path / "section.yaml"
        path.write_text("section:\n" + indent(dedent(text), "  "), encoding="utf-8")
        return decode_as(holder, load(path)).section

    return read

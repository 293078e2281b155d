"""The tokenizer and the chat template that a GGUF file carries in its header.

Source: the keys `tokenizer.ggml.*` in the description of GGUF, in the repository of ggml.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from mf_ckpt.disk.files import JsonObject, read_json
from mf_ckpt.formats.gguf_file import GgufTensors
from mf_config.problems import UserError, name_values
from mf_data.tokenizers.byte_pairs import SINGLE_DIGITS, THREE_DIGITS
from mf_data.tokenizers.tokenizer_json import JsonTokenizer

_PREFIX = "tokenizer.ggml."
_CONTROL, _USER_DEFINED = 3, 4
"""Values of `token_type`: tokens that steer the model, and tokens that are found in a text as they are written."""

_BYTEWISE = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def _matches(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), _BYTEWISE])


_GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
_PRE_TOKENIZERS: dict[str, pre_tokenizers.PreTokenizer] = {
    "gpt-2": _GPT2,
    "default": _GPT2,
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _GPT2]),
    "llama-bpe": _matches(THREE_DIGITS),
    "qwen2": _matches(SINGLE_DIGITS),
}
"""llama.cpp's names for how a text is cut before pairs are joined."""


def gguf_tokenizer(metadata: Mapping[str, Any], where: str) -> JsonTokenizer | None:
    """Make the tokenizer of a GGUF file.

    Args:
        metadata: the entries of the file's header.
        where: the file's name in messages.
    Returns:
        The tokenizer, with the chat template in its settings; None where the file has none.
    Raises:
        UserError: it is of a kind that is not read.
    """
    own = {key.removeprefix(_PREFIX): value for key, value in metadata.items() if key.startswith(_PREFIX)}
    if "tokens" not in own:
        return None
    if own.get("model") != "gpt2":
        raise UserError(
            f"{where}: {_PREFIX}model: {own.get('model')!r} is not read. Allowed: gpt2, or a tokenizer given beside it."
        )
    cut = str(own.get("pre", "default"))
    if cut not in _PRE_TOKENIZERS:
        allowed = name_values(_PRE_TOKENIZERS)
        raise UserError(f"{where}: {_PREFIX}pre: {cut!r} is not read. Allowed: {allowed}.")
    backend = _backend(own, cut)
    return JsonTokenizer(backend, _settings(own, metadata.get("tokenizer.chat_template")))


def gguf_documents(tensors: GgufTensors) -> dict[str, JsonObject]:
    """The entry point `tokenizer` of the group `mf.gguf_documents`.

    Args:
        tensors: an open file, of which the header is read alone.
    Returns:
        Its tokenizer as a Hugging Face folder has it, by the names of the files; nothing where it has none.
    Raises:
        UserError: it is of a kind that is not read.
    """
    tokenizer = gguf_tokenizer(tensors.metadata, str(tensors.path))
    if tokenizer is None:
        return {}
    # Without a class of its own, transformers takes that of the model, which may cut texts in another way.
    tokenizer.settings.setdefault("tokenizer_class", "PreTrainedTokenizerFast")
    with tempfile.TemporaryDirectory(prefix="mf-tokenizer-") as folder:
        tokenizer.save(Path(folder))
        return {file.name: read_json(file) for file in Path(folder).iterdir()}


def _backend(own: Mapping[str, Any], cut: str) -> Backend:
    tokens = list(own["tokens"])
    merges = [tuple(merge.split(" ", 1)) for merge in own.get("merges", ())]
    backend = Backend(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    if cut == "qwen2":
        backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = _PRE_TOKENIZERS[cut]
    backend.decoder = decoders.ByteLevel()
    for token, kind in zip(tokens, own.get("token_type", ()), strict=False):
        if kind == _CONTROL:
            backend.add_special_tokens([AddedToken(token, normalized=False)])
        elif kind == _USER_DEFINED:
            backend.add_tokens([AddedToken(token, normalized=False)])
    return backend


def _settings(own: Mapping[str, Any], template: Any) -> dict[str, Any]:
    """What `tokenizer_config.json` would say beside the same vocabulary."""
    names = {"bos_token": "bos_token_id", "eos_token": "eos_token_id", "pad_token": "padding_token_id"}
    roles = {role: own["tokens"][own[key]] for role, key in names.items() if own.get(key) is not None}
    flags = {key: bool(own[key]) for key in ("add_bos_token", "add_eos_token") if key in own}
    return {**roles, **flags} | ({"chat_template": template} if template else {})

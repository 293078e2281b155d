"""Hugging Face PEFT adapters: a folder with adapter_config.json and adapter_model.safetensors.

A module `M` has `base_model.model.M.lora_A.weight` [r, in] and `….lora_B.weight` [out, r]; an embedding
`….lora_embedding_A` [r, vocabulary] and `….lora_embedding_B` [dimension, r]. Any other tensor replaces that of the base
which its name says after the prefix. Source: save_and_load.py and tuners/lora of huggingface/peft.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from mf_ckpt.disk.atomic_file import atomic_file
from mf_ckpt.disk.files import CheckpointError, JsonObject, json_bytes, member, read_json
from mf_ckpt.formats.safetensors_file.tensors import open_file
from mf_ckpt.lora.adapter import WEIGHT, Adapter, LoraPair, pair_of, problems_as_one
from mf_ckpt.lora.config import LoraConfig
from mf_ckpt.sources.renamed import RenamedSource
from mf_ckpt.sources.source import Source
from mf_ckpt.store.file_plan import one_file
from mf_ckpt.store.staging import locked_partial, publish
from mf_config.problems import UserError

ADAPTER_CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

_PREFIX = "base_model.model."
_PAIR = re.compile(r"(?P<module>.+)\.lora_(?P<kind>embedding_)?(?P<side>[AB])(?P<weight>\.weight)?\Z")
_UNKNOWN = re.compile(r"lora_|trainable_tokens|\bbase_layer\b|\boriginal_module\b")
"""What a tensor's name has that is neither a plain product nor a plain replacement."""
_OURS = {ADAPTER_CONFIG, WEIGHTS, "README.md"}
"""What an adapter's folder may hold and still be replaced as a whole."""
_HEAD, _EMBEDDINGS = "lm_head.weight", ("embed_tokens.weight", "wte.weight")
_FILE_METADATA = {"format": "pt"}


def is_adapter(path: Path) -> bool:
    """Whether a path is a folder that holds an adapter, alone or beside base weights."""
    return (path / ADAPTER_CONFIG).is_file()


def open_adapter(path: str | Path) -> Adapter:
    """Open a PEFT adapter; its header and settings are checked, no tensor is read.

    Args:
        path: its folder.

    Returns:
        The adapter, for a base whose tensors have their Hugging Face names.

    Raises:
        UserError: it is missing or damaged, of another kind than LoRA, or has tensors that can't be understood; all
            faults in one message.
    """
    folder = Path(path)
    if not is_adapter(folder):
        what = f"is no PEFT adapter: it has no {ADAPTER_CONFIG}" if folder.exists() else "no such file or folder"
        raise CheckpointError(folder, what)
    if not (folder / WEIGHTS).is_file() and (folder / "adapter_model.bin").is_file():
        raise CheckpointError(folder, f"has its adapter as a pickle only, which is never read. Allowed: {WEIGHTS}.")
    try:
        config = LoraConfig.from_json(read_json(member(folder, ADAPTER_CONFIG)))
    except CheckpointError:
        raise
    except UserError as error:
        raise CheckpointError(folder / ADAPTER_CONFIG, str(error)) from None
    return _adapter(open_file(member(folder, WEIGHTS)), config, str(folder))


def usual_ties(base: Source, config: JsonObject | None) -> dict[str, str]:
    """What a Hugging Face model ties: its head to its embedding, where it has no head of its own.

    Args:
        base: the base weights, under Hugging Face names.
        config: the model's config.json.

    Returns:
        The head's name to the embedding's, for `MergedTensors`; empty where nothing is tied, or it isn't clear to what.
    """
    embeddings = [name for name in base if name.endswith(_EMBEDDINGS)]
    tied = bool(config and config.get("tie_word_embeddings")) and _HEAD not in base and len(embeddings) == 1
    return {_HEAD: embeddings[0]} if tied else {}


def write_adapter(path: str | Path, adapter: Adapter) -> None:
    """Write an adapter in the form of PEFT; its tensors keep their types.

    Args:
        path: the folder; one that holds nothing but an adapter is replaced.
        adapter: the adapter, with Hugging Face names (see `Adapter.renamed`).

    Raises:
        CheckpointError: something else is there.
    """
    place = Path(path)
    if place.is_file() or (place.is_dir() and any(entry.name not in _OURS for entry in place.iterdir())):
        raise CheckpointError(place, "exists and holds something else than an adapter; choose another place")
    with locked_partial(place) as folder:
        with atomic_file(folder / WEIGHTS) as file:
            for block in _weights_blocks(adapter):
                file.write(block)
        with atomic_file(folder / ADAPTER_CONFIG) as file:
            file.write(json_bytes(_document(adapter)))
        publish(folder, place)


def adapter_files(adapter: Adapter) -> dict[str, bytes]:
    """The files that `write_adapter` writes, for a folder that holds others too: name to content.

    Args:
        adapter: as for `write_adapter`.
    """
    return {ADAPTER_CONFIG: json_bytes(_document(adapter)), WEIGHTS: b"".join(_weights_blocks(adapter))}


def base_path(folder: Path) -> Path:
    """Where the base of an adapter lies, by the settings in its folder.

    A base that a run saved beside its folder of checkpoints is also found when the run was moved.

    Raises:
        CheckpointError: they name none, or there is no such file or folder.
    """
    named = read_json(member(folder, ADAPTER_CONFIG)).get("base_model_name_or_path")
    path = folder / str(named)
    if not path.exists():
        path = folder.parent.parent / path.name
    if not isinstance(named, str) or not path.exists() or path.resolve() == folder.resolve():
        what = f"holds an adapter without its base: {ADAPTER_CONFIG} says that it lies at {str(named)!r}"
        raise CheckpointError(folder, f"{what}. Allowed: the base there, or mf-ckpt merge-lora BASE {folder} DST.")
    return path


def _weights_blocks(adapter: Adapter) -> Iterator[memoryview]:
    """The bytes of the file with the tensors, in order."""
    names = dict(sorted(_file_names(adapter)))
    return one_file(WEIGHTS, RenamedSource(adapter.tensors, names), _FILE_METADATA)


def _adapter(tensors: Source, config: LoraConfig, origin: str) -> Adapter:
    sides: dict[tuple[str, bool], dict[str, str]] = {}
    replaced: dict[str, str] = {}
    problems: list[str] = []
    for name in tensors:
        match = _PAIR.match(name.removeprefix(_PREFIX))
        if match and bool(match["kind"]) != bool(match["weight"]):
            sides.setdefault((match["module"], bool(match["kind"])), {})[match["side"]] = name
        elif not name.startswith(_PREFIX) or _UNKNOWN.search(name):
            problems.append(f"tensor {name!r} is not understood (DoRA, a bias of LoRA, or another method)")
        else:
            replaced[name.removeprefix(_PREFIX)] = name
    pairs: dict[str, LoraPair] = {}
    for (module, is_embedding), own in sides.items():
        if len(own) < 2:
            problems.append(f"{module}: has {next(iter(own.values()))!r} alone, without its other half")
            continue
        try:
            pairs[module + WEIGHT] = pair_of(tensors, config, module, own["A"], own["B"], is_embedding=is_embedding)
        except UserError as error:
            problems.append(str(error))
    if not pairs and not problems:
        problems.append("holds no LoRA matrices")
    problems_as_one(origin, problems)
    return Adapter(tensors, config, pairs, replaced, origin)


def _file_names(adapter: Adapter) -> Iterator[tuple[str, str]]:
    """The name of each tensor in the file, and the adapter's own."""
    for weight, pair in adapter.pairs.items():
        stem = _PREFIX + weight.removesuffix(WEIGHT)
        if pair.is_embedding:
            yield f"{stem}.lora_embedding_A", pair.a
            yield f"{stem}.lora_embedding_B", pair.b
        else:
            yield f"{stem}.lora_A.weight", pair.a
            yield f"{stem}.lora_B.weight", pair.b
    for name, own in adapter.replaced.items():
        yield _PREFIX + name, own


def _document(adapter: Adapter) -> JsonObject:
    config = adapter.config
    if config.document:
        return config.document
    modules = {weight.removesuffix(WEIGHT): pair for weight, pair in adapter.pairs.items()}
    ranks = {module: pair.rank for module, pair in modules.items() if pair.rank != config.rank}
    return {
        "base_model_name_or_path": None,
        "bias": "none",
        "fan_in_fan_out": config.fan_in_fan_out,
        "inference_mode": True,
        "lora_alpha": config.alpha,
        "lora_dropout": 0.0,
        "modules_to_save": None,
        "peft_type": "LORA",
        "r": config.rank,
        # Dots are those of names, not of a regular expression.
        "rank_pattern": {re.escape(module): rank for module, rank in ranks.items()},
        "alpha_pattern": dict(config.alpha_pattern),
        "target_modules": sorted(modules),
        "task_type": "CAUSAL_LM",
        "use_dora": False,
        "use_rslora": config.use_rslora,
    }

"""A base and a LoRA adapter written as one checkpoint."""

from pathlib import Path

from mf_ckpt.conversion.transform import documents_for, whole_weights
from mf_ckpt.disk.files import json_bytes
from mf_ckpt.lora.merged import MERGE_RECORD, MergedTensors, check_not_merged, merge_record
from mf_ckpt.lora.peft import open_adapter, usual_ties
from mf_ckpt.reading.reader import Reader, open_checkpoint
from mf_ckpt.store.block_stream import Progress
from mf_ckpt.store.documents import CONFIG, TRAINER_STATE, describe_origin
from mf_ckpt.store.resumable_save import Content, store


def merge_lora(
    base: Reader | str | Path, adapter: str | Path, destination: str | Path, *, progress: Progress | None = None
) -> None:
    """Write the weights of a base with an adapter merged in, as an mf checkpoint that any Hugging Face tool opens.

    Optimizer and trainer state of the base are left out: they belong to other weights. The new checkpoint says which
    adapters are in it, so that none is merged twice.

    Args:
        base: a checkpoint with Hugging Face names, or its path.
        adapter: folder of a PEFT adapter.
        destination: folder of the new checkpoint; one that is there is replaced when the new one is complete.
        progress: called with bytes done and bytes in all.

    Raises:
        UserError: the adapter doesn't fit the base, or is merged into it already.
    """
    reader = base if isinstance(base, Reader) else open_checkpoint(base)
    loaded = open_adapter(adapter)
    record = reader.document(MERGE_RECORD)
    check_not_merged(record, loaded)
    merged = MergedTensors(reader.weights, loaded, usual_ties(reader.weights, reader.config))
    documents = documents_for(reader)
    documents.pop(TRAINER_STATE, None)
    documents[MERGE_RECORD] = json_bytes(merge_record(loaded, record))
    if merged.untied and reader.config is not None:
        documents[CONFIG] = json_bytes({**reader.config, "tie_word_embeddings": False})
    origin = f"{describe_origin(reader.path)} {describe_origin(Path(adapter))}"
    content = Content((whole_weights(reader, merged),), documents, reader.path, None, origin)
    store(content, destination, progress=progress)

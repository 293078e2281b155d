"""What the header of a GGUF file says as files of a Hugging Face folder, by the entry point group `mf.gguf_documents`.

This package knows neither hyperparameters nor tokenizers. An entry point of the name `config` makes the config.json;
any other name stands for files that a model can do without, such as a tokenizer's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from mf_ckpt.disk.files import JsonObject
from mf_ckpt.formats.gguf_file.source import GgufTensors
from mf_ckpt.store.documents import CONFIG
from mf_config.problems import UserError

GROUP = "mf.gguf_documents"

CONFIG_MAKER = "config"
"""Name of the entry points that make a config.json."""

Maker = Callable[[GgufTensors], Mapping[str, JsonObject]]
"""What an entry point names: from an open file to names and contents of JSON files; none for a file without them.

It raises a `UserError` where the header says what it can't express.
"""


@dataclass(frozen=True, slots=True)
class HeaderDocuments:
    """The files that were made.

    Attributes:
        documents: name of each file to its content.
        faults: why files that a model can do without were not made, one text for each maker.
    """

    documents: Mapping[str, JsonObject]
    faults: tuple[str, ...]


def documents_of_header(tensors: GgufTensors, has_config: bool = False) -> HeaderDocuments:
    """Ask the installed distributions for the files that a GGUF file's header has the content of.

    Args:
        tensors: the open file.
        has_config: True where the model's config.json is known otherwise, so that none is made.

    Returns:
        The files. Of two makers of one file, the first that makes it counts; makers are in the order of their names.

    Raises:
        UserError: all that was to make the config.json has refused the file.
    """
    documents: dict[str, JsonObject] = {}
    refusals: list[str] = []
    faults: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        if point.name == CONFIG_MAKER and has_config:
            continue
        make: Maker = point.load()
        try:
            documents = {**make(tensors), **documents}
        except UserError as error:
            (refusals if point.name == CONFIG_MAKER else faults).append(str(error))
    if refusals and not has_config and CONFIG not in documents:
        raise UserError("\n".join(refusals))
    return HeaderDocuments(documents, tuple(faults))
